"""The truth about a simulated site: every server's parts, with the changes that faults made to them."""

from collections.abc import Callable, Mapping

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.model.spec import NodeSpec, StoredSpec
from metalwright.simulator import purchase
from metalwright.simulator.build import build_parts
from metalwright.simulator.parts import ServerParts

Change = Callable[[ServerParts], ServerParts]
"""A pure change of a server: `parts without GPU 3`. Faults are lists of these, so clearing one restores exactly the rest."""


class World:
    """Servers are built when first looked at: a site of 1,000 starts at once and costs only what is used."""

    def __init__(self, stored: StoredSpec, seed: int) -> None:
        self.stored = stored
        self.seed = seed
        self._nodes: Mapping[NodeName, NodeSpec] = {node.name: node for node in stored.spec.nodes}
        self._bought = purchase.by_server(stored.spec.purchase)
        self._built: dict[NodeName, ServerParts] = {}
        self._changes: dict[NodeName, tuple[Change, ...]] = {}
        self._now: dict[NodeName, ServerParts] = {}

    def names(self) -> tuple[NodeName, ...]:
        """Every node, in the order of the spec."""
        return tuple(self._nodes)

    def node(self, name: NodeName) -> NodeSpec:
        """InputError for a name that the spec does not know."""
        found = self._nodes.get(name)
        if found is None:
            raise InputError(f"there is no node {name} in this site", hint="`metalwright simulate list` names them")
        return found

    def parts(self, name: NodeName) -> ServerParts:
        """The server as it is now, faults included."""
        now = self._now.get(name)
        if now is None:
            now = self.intact_parts(name)
            for change in self._changes.get(name, ()):
                now = change(now)
            self._now[name] = now
        return now

    def intact_parts(self, name: NodeName) -> ServerParts:
        """The server as it was delivered: what the spec says."""
        built = self._built.get(name)
        if built is None:
            built = self._built[name] = self._build(self.node(name))
        return built

    def _build(self, node: NodeSpec) -> ServerParts:
        return build_parts(self.stored, node, self._bought.get(node.serial, ()), self.seed)

    def rebuild(self, name: NodeName, parts: ServerParts) -> None:
        """Put another server in its place: real machines behind a simulated BMC bring their own parts."""
        self._built[name] = parts
        self._now.pop(name, None)

    def change(self, name: NodeName, changes: tuple[Change, ...]) -> None:
        """The changes that hold from now on, instead of earlier ones, applied in order."""
        self._changes[name] = changes
        self._now.pop(name, None)

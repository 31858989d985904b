"""Path → resource. One table for all servers; a part that a server lacks is simply not found."""

from urllib.parse import unquote

from metalwright.simulator.redfish import baseboard, chassis, logs, managers, services, systems
from metalwright.simulator.redfish.documents import Document, Renderer, View

_ROUTES: dict[str, Renderer] = systems.ROUTES | baseboard.ROUTES | chassis.ROUTES | logs.ROUTES | managers.ROUTES | services.ROUTES


def render(view: View, path: str) -> Document | None:
    """The resource at this path (no trailing slash, no query), or None."""
    found = _find(tuple(path.strip("/").split("/")))
    if found is None:
        return None
    renderer, keys = found
    return renderer(view, *keys)


def _find(segments: tuple[str, ...]) -> tuple[Renderer, tuple[str, ...]] | None:
    """Exact segments win over `*`; keys are the unquoted segments that `*` matched."""
    candidates: list[tuple[_Node, tuple[str, ...]]] = [(_TREE, ())]
    for segment in segments:
        following: list[tuple[_Node, tuple[str, ...]]] = []
        for node, keys in candidates:
            if segment in node.children:
                following.append((node.children[segment], keys))
            if "*" in node.children:
                following.append((node.children["*"], (*keys, unquote(segment))))
        candidates = following
    return next(((node.renderer, keys) for node, keys in candidates if node.renderer), None)


class _Node:
    __slots__ = ("children", "renderer")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.renderer: Renderer | None = None


def _grow() -> _Node:
    root = _Node()
    for path, renderer in _ROUTES.items():
        node = root
        for segment in path.strip("/").split("/"):
            node = node.children.setdefault(segment, _Node())
        node.renderer = renderer
    return root


_TREE = _grow()

"""BMCs that are only read: whatever asks for an action is our bug, and nothing is sent."""

from metalwright.model.errors import InvariantError
from metalwright.model.observation import Kind, Observation
from metalwright.model.spec import NodeSpec
from metalwright.ports import Bmc, BmcAction, BmcFactory


class ReadOnlyBmcs:
    """See `ports.BmcFactory`."""

    def __init__(self, bmcs: BmcFactory) -> None:
        self._bmcs = bmcs

    def open(self, node: NodeSpec) -> Bmc:
        return _ReadOnlyBmc(self._bmcs.open(node))


class _ReadOnlyBmc:
    def __init__(self, bmc: Bmc) -> None:
        self._bmc = bmc

    async def read(self, kind: Kind) -> Observation:
        return await self._bmc.read(kind)

    async def act(self, action: BmcAction) -> None:
        raise InvariantError(f"{type(action).__name__} on a site that is only observed", hint="report it; nothing was sent")

    async def close(self) -> None:
        await self._bmc.close()

"""What an agent is to do next: its node's open operation, in the words of `AgentOrder`."""

import asyncio
import json
from dataclasses import asdict, dataclass

from metalwright.endpoints.hints import Hints
from metalwright.model.agent_messages import AgentOrder
from metalwright.model.boot import BootGrant
from metalwright.model.node_data import NodeData
from metalwright.model.tokens import token_for
from metalwright.model.work import Operation, WriteImage
from metalwright.ports import Clock, EndpointStore

POLL_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDesk:
    """`boot_key` derives the token of the system that will boot; `images_url` and `agent_url` are as nodes see them."""

    store: EndpointStore
    hints: Hints
    clock: Clock
    boot_key: bytes
    agent_url: str
    pin: str
    images_url: str

    async def next_order(self, grant: BootGrant, wait_s: float, gone: "asyncio.Task[None]", stopping: asyncio.Event) -> AgentOrder | None:
        """Looks at once, then on every hint and every few seconds until `wait_s` is over."""
        until = self.clock.monotonic() + wait_s
        while True:
            order = await self._order(grant)
            left = until - self.clock.monotonic()
            if order is not None or left <= 0 or gone.done() or stopping.is_set():
                return order
            await self.hints.wait(grant.node, min(left, POLL_S))

    async def _order(self, grant: BootGrant) -> AgentOrder | None:
        if grant.stage != "ram":
            return None
        operation = await self.store.operation_for(grant.node)
        if operation is None or not isinstance(operation.step, WriteImage):
            return None
        number = int(str(operation.id).split("/", 1)[0])
        if operation.cancel_wanted:
            return AgentOrder(kind="cancel", operation=operation.id, generation=operation.generation)
        return await self._write(grant, operation, operation.step, number)

    async def _write(self, grant: BootGrant, operation: Operation, step: WriteImage, number: int) -> AgentOrder:
        data = NodeData(
            node=str(grant.node),
            agent_url=self.agent_url,
            pin=self.pin,
            token=token_for(self.boot_key, f"{number}/installed"),
            images_url=self.images_url,
            image_digest=step.image_digest,
            disk_serial=step.disk_serial,
        )
        return AgentOrder(
            kind="write-image",
            operation=operation.id,
            generation=operation.generation,
            serial=step.serial,
            disk_serial=step.disk_serial,
            image_digest=step.image_digest,
            images_url=self.images_url,
            verify_percent=step.verify_percent,
            checkpoint=operation.checkpoint,
            node_data=json.dumps(asdict(data)),
        )

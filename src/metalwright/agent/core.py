"""The agent's life: claim, inventory, then orders until the machine is reset. The same in RAM, installed and simulated."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from metalwright.agent.manifest import BadImage
from metalwright.agent.measure import measure
from metalwright.agent.operation import ImageWrite
from metalwright.agent.server_link import NotTaken, Refused, ServerLink
from metalwright.agent.session import KeptSession, new_secret
from metalwright.agent.threads import in_thread
from metalwright.model.agent_messages import AgentOrder, BootArguments, Claim, Progress, Report

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine

AGENT_VERSION = "1"
POLL_S = 20.0
BUSY_POLL_S = 2.0
LOOK_AGAIN_S = 86400.0
"""Hardware is reported and the running image measured once a day, beside every boot."""
MEASURE_AGAIN_S = (2.0, 5.0, 15.0, 60.0)
"""Pauses while the server has no such image; the last repeats."""


def _quiet(_: str) -> None:
    """No console."""


class Agent:
    """Implements `ports.NodeProgram`. `log` prints on the machine's console."""

    def __init__(self, log: Callable[[str], None] = _quiet) -> None:
        self._log = log

    async def run(self, machine: "BootedMachine", arguments: BootArguments) -> None:
        """Until cancelled, or until the server refuses this boot for good."""
        try:
            link = ServerLink(arguments.agent_url, arguments.pin, self._log)
        except ValueError as error:
            self._log(f"this boot cannot be used: {error}")
            return
        try:
            await _Life(machine, arguments, link, self._log).live()
        except Refused as refused:
            self._log(f"the server refuses this boot, a new one is needed: {refused}")
        finally:
            link.close()


class _Life:
    """One boot's agent."""

    def __init__(self, machine: "BootedMachine", arguments: BootArguments, link: ServerLink, log: Callable[[str], None]) -> None:
        self._machine, self._arguments, self._link, self._log = machine, arguments, link, log
        self._about = machine.describe()
        self._kept = KeptSession(machine, arguments.token)
        self._write: ImageWrite | None = None
        """The last one: under way, or over and remembered."""
        self._measuring: asyncio.Task[None] | None = None
        self._newest = AgentOrder(kind="none")
        """The newest order to write or to cancel."""

    async def live(self) -> None:
        await self._begin()
        looked_at = float("-inf")
        try:
            while True:
                if asyncio.get_running_loop().time() - looked_at > LOOK_AGAIN_S and not self._is_writing():
                    await self._look()
                    looked_at = asyncio.get_running_loop().time()
                await self._obey(await self._link.order(BUSY_POLL_S if self._is_writing() else POLL_S))
                if self._measuring is not None and self._measuring.done():
                    self._measuring.result()
        finally:
            if self._write is not None:
                await self._write.close()
            if self._measuring is not None:
                self._measuring.cancel()
                await asyncio.gather(self._measuring, return_exceptions=True)

    def _is_writing(self) -> bool:
        return self._write is not None and not self._write.is_over()

    # -- who and what this is

    async def _begin(self) -> None:
        """Claim the token with a session secret of our own; a later boot of an installed system goes on with the kept one."""
        installed = self._arguments.stage == "installed"
        secret, claimed = await in_thread(self._kept.secret) if installed else (new_secret(), False)
        if claimed:
            self._link.use(secret)
            return
        claim = Claim(
            token=self._arguments.token,
            session=secret,
            boot_id=self._about["boot_id"],
            stage=self._arguments.stage,
            agent_version=AGENT_VERSION,
            system_serial=self._about["system_serial"],
            uuid=self._about["uuid"],
            kernel=self._about["kernel"],
        )
        session = await self._link.claim(claim)
        self._log(f"claimed as {session.node}, stage {self._arguments.stage}")
        if installed:
            await in_thread(self._kept.keep, secret, claimed_boot=self._about["boot_id"])

    async def _look(self) -> None:
        """Report the hardware; an installed system also measures what it runs."""
        try:
            await self._link.report(Report(boot_id=self._about["boot_id"], inventory=await in_thread(self._machine.collect)))
            self._log("inventory sent")
        except NotTaken as error:
            self._log(f"the server does not take the inventory: {error}")
        self._link.rest()
        slot = await in_thread(self._kept.slot) if self._arguments.stage == "installed" else None
        if slot is not None:
            self._begin_measuring(slot.image_digest, self._arguments.images_url)

    def _begin_measuring(self, image_digest: str, images_url: str) -> None:
        """Beside the polling, which shows that this system lives; one at a time."""
        if self._measuring is None or self._measuring.done():
            self._measuring = asyncio.create_task(self._measure(image_digest, images_url))

    async def _measure(self, image_digest: str, images_url: str) -> None:
        for tries in range(1 << 30):
            try:
                measured = await measure(self._machine, images_url, image_digest)
                break
            except BadImage as error:
                if tries < 2 * len(MEASURE_AGAIN_S):
                    self._log(f"cannot measure yet: {error}")
                await asyncio.sleep(MEASURE_AGAIN_S[min(tries, len(MEASURE_AGAIN_S) - 1)])
        with contextlib.suppress(NotTaken):
            await self._link.report(Report(boot_id=self._about["boot_id"], measured=measured))
        self._link.rest()
        self._log(f"measured {measured.frames_measured} frames, {measured.mismatches} places differ")

    # -- orders

    async def _obey(self, order: AgentOrder | None) -> None:
        """An open operation is handed out at every poll: what needs no answer at once is followed by a pause."""
        if order is None:
            return
        if order.kind in ("write-image", "cancel"):
            if self._is_outdated(order):
                self._log(f"operation {order.operation} of generation {order.generation} is outdated: ignored")
            else:
                self._newest = order
                await (self._cancel(order) if order.kind == "cancel" else self._write_image(order))
        elif order.kind == "inventory":
            await self._look()
        elif order.kind == "measure":
            self._begin_measuring(order.image_digest, order.images_url or self._arguments.images_url)
        else:
            self._log(f"an order of kind {order.kind!r:.40} is not known here")
        await asyncio.sleep(BUSY_POLL_S)

    def _is_outdated(self, order: AgentOrder) -> bool:
        """A worker that lost its machine orders with an older generation. Later work orders count whatever their generation is: a node
        that moved to another rack begins there with that rack's."""
        return order.generation < self._newest.generation and _number(order) <= _number(self._newest)

    async def _write_image(self, order: AgentOrder) -> None:
        """One operation id is done once; while one is under way no other is begun."""
        if self._write is not None and self._write.id == order.operation:
            self._write.adopt(order.generation)
            if self._write.is_over():
                await self._write.tell_again()
        elif not self._is_writing():
            self._write = ImageWrite(self._machine, order, self._link, self._about["boot_id"], self._log)

    async def _cancel(self, order: AgentOrder) -> None:
        """Of an operation that an earlier boot left behind nobody else can say that it is not under way any more."""
        if self._write is None or self._write.id != order.operation:
            gone = Progress(
                operation=order.operation,
                generation=order.generation,
                state="cancelled",
                units_done=0,
                units_total=0,
                detail="not under way in this boot",
            )
            with contextlib.suppress(NotTaken):
                await self._link.report(Report(boot_id=self._about["boot_id"], progress=gone))
            return
        self._write.adopt(order.generation)
        if self._write.is_over():
            await self._write.tell_again()
        else:
            self._write.cancel()


def _number(order: AgentOrder) -> int:
    """The work order's number: the first part of the operation id."""
    number = order.operation.partition("/")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 18 else 0

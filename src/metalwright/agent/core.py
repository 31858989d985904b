"""The agent's life: claim, inventory, then orders until the machine is reset. The same in RAM, installed and simulated."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from metalwright.agent.http_client import HttpError
from metalwright.agent.manifest import BadImage
from metalwright.agent.measure import measure
from metalwright.agent.server_link import Refused, ServerLink
from metalwright.agent.write_image import Cancelled, WriteRefused, write_image
from metalwright.model import node_data
from metalwright.model.agent_messages import AgentOrder, BootArguments, Claim, Progress, Report

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine

AGENT_VERSION = "1"
POLL_S = 20.0
BUSY_POLL_S = 2.0
LOOK_AGAIN_S = 86400.0
"""Hardware is reported and the running image measured once a day, beside every boot."""
PROGRESS_S = 0.5
"""Progress in between is not sent more often: a thousand writers must not flood one server."""


def _quiet(_: str) -> None:
    """No console."""


class Agent:
    """Implements `ports.NodeProgram`. `log` prints on the machine's console."""

    def __init__(self, log: Callable[[str], None] = _quiet) -> None:
        self._log = log

    async def run(self, machine: "BootedMachine", arguments: BootArguments) -> None:
        """Until cancelled, or until the server refuses this boot for good."""
        link = ServerLink(arguments.agent_url, arguments.pin, self._log)
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
        self._writing: asyncio.Task[None] | None = None
        self._order: AgentOrder | None = None
        self._cancelled = False
        self._finished: set[str] = set()

    async def live(self) -> None:
        await self._begin()
        looked_at = float("-inf")
        try:
            while True:
                if asyncio.get_running_loop().time() - looked_at > LOOK_AGAIN_S and self._writing is None:
                    await self._look()
                    looked_at = asyncio.get_running_loop().time()
                await self._obey(await self._link.order(BUSY_POLL_S if self._writing else POLL_S))
                if self._writing is not None and self._writing.done():
                    self._writing.result()
                    self._writing = None
        finally:
            if self._writing is not None:
                self._writing.cancel()
                await asyncio.gather(self._writing, return_exceptions=True)

    async def _look(self) -> None:
        """Report the hardware; an installed system also measures what it runs."""
        await self._link.report(self._report(inventory=await asyncio.to_thread(self._machine.collect)))
        self._log("inventory sent")
        slot = await asyncio.to_thread(self._slot) if self._arguments.stage == "installed" else None
        if slot is not None:
            await self._measure(AgentOrder(kind="measure", image_digest=slot.image_digest))

    async def _begin(self) -> None:
        """Claim the token with a session secret of our own; a later boot of an installed system goes on with the kept one.

        The secret is on the disk before the claim is sent: whatever is lost in between, the next try is the same claim.
        """
        installed = self._arguments.stage == "installed"
        secret, claimed = await asyncio.to_thread(self._session_secret) if installed else (secrets.token_hex(32), False)
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
            await asyncio.to_thread(self._keep, secret, claimed_boot=self._about["boot_id"])

    async def _obey(self, order: AgentOrder | None) -> None:
        if order is None:
            return
        if order.kind == "inventory":
            await self._look()
        elif order.kind == "measure":
            await self._measure(order)
        elif order.kind == "cancel" and self._order is not None and order.operation == self._order.operation:
            self._cancelled = True
            await asyncio.sleep(BUSY_POLL_S)
        elif order.kind == "write-image":
            await self._maybe_write(order)

    async def _measure(self, order: AgentOrder) -> None:
        while True:
            try:
                measured = await measure(self._machine, order.images_url or self._arguments.images_url, order.image_digest)
                break
            except HttpError as error:
                self._log(f"cannot measure yet: {error}")
                await asyncio.sleep(BUSY_POLL_S)
        await self._link.report(self._report(measured=measured))
        self._log(f"measured {measured.frames_measured} frames, {measured.mismatches} differ")

    async def _maybe_write(self, order: AgentOrder) -> None:
        """One operation id is done once; while one is under way no other is begun."""
        if self._writing is not None or order.operation in self._finished:
            await asyncio.sleep(BUSY_POLL_S)
            return
        self._order, self._cancelled = order, False
        self._writing = asyncio.create_task(self._write(order))

    async def _write(self, order: AgentOrder) -> None:
        self._log(f"operation {order.operation}: image {order.image_digest[:19]} to disk {order.disk_serial}")
        progress = Progress(operation=order.operation, generation=order.generation, state="running", units_done=0, units_total=0)
        told_at = 0.0
        latest = progress

        async def tell(done: int, total: int, checkpoint: str) -> None:
            nonlocal told_at, latest
            latest = replace(progress, units_done=done, units_total=total, checkpoint=checkpoint)
            now = asyncio.get_running_loop().time()
            if now - told_at >= PROGRESS_S or done == total:
                told_at = now
                await self._link.report(self._report(progress=latest))

        try:
            written = await write_image(self._machine, order, tell, lambda: self._cancelled)
            end = replace(latest, state="done" if not written.mismatches else "failed", units_done=latest.units_total)
            await self._link.report(self._report(progress=end, written=written))
        except Cancelled:
            await self._link.report(self._report(progress=replace(latest, state="cancelled", detail="stopped at a frame")))
        except (WriteRefused, BadImage) as why:
            self._log(f"operation {order.operation} failed: {why}")
            await self._link.report(self._report(progress=replace(latest, state="failed", detail=str(why))))
        self._finished.add(order.operation)

    def _report(self, **parts: object) -> Report:
        return Report(boot_id=self._about["boot_id"], **parts)  # type: ignore[arg-type]

    def _session_secret(self) -> tuple[str, bool]:
        """The secret kept in the node-data slot, made if there is none; and whether an earlier boot already claimed with it."""
        slot = self._slot()
        if slot is not None and slot.session and slot.token == self._arguments.token:
            return slot.session, bool(slot.claimed_boot)
        secret = secrets.token_hex(32)
        self._keep(secret, claimed_boot="")
        return secret, False

    def _keep(self, secret: str, *, claimed_boot: str) -> None:
        slot = self._slot()
        if slot is None:
            return
        disk = self._machine.open_disk(self._about["root_disk_serial"])
        try:
            kept = replace(slot, session=secret, claimed_boot=claimed_boot)
            disk.write(node_data.slot_offset(disk.size_bytes), node_data.pack(kept))
            disk.flush()
        finally:
            disk.close()

    def _slot(self) -> node_data.NodeData | None:
        try:
            disk = self._machine.open_disk(self._about["root_disk_serial"])
        except (KeyError, OSError):
            return None
        try:
            return node_data.unpack(disk.read(node_data.slot_offset(disk.size_bytes), node_data.SLOT_BYTES))
        finally:
            disk.close()

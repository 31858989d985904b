"""The installed system's session secret: kept in the node-data slot of its root disk, so that later boots go on with it."""

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from metalwright.agent.disk_content import read_slot, write_slot
from metalwright.model import node_data

if TYPE_CHECKING:
    from metalwright.ports import BootedMachine, DiskPort


def new_secret() -> str:
    """64 hex digits."""
    return secrets.token_hex(32)


class KeptSession:
    """The slot of one machine's root disk. Every method blocks: call it in a thread."""

    def __init__(self, machine: "BootedMachine", token: str) -> None:
        self._machine, self._token = machine, token

    def secret(self) -> tuple[str, bool]:
        """The kept secret, made and kept if there is none; and whether an earlier boot already claimed with it.

        It is on the disk before the claim is sent: whatever is lost in between, the next try is the same claim.
        """
        slot = self.slot()
        if slot is not None and slot.session and slot.token == self._token:
            return slot.session, bool(slot.claimed_boot)
        secret = new_secret()
        self.keep(secret, claimed_boot="")
        return secret, False

    def keep(self, secret: str, *, claimed_boot: str) -> None:
        """On the medium when this returns. A disk that cannot be written keeps nothing: then the next boot is a second claim."""
        slot = self.slot()
        if slot is None:
            return
        try:
            disk = self._open()
            try:
                write_slot(disk, replace(slot, session=secret, claimed_boot=claimed_boot))
            finally:
                disk.close()
        except OSError:
            return

    def slot(self) -> node_data.NodeData | None:
        """None when there is no disk, or nothing whole in its slot."""
        try:
            disk = self._open()
            try:
                return read_slot(disk)
            finally:
                disk.close()
        except (KeyError, OSError):
            return None

    def _open(self) -> "DiskPort":
        return self._machine.open_disk(self._machine.describe()["root_disk_serial"])

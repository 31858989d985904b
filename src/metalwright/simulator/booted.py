"""The agent's view of a simulated server: what Linux would show, and the disks. Implements `ports.BootedMachine`."""

from collections.abc import Callable, Mapping

import zstandard

from metalwright.model.agent_messages import RawInventory
from metalwright.model.ids import NodeName
from metalwright.ports import DiskPort
from metalwright.simulator import linux_view, seeded
from metalwright.simulator.world import World

RAM_KERNEL = "6.1.0-metalwright-ram"
INSTALLED_KERNEL = "6.1.0-metalwright-simulated"


class SimulatedBoot:
    """One boot. Its boot id depends on the seed, the node and the number of the boot: never used twice."""

    def __init__(
        self,
        *,
        world: World,
        name: NodeName,
        kernel: str,
        boot_number: int,
        root_disk_serial: str,
        system_serial: str = "",
        open_disk: Callable[[str], DiskPort],
    ) -> None:
        self._world = world
        self._name = name
        self._kernel = kernel
        self._root_disk_serial = root_disk_serial
        self._system_serial = system_serial
        self._open_disk = open_disk
        self._boot_id = seeded.uuid_text(world.seed, name, "boot", boot_number)

    def describe(self) -> Mapping[str, str]:
        identity = self._world.parts(self._name).in_band_identity
        return {
            "boot_id": self._boot_id,
            "system_serial": self._system_serial or identity.system_serial or "",
            "uuid": identity.uuid or "",
            "kernel": self._kernel,
            "hostname": str(self._name),
            "root_disk_serial": self._root_disk_serial,
        }

    def collect(self) -> RawInventory:
        return RawInventory(files=linux_view.files(self._world.parts(self._name)))

    def open_disk(self, serial: str) -> DiskPort:
        return self._open_disk(serial)

    def decompress(self, stored: bytes, length: int) -> bytes:
        """One zstd frame; ValueError for anything else, or for more than `length` bytes."""
        try:
            return zstandard.ZstdDecompressor().decompress(stored, max_output_size=length)
        except zstandard.ZstdError as error:
            raise ValueError(f"not a zstd frame: {error}") from error

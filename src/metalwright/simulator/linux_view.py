"""The parts of a server as Linux shows them in /sys and /proc: path → text. The paths are those that the agent collects."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from metalwright.model.hardware import Drive, Nic, PcieLink
from metalwright.simulator import hgx_shape
from metalwright.simulator.parts import ServerParts

_SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}
_MEMORY_SHARE = 0.985
"""MemTotal of the DIMMs' size: firmware and kernel keep the rest."""


def files(parts: ServerParts, command_line: str = "quiet") -> Mapping[str, str]:
    """Everything, freshly rendered; symbolic links as the text of their target."""
    parts = _seen(parts)
    command = ("/proc/cmdline", f"{command_line}\n")
    return dict([command, *_dmi(parts), *_proc(parts), *_pci(parts), *_network(parts), *_drives(parts), *_tpm(parts)])


def _seen(parts: ServerParts) -> ServerParts:
    """Without what fell off the bus."""
    if not parts.unseen_in_band:
        return parts
    hidden = parts.unseen_in_band
    return replace(
        parts,
        gpus=tuple(gpu for gpu in parts.gpus if gpu.name not in hidden),
        nvswitches=tuple(switch for switch in parts.nvswitches if switch.name not in hidden),
        nics=tuple(nic for nic in parts.nics if nic.name not in hidden),
        drives=tuple(drive for drive in parts.drives if drive.name not in hidden),
    )


def _dmi(parts: ServerParts) -> Iterator[tuple[str, str]]:
    identity = parts.in_band_identity
    base = "/sys/class/dmi/id"
    yield f"{base}/sys_vendor", f"{identity.manufacturer or ''}\n"
    yield f"{base}/product_name", f"{identity.model or ''}\n"
    yield f"{base}/product_serial", f"{identity.system_serial or ''}\n"
    yield f"{base}/product_uuid", f"{identity.uuid or ''}\n"
    yield f"{base}/board_serial", f"{identity.board_serial or ''}\n"
    yield f"{base}/board_vendor", f"{identity.manufacturer or ''}\n"
    yield f"{base}/board_name", "MW-BASEBOARD\n"
    yield f"{base}/bios_version", f"{parts.bios_version}\n"


def _proc(parts: ServerParts) -> Iterator[tuple[str, str]]:
    """cpuinfo with one entry per core (hyper-threads left out to stay short); meminfo's first lines."""
    entries: list[str] = []
    for package, cpu in enumerate(parts.cpus):
        for core in range(cpu.cores or 0):
            lines = [
                f"processor\t: {len(entries)}",
                "vendor_id\t: GenuineIntel",
                f"model name\t: {cpu.model}",
                f"physical id\t: {package}",
                f"siblings\t: {cpu.cores}",
                f"core id\t\t: {core}",
                f"cpu cores\t: {cpu.cores}",
            ]
            entries.append("\n".join(lines) + "\n")
    yield "/proc/cpuinfo", "\n".join(entries)
    kib = int(parts.memory_mib() * 1024 * _MEMORY_SHARE)
    yield "/proc/meminfo", f"MemTotal:       {kib} kB\nMemFree:        {kib - 4_000_000} kB\n"
    yield "/proc/version", "Linux version 6.1.0 (metalwright simulated)\n"


# -- PCI -----------------------------------------------------------------------------------------------------------------------


def _pci(parts: ServerParts) -> Iterator[tuple[str, str]]:
    for gpu in parts.gpus:
        if gpu.address:
            yield from _function(gpu.address, ("10de", hgx_shape.gpu_device_id(gpu.model or ""), "030200"), gpu.pcie, gpu.numa_node)
    for switch in parts.nvswitches:
        if switch.address:
            link = PcieLink(generation=4, width=2, max_generation=4, max_width=2)
            yield from _function(switch.address, ("10de", hgx_shape.SWITCH_DEVICE, "068000"), link, 0)
    for nic in parts.nics:
        if nic.address:
            yield from _function(nic.address, _nic_ids(nic), nic.pcie, nic.numa_node)
    for drive in parts.drives:
        address = hgx_shape.drive_address(bay_of(drive))
        yield from _function(address, (hgx_shape.DRIVE_VENDOR, hgx_shape.DRIVE_DEVICE, "010802"), drive.pcie, drive.numa_node)


def bay_of(drive: Drive) -> int:
    """The number of the bay: what the PCI address hangs on, whatever other drives are there."""
    digits = drive.name.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0


def _nic_ids(nic: Nic) -> tuple[str, str, str]:
    if nic.rdma:
        return hgx_shape.NIC_VENDOR, hgx_shape.NIC_DEVICE, "020700"
    return hgx_shape.ONBOARD_VENDOR, hgx_shape.ONBOARD_DEVICE, "020000"


def _function(address: str, ids: tuple[str, str, str], link: PcieLink | None, numa: int | None) -> Iterator[tuple[str, str]]:
    vendor, device, pci_class = ids
    base = f"/sys/bus/pci/devices/{address}"
    yield f"{base}/vendor", f"0x{vendor}\n"
    yield f"{base}/device", f"0x{device}\n"
    yield f"{base}/class", f"0x{pci_class}\n"
    yield f"{base}/numa_node", f"{-1 if numa is None else numa}\n"
    yield f"{base}/iommu_group", f"../../../../kernel/iommu_groups/{int(address[5:7], 16)}"
    if link is not None:
        yield f"{base}/current_link_speed", f"{_SPEEDS.get(link.generation or 0, 'Unknown')}\n"
        yield f"{base}/current_link_width", f"{link.width or 0}\n"
        yield f"{base}/max_link_speed", f"{_SPEEDS.get(link.max_generation or 0, 'Unknown')}\n"
        yield f"{base}/max_link_width", f"{link.max_width or 0}\n"


# -- network, drives, TPM ------------------------------------------------------------------------------------------------------


def _network(parts: ServerParts) -> Iterator[tuple[str, str]]:
    number = 0
    for nic in parts.nics:
        interface = interface_name(nic)
        base = f"/sys/class/net/{interface}"
        yield f"{base}/address", f"{nic.macs[0] if nic.macs else ''}\n"
        yield f"{base}/speed", f"{int((nic.rate_gbps or 0) * 1000)}\n"
        yield f"{base}/device", f"../../../{nic.address}"
        if nic.rdma:
            port = f"/sys/class/infiniband/mlx5_{number}"
            yield f"{port}/device", f"../../../{nic.address}"
            yield f"{port}/fw_ver", "28.39.1002\n"
            yield f"{port}/ports/1/state", "4: ACTIVE\n"
            yield f"{port}/ports/1/rate", f"{int(nic.rate_gbps or 0)} Gb/sec (4X NDR)\n"
            yield f"{port}/ports/1/link_layer", "InfiniBand\n"
            number += 1


def interface_name(nic: Nic) -> str:
    """The name systemd's udev gives by PCI path: `enp24s0`, `ibp24s0` for InfiniBand, `ibP1p24s0` in another PCI domain."""
    domain, bus = (int(part, 16) for part in (nic.address or "0000:00:00.0").split(":")[:2])
    return f"{'ib' if nic.rdma else 'en'}{f'P{domain}' if domain else ''}p{bus}s0"


def _drives(parts: ServerParts) -> Iterator[tuple[str, str]]:
    for drive in parts.drives:
        controller = (drive.device or f"nvme{bay_of(drive)}n1").removesuffix("n1")
        base = f"/sys/class/nvme/{controller}"
        yield f"{base}/serial", f"{(drive.serial or '').ljust(20)}\n"
        yield f"{base}/model", f"{(drive.model or '').ljust(40)}\n"
        yield f"{base}/address", f"{hgx_shape.drive_address(bay_of(drive))}\n"
        yield f"{base}/firmware_rev", "GDC5602Q\n"
        yield f"/sys/block/{controller}n1/size", f"{(drive.size_bytes or 0) // 512}\n"


def _tpm(parts: ServerParts) -> Iterator[tuple[str, str]]:
    if parts.tpm:
        yield "/sys/class/tpm/tpm0/tpm_version_major", f"{parts.tpm.partition('.')[0]}\n"

"""An agent's raw inventory (paths under /sys and /proc → text) → `HardwareFacts`. Units: MiB, bytes, Gbit/s, PCIe generations."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from metalwright.model.agent_messages import RawInventory
from metalwright.model.hardware import Cpu, Drive, Firmware, Gap, Gpu, HardwareFacts, Identity, Nic, NvSwitch, PciDevice, PcieLink
from metalwright.model.placeholders import known

MAX_DEVICES = 4096
GENERATION_OF_SPEED = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16": 4, "16.0": 4, "32": 5, "32.0": 5, "64": 6, "64.0": 6}
"""GT/s per lane → PCIe generation."""
GPU_VENDORS = {"10de": "NVIDIA", "1002": "AMD"}
NVIDIA = "10de"
DISPLAY, BRIDGE_OTHER, NETWORK, INFINIBAND = ("0300", "0302", "1200"), "0680", "0200", "0207"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")

Files = Mapping[str, str]


def hardware_from_raw(raw: RawInventory) -> HardwareFacts:
    """Everything that the texts say; what could not be read is a gap. Hostile or broken text gives gaps, never an exception."""
    files = {path: text for path, text in raw.files.items() if isinstance(text, str)}
    pci = tuple(_pci(files))
    return HardwareFacts(
        identity=_identity(files),
        cpus=tuple(_cpus(files.get("/proc/cpuinfo", ""))),
        memory_mib=_memory_mib(files.get("/proc/meminfo", "")),
        gpus=tuple(_gpus(pci)),
        nvswitches=tuple(_nvswitches(pci)),
        nics=tuple(_nics(files, {device.address: device for device in pci})),
        drives=tuple(_drives(files, {device.address: device for device in pci})),
        pci=pci,
        bios_version=known(files.get("/sys/class/dmi/id/bios_version")),
        firmware=tuple(_firmware(files)),
        tpm=_tpm(files),
        gaps=tuple(_gaps(raw, files)),
    )


# -- identity, CPUs, memory ----------------------------------------------------------------------------------------------------


def _identity(files: Files) -> Identity:
    dmi = {name: known(files.get(f"/sys/class/dmi/id/{name}")) for name in ("product_serial", "board_serial", "product_uuid", "sys_vendor")}
    uuid = dmi["product_uuid"]
    return Identity(
        system_serial=dmi["product_serial"],
        board_serial=dmi["board_serial"],
        uuid=uuid.lower() if uuid else None,
        manufacturer=dmi["sys_vendor"],
        model=known(files.get("/sys/class/dmi/id/product_name")),
    )


def _cpus(text: str) -> Iterator[Cpu]:
    """One per `physical id`; a machine that shows none (some virtual ones) has one."""
    models: dict[str, str] = {}
    cores: dict[str, set[str]] = defaultdict(set)
    for block in text.split("\n\n"):
        lines = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in block.splitlines())}
        if "processor" in lines and (socket := lines.get("physical id", "0")):
            models.setdefault(socket, lines.get("model name", ""))
            cores[socket].add(lines.get("core id", lines["processor"]))
    for socket in sorted(models, key=lambda text: (len(text), text))[:MAX_DEVICES]:
        yield Cpu(socket=socket, model=known(models[socket]), cores=len(cores[socket]))


def _memory_mib(text: str) -> int | None:
    match = re.search(r"^MemTotal:\s+(\d{1,15}) kB", text, re.MULTILINE)
    return int(match.group(1)) // 1024 if match else None


# -- PCI -----------------------------------------------------------------------------------------------------------------------


def _pci(files: Files) -> Iterator[PciDevice]:
    prefix = "/sys/bus/pci/devices/"
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        if path.startswith(prefix):
            address, _, name = path.removeprefix(prefix).partition("/")
            if ADDRESS.match(address):
                found[address][name] = text.strip()
    for address in sorted(found)[:MAX_DEVICES]:
        seen = found[address]
        ids = [_hex(seen.get(name, "")) for name in ("vendor", "device", "class")]
        yield PciDevice(
            address=address,
            vendor=ids[0],
            device=ids[1],
            device_class=ids[2],
            pcie=_link(seen),
            numa_node=_natural(seen.get("numa_node", "")),
            iommu_group=_natural(seen.get("iommu_group", "").rpartition("/")[2]),
        )


def _link(seen: Mapping[str, str]) -> PcieLink | None:
    if not any(name.endswith(("link_speed", "link_width")) for name in seen):
        return None
    return PcieLink(
        generation=_generation(seen.get("current_link_speed", "")),
        width=_natural(seen.get("current_link_width", "")) or None,
        max_generation=_generation(seen.get("max_link_speed", "")),
        max_width=_natural(seen.get("max_link_width", "")) or None,
    )


def _generation(text: str) -> int | None:
    return GENERATION_OF_SPEED.get(text.split(" ", maxsplit=1)[0])


def _gpus(pci: tuple[PciDevice, ...]) -> Iterator[Gpu]:
    """By vendor and class, in PCI order; virtual functions and display controllers of the BMC do not count."""
    seen = (device for device in pci if device.vendor in GPU_VENDORS and device.device_class[:4] in DISPLAY)
    for index, device in enumerate(seen):
        name = f"{GPU_VENDORS[device.vendor]} {device.vendor}:{device.device}"
        yield Gpu(index=index, name=name, pcie=device.pcie, address=device.address, numa_node=device.numa_node)


def _nvswitches(pci: tuple[PciDevice, ...]) -> Iterator[NvSwitch]:
    seen = (device for device in pci if device.vendor == NVIDIA and device.device_class[:4] == BRIDGE_OTHER)
    for index, device in enumerate(seen):
        yield NvSwitch(index=index, name=f"NVSwitch {device.vendor}:{device.device}", address=device.address)


# -- network, drives, the rest -------------------------------------------------------------------------------------------------


def _nics(files: Files, pci: Mapping[str, PciDevice]) -> Iterator[Nic]:
    """Interfaces of physical devices: those with a `device` link. An InfiniBand device on the same address makes it RDMA."""
    rdma = {_address(text): path.split("/")[4] for path, text in files.items() if re.match(r"/sys/class/infiniband/[^/]+/device$", path)}
    names = sorted(path.split("/")[4] for path in files if re.match(r"/sys/class/net/[^/]+/device$", path))
    for name in names[:MAX_DEVICES]:
        base = f"/sys/class/net/{name}"
        address = _address(files[f"{base}/device"])
        device, mac = pci.get(address), files.get(f"{base}/address", "").strip().lower()
        hca = rdma.get(address)
        yield Nic(
            name=hca or name,
            macs=(mac,) if mac else (),
            rate_gbps=_rate(files, base, hca),
            rdma=hca is not None,
            pcie=device.pcie if device else None,
            address=address or None,
            numa_node=device.numa_node if device else None,
        )


def _rate(files: Files, base: str, hca: str | None) -> float | None:
    port = re.match(r"(\d{1,5}(?:\.\d+)?) Gb/sec", files.get(f"/sys/class/infiniband/{hca}/ports/1/rate", "")) if hca else None
    if port:
        return float(port.group(1))
    speed = _natural(files.get(f"{base}/speed", "").strip())
    return speed / 1000 if speed else None


def _drives(files: Files, pci: Mapping[str, PciDevice]) -> Iterator[Drive]:
    names = sorted(
        {path.split("/")[4] for path in files if re.match(r"/sys/class/nvme/nvme\d+/", path)}, key=lambda name: (len(name), name)
    )
    for name in names[:MAX_DEVICES]:
        base, device = f"/sys/class/nvme/{name}", f"{name}n1"
        sectors = _natural(files.get(f"/sys/block/{device}/size", "").strip())
        function = pci.get(files.get(f"{base}/address", "").strip())
        yield Drive(
            name=device,
            model=known(files.get(f"{base}/model")),
            serial=known(files.get(f"{base}/serial")),
            size_bytes=sectors * 512 if sectors is not None else None,
            protocol="NVMe",
            device=device,
            pcie=function.pcie if function else None,
            numa_node=function.numa_node if function else None,
        )


def _firmware(files: Files) -> Iterator[Firmware]:
    for path, text in sorted(files.items()):
        if match := re.match(r"/sys/class/nvme/(nvme\d+)/firmware_rev$", path) or re.match(r"/sys/class/infiniband/([^/]+)/fw_ver$", path):
            yield Firmware(component=match.group(1), version=known(text))


def _tpm(files: Files) -> str | None:
    majors = [text.strip() for path, text in sorted(files.items()) if re.match(r"/sys/class/tpm/tpm\d+/tpm_version_major$", path)]
    return f"{majors[0]}.0" if majors and majors[0].isdigit() else None


def _gaps(raw: RawInventory, files: Files) -> Iterator[Gap]:
    for path, why in sorted(raw.unreadable.items())[:MAX_DEVICES]:
        yield Gap(what=_concern(str(path)), why=f"{path}: {why}"[:500])
    for path, what in (("/proc/cpuinfo", "cpus"), ("/proc/meminfo", "memory"), ("/sys/class/dmi/id/product_serial", "identity")):
        if path not in files and path not in raw.unreadable:
            yield Gap(what=what, why=f"{path} was not reported")


def _concern(path: str) -> str:
    """Which facts a path carries, in the words of gaps."""
    table = {
        "/sys/bus/pci": "pci",
        "/sys/class/nvme": "drives",
        "/sys/block": "drives",
        "/sys/class/net": "nics",
        "/sys/class/infini": "nics",
    }
    more = {"/sys/class/dmi": "identity", "/proc/cpuinfo": "cpus", "/proc/meminfo": "memory", "/sys/class/tpm": "tpm"}
    return next((what for prefix, what in {**table, **more}.items() if path.startswith(prefix)), "other")


# -- small readings ------------------------------------------------------------------------------------------------------------


def _address(link: str) -> str:
    """Last part of a link's target, when it is a PCI address."""
    last = link.strip().rpartition("/")[2]
    return last if ADDRESS.match(last) else ""


def _hex(text: str) -> str:
    cleaned = text.removeprefix("0x").lower()
    return cleaned if re.fullmatch(r"[0-9a-f]{1,8}", cleaned) else ""


def _natural(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,18}", text) else None

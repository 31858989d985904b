"""StoredSpec → the parts of one server: what the purchase list and the profile say is what exists.

Serials come from the purchase list in its order; where it is silent they are made from the seed.
"""

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from metalwright.model.errors import InputError
from metalwright.model.hardware import Cpu, Dimm, Drive, Firmware, Gpu, Identity, Nic, NvSwitch, PcieLink, Psu
from metalwright.model.spec import FirmwareLine, HardwareProfile, NodeSpec, PurchaseLine, StoredSpec
from metalwright.simulator import hgx_shape, purchase, seeded
from metalwright.simulator.parts import Fan, ServerParts

MANUFACTURER = "Metalwright Simulated"
_DIMM_GIB = (128, 64, 32, 16, 8, 4, 2, 1)
_SLOTS_PER_CPU = 16
_PSU_WATTS = 3300


def build_parts(stored: StoredSpec, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> ServerParts:
    """All parts of one server, of which `lines` are the purchase lines. InputError when the spec does not know the node's profile."""
    profile = stored.profiles.get(node.profile)
    if profile is None:
        raise InputError(f"node {node.name}: profile {node.profile} is not in the spec", hint="run `metalwright check` on the site folder")
    own = next((line for line in lines if line.serial == node.serial), None)
    identity = _identity(profile, node, seed)
    firmware = _firmware(profile, [line for line in stored.spec.firmware if line.profile == node.profile])
    return ServerParts(
        profile=profile,
        identity=identity,
        in_band_identity=identity,
        part_number=own.part if own else f"MW-{profile.name.upper()}",
        cpus=_cpus(profile, node, lines, seed),
        dimms=_dimms(profile, node, lines, seed),
        gpus=_gpus(profile, node, lines, seed),
        nvswitches=_nvswitches(profile, node, lines, seed),
        nvlinks=hgx_shape.nvlinks(profile.gpus, profile.nvswitches, profile.nvlinks_per_gpu, profile.nvlink_gbps),
        nics=_nics(profile, node, lines, seed),
        drives=_drives(profile, node, lines, seed),
        psus=_psus(profile, node, lines, seed),
        fans=tuple(Fan(name=f"FAN{index}", percent=42) for index in range(10)),
        firmware=firmware,
        bios_version=next(line.version or "" for line in firmware if line.component == "HostBIOS_0"),
        tpm="2.0",
    )


def _identity(profile: HardwareProfile, node: NodeSpec, seed: int) -> Identity:
    return Identity(
        system_serial=node.serial,
        board_serial=seeded.serial(seed, node.name, "board", length=14),
        uuid=node.uuid or seeded.uuid_text(seed, node.name, "system"),
        manufacturer=MANUFACTURER,
        model=profile.name,
    )


def _pick(lines: Sequence[PurchaseLine], kind: str, index: int, fallback: str, part: str) -> tuple[str, str]:
    """Serial and part number of the index-th part of a kind."""
    listed = purchase.of_kind(kind, lines)
    if index < len(listed):
        return listed[index].serial or fallback, listed[index].part
    return fallback, part


def _cpus(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Cpu, ...]:
    def one(index: int) -> Cpu:
        serial, model = _pick(lines, "cpu", index, seeded.serial(seed, node.name, "cpu", index), "Intel(R) Xeon(R) Platinum 8480C")
        return Cpu(socket=f"CPU{index}", model=model, cores=56, serial=serial)

    return tuple(one(index) for index in range(profile.cpus))


def _dimms(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Dimm, ...]:
    """As many equal DIMMs as the sockets take: the smallest size that fits, so 2,048 GiB over 2 sockets is 32 of 64 GiB."""
    slots = _SLOTS_PER_CPU * max(profile.cpus, 1)
    fits = [size for size in reversed(_DIMM_GIB) if size * slots >= profile.memory_gib]
    each = fits[0] if fits else max(_DIMM_GIB[0], math.ceil(profile.memory_gib / slots))
    count = math.ceil(profile.memory_gib / each)

    def one(index: int) -> Dimm:
        fallback = seeded.serial(seed, node.name, "dimm", index, length=8)
        serial, part = _pick(lines, "dimm", index, fallback, f"MW-DDR5-{each}G-4800")
        return Dimm(slot=f"DIMM{index}", size_mib=each * 1024, part_number=part, serial=serial)

    return tuple(one(index) for index in range(count))


def _gpus(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Gpu, ...]:
    link = _full_link(profile.gpu_pcie_generation, profile.gpu_pcie_width)

    def one(index: int) -> Gpu:
        serial, part = _pick(lines, "gpu", index, seeded.digits(seed, node.name, "gpu", index), "2330-885-A1")
        return Gpu(
            index=index,
            name=f"GPU_SXM_{index + 1}",
            model=profile.gpu_model,
            serial=serial,
            part_number=part,
            uuid=seeded.uuid_text(seed, node.name, "gpu", index),
            memory_mib=profile.gpu_memory_mib,
            pcie=link,
            address=hgx_shape.gpu_address(index),
            numa_node=hgx_shape.numa_node(index, profile.gpus, profile.cpus),
            health="OK",
        )

    return tuple(one(index) for index in range(profile.gpus))


def _nvswitches(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[NvSwitch, ...]:
    def one(index: int) -> NvSwitch:
        serial, _ = _pick(lines, "nvswitch", index, seeded.digits(seed, node.name, "nvswitch", index), "NVSwitch")
        return NvSwitch(index=index, name=f"NVSwitch_{index}", model="NVSwitch", serial=serial, address=hgx_shape.switch_address(index))

    return tuple(one(index) for index in range(profile.nvswitches))


def _nics(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Nic, ...]:
    def one(index: int) -> Nic:
        serial, part = _pick(lines, "nic", index, "MT" + seeded.serial(seed, node.name, "nic", index, length=10), "MCX75310AAS-NEAT")
        return Nic(
            name=f"NIC_{index}",
            model="ConnectX-7",
            serial=serial,
            part_number=part,
            macs=(seeded.mac(seed, node.name, "nic", index),),
            rate_gbps=float(profile.nic_rate_gbps),
            rdma=True,
            pcie=_full_link(5, 16),
            address=hgx_shape.nic_address(index),
            numa_node=hgx_shape.numa_node(index, profile.nics, profile.cpus),
        )

    return (*(one(index) for index in range(profile.nics)), _onboard_nic(node, seed))


def _onboard_nic(node: NodeSpec, seed: int) -> Nic:
    return Nic(
        name="LOM_0",
        model="X550",
        serial=seeded.serial(seed, node.name, "lom"),
        part_number="X550-AT2",
        macs=(node.boot_mac.lower(),),
        rate_gbps=10.0,
        rdma=False,
        pcie=_full_link(3, 4),
        address=hgx_shape.ONBOARD_ADDRESS,
        numa_node=0,
    )


def _drives(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Drive, ...]:
    def one(index: int) -> Drive:
        serial, part = _pick(lines, "drive", index, "S6" + seeded.serial(seed, node.name, "drive", index), "MZQL23T8HCLS-00A07")
        return Drive(
            name=f"NVMe_{index}",
            model=part,
            serial=serial,
            size_bytes=drive_size(profile.nvme_each_tb),
            protocol="NVMe",
            slot=f"bay-{index}",
            device=f"nvme{index}n1",
            pcie=_full_link(4, 4),
            numa_node=hgx_shape.numa_node(index, profile.nvme, profile.cpus),
        )

    return tuple(one(index) for index in range(profile.nvme))


def drive_size(each_tb: float) -> int:
    """Bytes of a drive with this label: whole MiB, never less than the label says."""
    return math.ceil(each_tb * 1e12 / (1 << 20)) << 20


def _psus(profile: HardwareProfile, node: NodeSpec, lines: Sequence[PurchaseLine], seed: int) -> tuple[Psu, ...]:
    count = max(2, math.ceil(profile.max_watts / _PSU_WATTS) + 2)

    def one(index: int) -> Psu:
        serial, _ = _pick(lines, "psu", index, seeded.serial(seed, node.name, "psu", index), "PSU")
        return Psu(name=f"PSU{index}", serial=serial, health="OK", watts=_PSU_WATTS)

    return tuple(one(index) for index in range(count))


def _full_link(generation: int, width: int) -> PcieLink:
    return PcieLink(generation=generation, width=width, max_generation=generation, max_width=width)


# -- firmware ----------------------------------------------------------------------------------------------------------------


def _firmware(profile: HardwareProfile, wanted: Sequence[FirmwareLine]) -> tuple[Firmware, ...]:
    """Factory versions, with the wanted ones of the firmware baseline already installed (`*` in a component matches)."""
    versions = _factory_firmware(profile)
    for line in wanted:
        matching = [component for component in versions if fnmatchcase(component, line.component)]
        for component in matching or [line.component]:
            versions[component] = line.version
    return tuple(Firmware(component=component, version=version) for component, version in versions.items())


def _factory_firmware(profile: HardwareProfile) -> dict[str, str]:
    """Component ids as HGX boards name them."""
    versions = {"HostBIOS_0": "01.01.03", "HostBMC_0": "23.11.21", "CPLDMB_0": "0.2.1.8", "EROT_BIOS_0": "00.04.0026.0000_n00"}
    if profile.gpus:
        versions |= {"HGX_FW_BMC_0": "HGX-22.10-1-rc57", "HGX_FW_FPGA_0": "2.37", "HGX_FW_ERoT_BMC_0": "00.02.0150.0000_n00"}
        versions |= {f"HGX_FW_GPU_SXM_{index + 1}": "96.00.89.00.01" for index in range(profile.gpus)}
        versions |= {f"HGX_InfoROM_GPU_SXM_{index + 1}": "G520.0200.00.05" for index in range(profile.gpus)}
    versions |= {f"HGX_FW_NVSwitch_{index}": "96.10.4A.00.01" for index in range(profile.nvswitches)}
    versions |= {f"NIC_{index}": "28.39.1002" for index in range(profile.nics)}
    return versions | {f"PSU_{index}": "0204.0201.0202" for index in range(2)}

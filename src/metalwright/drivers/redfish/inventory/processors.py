"""CPUs, DIMMs and GPUs. A GPU is shown as a processor, as a chassis and as a PCIe device: it is one GPU (Q53)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from metalwright.drivers.redfish.documents import identifier, inner, is_absent, links_of, text_of, trailing_number
from metalwright.drivers.redfish.inventory.sight import Sight, pcie_link
from metalwright.model.hardware import Cpu, Dimm, Gpu

Document = Mapping[str, Any]


def read_cpus(sight: Sight) -> tuple[Cpu, ...]:
    """CPUs of all systems, one per serial or socket: a GB200 lists its Grace CPUs under the host and the baseboard."""
    found: dict[str, Cpu] = {}
    for _, system in _host_first(sight):
        for path, document in sight.members(system.get("Processors"), "cpus"):
            if document.get("ProcessorType", "CPU") not in ("CPU", None) or is_absent(document):
                continue
            socket = text_of(document.get("Socket")) or _label(document) or identifier(path, document)
            cpu = Cpu(
                socket=socket,
                model=text_of(document.get("Model")),
                cores=sight.documents.whole(document, "TotalCores"),
                serial=text_of(document.get("SerialNumber")),
            )
            key = cpu.serial or socket
            known = found.get(key)
            found[key] = cpu if known is None else replace(known, model=known.model or cpu.model, cores=known.cores or cpu.cores)
    return tuple(found.values())


def read_dimms(sight: Sight) -> tuple[Dimm, ...]:
    """Memory modules of the host; empty slots and GPU memory are none."""
    found = []
    for path, document in sight.members(sight.host.get("Memory"), "dimms"):
        size = sight.documents.whole(document, "CapacityMiB")
        if is_absent(document) or not size or _is_gpu_memory(sight, document):
            continue
        dimm = Dimm(
            slot=text_of(document.get("DeviceLocator")) or _label(document) or identifier(path, document),
            size_mib=size,
            part_number=text_of(document.get("PartNumber")),
            serial=text_of(document.get("SerialNumber")),
        )
        if dimm.serial is None:
            sight.gap(f"dimms/{dimm.slot}/serial", "not shown by the BMC")
        found.append(dimm)
    return tuple(found)


def read_gpus(sight: Sight) -> tuple[tuple[str, Gpu], ...]:
    """(path of the resource with the ports, GPU), by position. Every GPU without a serial leaves a gap."""
    found: dict[str, tuple[str, Gpu]] = {}
    for path, gpu in [*_gpu_processors(sight), *_gpu_devices(sight)]:
        key = gpu.serial or gpu.uuid or path
        if key not in found:
            found[key] = (path, gpu)
    placed = _place(list(found.values()))
    for _, gpu in placed:
        if gpu.serial is None:
            sight.gap(f"gpus/{gpu.index}/serial", "not shown by the BMC")
        if gpu.pcie is None:
            sight.gap(f"gpus/{gpu.index}/pcie", "not shown by the BMC")
    return tuple(placed)


def _gpu_processors(sight: Sight) -> Iterator[tuple[str, Gpu]]:
    for path, document in _all_processors(sight):
        if document.get("ProcessorType") != "GPU" or is_absent(document):
            continue
        _, device = sight.linked(inner(document, "Links").get("PCIeDevice"), "gpus")
        uuid = text_of(document.get("UUID")) or text_of(device.get("UUID"))
        yield (
            path,
            Gpu(
                index=_position(path, document),
                name=identifier(path, document),
                model=text_of(document.get("Model")) or text_of(device.get("Model")),
                serial=text_of(document.get("SerialNumber")) or text_of(device.get("SerialNumber")),
                part_number=text_of(document.get("PartNumber")) or text_of(device.get("PartNumber")),
                uuid=uuid.lower() if uuid else None,
                memory_mib=_gpu_memory_mib(sight, path, document),
                pcie=pcie_link(sight.documents, inner(document, "SystemInterface", "PCIe"))
                or pcie_link(sight.documents, inner(device, "PCIeInterface")),
                health=text_of(inner(document, "Status").get("Health")),
            ),
        )


def _gpu_devices(sight: Sight) -> Iterator[tuple[str, Gpu]]:
    """GPUs that only the PCIe device list shows, where the vendor marks them."""
    for _, chassis in sight.chassis:
        for path, document in sight.members(chassis.get("PCIeDevices"), "pcie_devices"):
            position = sight.vendor.gpu_position(document)
            if position is None or is_absent(document):
                continue
            yield (
                path,
                Gpu(
                    index=position,
                    name=identifier(path, document),
                    model=text_of(document.get("Model")),
                    serial=text_of(document.get("SerialNumber")),
                    part_number=text_of(document.get("PartNumber")),
                    pcie=pcie_link(sight.documents, inner(document, "PCIeInterface")),
                    health=text_of(inner(document, "Status").get("Health")),
                ),
            )


def _all_processors(sight: Sight) -> Iterator[tuple[str, Document]]:
    for _, system in _host_first(sight):
        yield from sight.members(system.get("Processors"), "gpus")


def _host_first(sight: Sight) -> list[tuple[str, Document]]:
    return sorted(sight.systems, key=lambda item: item[0] != sight.host_path)


def _place(gpus: list[tuple[str, Gpu]]) -> list[tuple[str, Gpu]]:
    """Sorted by position; when positions repeat or are missing (-1), counted from 0 in the order of their names."""
    positions = [gpu.index for _, gpu in gpus]
    if -1 in positions or len(set(positions)) != len(positions):
        gpus = sorted(gpus, key=lambda item: (item[0].rpartition("/")[0], item[1].index, item[1].name))
        return [(path, replace(gpu, index=place)) for place, (path, gpu) in enumerate(gpus)]
    return sorted(gpus, key=lambda item: item[1].index)


def _position(path: str, document: Document) -> int:
    """SXM number: from the id, else from the service label; labels repeat per module on GB200."""
    for text in (identifier(path, document), _label(document) or ""):
        number = trailing_number(text)
        if number is not None:
            return number
    return -1


def _label(document: Document) -> str | None:
    return text_of(inner(document, "Location", "PartLocation").get("ServiceLabel"))


def _is_gpu_memory(sight: Sight, memory: Document) -> bool:
    owners = links_of(inner(memory, "Links").get("Processors"))
    is_hbm = str(memory.get("MemoryDeviceType", "")).startswith("HBM")
    return is_hbm or any(sight.documents.get(owner).get("ProcessorType") == "GPU" for owner in owners)


def _gpu_memory_mib(sight: Sight, path: str, gpu: Document) -> int | None:
    total = sight.documents.whole(inner(gpu, "MemorySummary"), "TotalMemorySizeMiB")
    if total:
        return total
    sizes = []
    for memory in links_of(inner(gpu, "Links").get("Memory")):
        sizes.append(sight.documents.whole(sight.documents.get(memory), "CapacityMiB"))
    return sum(size for size in sizes if size) or None

"""What is in the host: CPUs, memory, NVMe drives."""

from metalwright.model.hardware import Cpu, Dimm, Drive
from metalwright.simulator.redfish.documents import (
    HOST,
    HOST_CHASSIS,
    OK,
    PRESENT,
    Document,
    Renderer,
    View,
    collection,
    link,
    links,
    resource,
    segment,
)

STORAGE = f"{HOST}/Storage/NVMe_0"


def processors(view: View) -> Document:
    paths = [f"{HOST}/Processors/{segment(cpu.socket)}" for cpu in view.parts.cpus]
    return collection(f"{HOST}/Processors", "Processor", "Processors", paths)


def processor(view: View, socket: str) -> Document | None:
    cpu = next((each for each in view.parts.cpus if each.socket == socket), None)
    return _cpu(cpu) if cpu else None


def _cpu(cpu: Cpu) -> Document:
    return resource(
        f"{HOST}/Processors/{segment(cpu.socket)}",
        "Processor",
        cpu.socket,
        ProcessorType="CPU",
        ProcessorArchitecture="x86",
        InstructionSet="x86-64",
        Socket=cpu.socket,
        Manufacturer="Intel(R) Corporation",
        Model=cpu.model,
        SerialNumber=cpu.serial,
        TotalCores=cpu.cores,
        TotalEnabledCores=cpu.cores,
        TotalThreads=(cpu.cores or 0) * 2,
        MaxSpeedMHz=3800,
        Status=PRESENT,
        Links={"Chassis": link(HOST_CHASSIS)},
    )


def memory(view: View) -> Document:
    return collection(f"{HOST}/Memory", "Memory", "Memory", [f"{HOST}/Memory/{segment(dimm.slot)}" for dimm in view.parts.dimms])


def dimm(view: View, slot: str) -> Document | None:
    found = next((each for each in view.parts.dimms if each.slot == slot), None)
    return _dimm(found) if found else None


def _dimm(dimm: Dimm) -> Document:
    return resource(
        f"{HOST}/Memory/{segment(dimm.slot)}",
        "Memory",
        dimm.slot,
        MemoryType="DRAM",
        MemoryDeviceType="DDR5",
        BaseModuleType="RDIMM",
        CapacityMiB=dimm.size_mib,
        DataWidthBits=64,
        BusWidthBits=80,
        RankCount=2,
        OperatingSpeedMhz=4400,
        AllowedSpeedsMHz=[4800],
        ErrorCorrection="MultiBitECC",
        Location={"PartLocation": {"LocationType": "Slot", "ServiceLabel": dimm.slot}},
        Manufacturer="Micron",
        PartNumber=dimm.part_number,
        SerialNumber=dimm.serial,
        Status=PRESENT,
        Links={"Chassis": link(HOST_CHASSIS)},
    )


# -- storage -------------------------------------------------------------------------------------------------------------------


def storages(view: View) -> Document:
    return collection(f"{HOST}/Storage", "Storage", "Storage", [STORAGE])


def storage(view: View) -> Document:
    return resource(
        STORAGE,
        "Storage",
        "NVMe Drives",
        Status=OK,
        Drives=links([_drive_path(drive) for drive in view.parts.drives]),
        Links={"Enclosures": [link(HOST_CHASSIS)]},
    )


def drive(view: View, key: str) -> Document | None:
    found = next((each for each in view.parts.drives if each.name == key), None)
    return _drive(found) if found else None


def _drive_path(drive: Drive) -> str:
    return f"{STORAGE}/Drives/{segment(drive.name)}"


def _drive(drive: Drive) -> Document:
    speed = {3: 8, 4: 16, 5: 32}.get(drive.pcie.generation or 0) if drive.pcie else None
    width = drive.pcie.width if drive.pcie else None
    return resource(
        _drive_path(drive),
        "Drive",
        drive.name,
        MediaType="SSD",
        Protocol=drive.protocol,
        CapacityBytes=drive.size_bytes,
        BlockSizeBytes=512,
        Manufacturer="Samsung",
        Model=drive.model,
        SerialNumber=drive.serial,
        NegotiatedSpeedGbs=speed * width if speed and width else None,
        CapableSpeedGbs=64,
        FailurePredicted=False,
        PredictedMediaLifeLeftPercent=99,
        PhysicalLocation={"PartLocation": {"LocationType": "Bay", "ServiceLabel": drive.slot}},
        Status=PRESENT,
        Links={"Chassis": link(HOST_CHASSIS)},
    )


ROUTES: dict[str, Renderer] = {
    f"{HOST}/Processors": processors,
    f"{HOST}/Processors/*": processor,
    f"{HOST}/Memory": memory,
    f"{HOST}/Memory/*": dimm,
    f"{HOST}/Storage": storages,
    STORAGE: storage,
    f"{STORAGE}/Drives/*": drive,
}

"""The GPU baseboard: its ComputerSystem, GPUs with NVLink ports, and the NVLink fabric with its switches."""

from metalwright.model.hardware import Gpu, NvLink, NvSwitch
from metalwright.simulator.redfish.documents import (
    HGX,
    HGX_BMC,
    HGX_CHASSIS,
    NVLINK_FABRIC,
    OK,
    POWER_TEXT,
    PRESENT,
    ROOT,
    Document,
    Renderer,
    View,
    children,
    collection,
    link,
    links,
    pcie_interface,
    resource,
)

_LINK_STATUS = {"up": "LinkUp", "down": "LinkDown", "training": "Training"}


def baseboard(view: View) -> Document | None:
    if not view.has_baseboard:
        return None
    memory_gib = sum(gpu.memory_mib or 0 for gpu in view.parts.gpus) / 1024
    return resource(
        HGX,
        "ComputerSystem",
        "HGX_Baseboard_0",
        SystemType="Physical",
        Manufacturer="NVIDIA",
        Model=f"HGX {view.parts.profile.gpu_model}",
        PowerState=POWER_TEXT[view.power],
        Status=OK,
        MemorySummary={"TotalSystemMemoryGiB": memory_gib},
        Links={"Chassis": [link(HGX_CHASSIS)], "ManagedBy": [link(HGX_BMC)]},
        **children(HGX, "Processors", "Memory"),
    )


# -- GPUs ----------------------------------------------------------------------------------------------------------------------


def gpu_path(gpu: Gpu) -> str:
    return f"{HGX}/Processors/{gpu.name}"


def processors(view: View) -> Document | None:
    paths = [gpu_path(gpu) for gpu in view.parts.gpus]
    return collection(f"{HGX}/Processors", "Processor", "Processors", paths) if view.has_baseboard else None


def processor(view: View, key: str) -> Document | None:
    gpu = _gpu(view, key)
    if gpu is None:
        return None
    path = gpu_path(gpu)
    firmware = next((each.version for each in view.parts.firmware if each.component == f"HGX_FW_{gpu.name}"), None)
    return resource(
        path,
        "Processor",
        "Processor",
        ProcessorType="GPU",
        Manufacturer="NVIDIA",
        Model=gpu.model,
        PartNumber=gpu.part_number,
        SerialNumber=gpu.serial,
        UUID=gpu.uuid,
        FirmwareVersion=firmware,
        MinSpeedMHz=345,
        MaxSpeedMHz=1980,
        OperatingSpeedMHz=345,
        MemorySummary={"TotalMemorySizeMiB": gpu.memory_mib, "ECCModeEnabled": True},
        SystemInterface={"InterfaceType": "PCIe", "PCIe": pcie_interface(gpu.pcie)},
        Location={"PartLocation": {"LocationType": "Slot", "ServiceLabel": f"SXM{gpu.index + 1}"}},
        Status={"Health": gpu.health, "HealthRollup": gpu.health, "State": "Enabled"},
        Links={
            "Chassis": link(f"{ROOT}/Chassis/HGX_{gpu.name}"),
            "Memory": [link(f"{HGX}/Memory/{gpu.name}_DRAM_0")],
            "PCIeDevice": link(f"{ROOT}/Chassis/HGX_{gpu.name}/PCIeDevices/{gpu.name}"),
        },
        **children(path, "Ports"),
    )


def memory(view: View) -> Document | None:
    paths = [f"{HGX}/Memory/{gpu.name}_DRAM_0" for gpu in view.parts.gpus]
    return collection(f"{HGX}/Memory", "Memory", "GPU Memory", paths) if view.has_baseboard else None


def memory_stack(view: View, key: str) -> Document | None:
    gpu = _gpu(view, key.removesuffix("_DRAM_0"))
    if gpu is None or not key.endswith("_DRAM_0"):
        return None
    return resource(
        f"{HGX}/Memory/{key}",
        "Memory",
        key,
        MemoryType="DRAM",
        MemoryDeviceType="HBM3",
        CapacityMiB=gpu.memory_mib,
        ErrorCorrection="SingleBitECC",
        Status=PRESENT,
        Links={"Chassis": link(f"{ROOT}/Chassis/HGX_{gpu.name}"), "Processors": [link(gpu_path(gpu))]},
    )


def gpu_ports(view: View, key: str) -> Document | None:
    gpu = _gpu(view, key)
    if gpu is None:
        return None
    path = f"{gpu_path(gpu)}/Ports"
    return collection(path, "Port", "NVLink Ports", [f"{path}/NVLink_{port.port}" for port in view.parts.nvlinks if port.gpu == gpu.index])


def gpu_port(view: View, key: str, port: str) -> Document | None:
    gpu = _gpu(view, key)
    nvlink = next((each for each in view.parts.nvlinks if gpu and each.gpu == gpu.index and f"NVLink_{each.port}" == port), None)
    if gpu is None or nvlink is None:
        return None
    wiring = {}
    if nvlink.peer and any(switch.name == nvlink.peer.partition(":")[0] for switch in view.parts.nvswitches):
        switch, _, number = nvlink.peer.partition(":")
        switch_path = f"{NVLINK_FABRIC}/Switches/{switch}"
        wiring = {"ConnectedSwitches": [link(switch_path)], "ConnectedSwitchPorts": [link(f"{switch_path}/Ports/NVLink_{number}")]}
    return _port(f"{gpu_path(gpu)}/Ports/{port}", nvlink, wiring, "UpstreamPort", view)


def _port(path: str, nvlink: NvLink, wiring: Document, port_type: str, view: View) -> Document:
    """A down link reports 0 Gbit/s; the best speed is the profile's."""
    is_up = nvlink.state == "up"
    return resource(
        path,
        "Port",
        f"{path.rsplit('/', 1)[1]} Resource",
        PortProtocol="NVLink",
        PortType=port_type,
        CurrentSpeedGbps=nvlink.gbps if is_up else 0,
        MaxSpeedGbps=view.parts.profile.nvlink_gbps,
        Width=nvlink.width,
        ActiveWidth=nvlink.width if is_up else 0,
        LinkState="Enabled",
        LinkStatus=_LINK_STATUS.get(nvlink.state, "LinkDown"),
        Status={"Health": "OK" if is_up else "Warning", "State": "Enabled" if is_up else "UnavailableOffline"},
        Links=wiring,
        Metrics=link(f"{path}/Metrics"),
    )


def port_metrics(path: str, nvlink: NvLink) -> Document:
    errors = nvlink.errors or 0
    return resource(f"{path}/Metrics", "PortMetrics", "Port Metrics", RXErrors=errors, TXErrors=0)


def gpu_port_metrics(view: View, key: str, port: str) -> Document | None:
    gpu = _gpu(view, key)
    nvlink = next((each for each in view.parts.nvlinks if gpu and each.gpu == gpu.index and f"NVLink_{each.port}" == port), None)
    return port_metrics(f"{gpu_path(gpu)}/Ports/{port}", nvlink) if gpu and nvlink else None


def _gpu(view: View, key: str) -> Gpu | None:
    return next((gpu for gpu in view.parts.gpus if gpu.name == key), None)


# -- the NVLink fabric ---------------------------------------------------------------------------------------------------------


def fabrics(view: View) -> Document:
    return collection(f"{ROOT}/Fabrics", "Fabric", "Fabrics", [NVLINK_FABRIC] if view.parts.profile.nvswitches else [])


def fabric(view: View) -> Document | None:
    if not view.parts.profile.nvswitches:
        return None
    return resource(
        NVLINK_FABRIC,
        "Fabric",
        "NVLink Fabric",
        FabricType="NVLink",
        Status=OK,
        **children(NVLINK_FABRIC, "Switches", "Endpoints"),
    )


def switches(view: View) -> Document | None:
    path = f"{NVLINK_FABRIC}/Switches"
    known = view.parts.profile.nvswitches
    return collection(path, "Switch", "NVSwitches", [f"{path}/{switch.name}" for switch in view.parts.nvswitches]) if known else None


def switch(view: View, key: str) -> Document | None:
    found = _switch(view, key)
    if found is None:
        return None
    path = f"{NVLINK_FABRIC}/Switches/{key}"
    firmware = next((each.version for each in view.parts.firmware if each.component == f"HGX_FW_{key}"), None)
    return resource(
        path,
        "Switch",
        f"{key} Resource",
        SwitchType="NVLink",
        SupportedProtocols=["NVLink"],
        Manufacturer="NVIDIA",
        Model=found.model,
        SerialNumber=found.serial,
        FirmwareVersion=firmware,
        Status=OK,
        Links={
            "Chassis": link(f"{ROOT}/Chassis/HGX_{key}"),
            "ManagedBy": [link(HGX_BMC)],
            "Endpoints": links([f"{NVLINK_FABRIC}/Endpoints/{gpu.name}" for gpu in view.parts.gpus]),
            "PCIeDevice": link(f"{ROOT}/Chassis/HGX_{key}/PCIeDevices/{key}"),
        },
        **children(path, "Ports"),
    )


def switch_ports(view: View, key: str) -> Document | None:
    if _switch(view, key) is None:
        return None
    path = f"{NVLINK_FABRIC}/Switches/{key}/Ports"
    numbers = [each.peer.partition(":")[2] for each in view.parts.nvlinks if each.peer and each.peer.startswith(f"{key}:")]
    return collection(path, "Port", "NVLink Ports", [f"{path}/NVLink_{number}" for number in numbers])


def switch_port(view: View, key: str, port: str) -> Document | None:
    nvlink = _reaching(view, key, port)
    if nvlink is None:
        return None
    gpu = next((each for each in view.parts.gpus if each.index == nvlink.gpu), None)
    wiring: Document = {}
    if gpu is not None and nvlink.peer_agrees is not None:
        endpoint = f"{NVLINK_FABRIC}/Endpoints/{gpu.name}"
        number = nvlink.port if nvlink.peer_agrees else nvlink.port + 1
        wiring = {"AssociatedEndpoints": [link(endpoint)], "ConnectedPorts": [link(f"{gpu_path(gpu)}/Ports/NVLink_{number}")]}
    return _port(f"{NVLINK_FABRIC}/Switches/{key}/Ports/{port}", nvlink, wiring, "DownstreamPort", view)


def switch_port_metrics(view: View, key: str, port: str) -> Document | None:
    nvlink = _reaching(view, key, port)
    return port_metrics(f"{NVLINK_FABRIC}/Switches/{key}/Ports/{port}", nvlink) if nvlink else None


def _reaching(view: View, key: str, port: str) -> NvLink | None:
    """The link whose far end is this port of this switch."""
    peer = f"{key}:{port.removeprefix('NVLink_')}"
    return next((each for each in view.parts.nvlinks if each.peer == peer), None) if _switch(view, key) else None


def _switch(view: View, key: str) -> NvSwitch | None:
    return next((switch for switch in view.parts.nvswitches if switch.name == key), None)


def endpoints(view: View) -> Document | None:
    if not view.parts.profile.nvswitches:
        return None
    path = f"{NVLINK_FABRIC}/Endpoints"
    return collection(path, "Endpoint", "Endpoints", [f"{path}/{gpu.name}" for gpu in view.parts.gpus])


def endpoint(view: View, key: str) -> Document | None:
    gpu = _gpu(view, key)
    if gpu is None or not view.parts.profile.nvswitches:
        return None
    return resource(
        f"{NVLINK_FABRIC}/Endpoints/{key}",
        "Endpoint",
        f"{key} Endpoint",
        EndpointProtocol="NVLink",
        ConnectedEntities=[{"EntityType": "Processor", "EntityLink": link(gpu_path(gpu))}],
        Status=PRESENT,
    )


ROUTES: dict[str, Renderer] = {
    HGX: baseboard,
    f"{HGX}/Processors": processors,
    f"{HGX}/Processors/*": processor,
    f"{HGX}/Processors/*/Ports": gpu_ports,
    f"{HGX}/Processors/*/Ports/*": gpu_port,
    f"{HGX}/Processors/*/Ports/*/Metrics": gpu_port_metrics,
    f"{HGX}/Memory": memory,
    f"{HGX}/Memory/*": memory_stack,
    f"{ROOT}/Fabrics": fabrics,
    NVLINK_FABRIC: fabric,
    f"{NVLINK_FABRIC}/Switches": switches,
    f"{NVLINK_FABRIC}/Switches/*": switch,
    f"{NVLINK_FABRIC}/Switches/*/Ports": switch_ports,
    f"{NVLINK_FABRIC}/Switches/*/Ports/*": switch_port,
    f"{NVLINK_FABRIC}/Switches/*/Ports/*/Metrics": switch_port_metrics,
    f"{NVLINK_FABRIC}/Endpoints": endpoints,
    f"{NVLINK_FABRIC}/Endpoints/*": endpoint,
}

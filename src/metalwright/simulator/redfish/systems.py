"""The host: ComputerSystem, CPUs, memory, NVMe drives, network ports, boot options."""

from datetime import UTC, datetime

from metalwright.model.hardware import BootTarget, Cpu, Dimm, Drive, Nic
from metalwright.simulator.redfish.documents import (
    BMC,
    HGX,
    HOST,
    HOST_CHASSIS,
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
    segment,
)

RESET_TYPES = ("On", "ForceOff", "GracefulShutdown", "ForceRestart", "GracefulRestart", "PowerCycle", "ForceOn")
BOOT_SOURCES = ("None", "Pxe", "UefiHttp", "Hdd", "Cd", "Usb", "BiosSetup", "Diags")
OVERRIDES = ("Disabled", "Once", "Continuous")
STORAGE = f"{HOST}/Storage/NVMe_0"
ADAPTERS = f"{HOST_CHASSIS}/NetworkAdapters"


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as Redfish writes time; milliseconds, because simulated servers may be reset twice a second."""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def systems(view: View) -> Document:
    return collection(f"{ROOT}/Systems", "ComputerSystem", "Computer Systems", [HOST, HGX] if view.has_baseboard else [HOST])


def host(view: View) -> Document:
    """The host system; its serial is what drivers re-read before every write."""
    parts, identity = view.parts, view.parts.identity
    return resource(
        HOST,
        "ComputerSystem",
        "System",
        SystemType="Physical",
        Manufacturer=identity.manufacturer,
        Model=identity.model,
        SKU=parts.part_number,
        PartNumber=parts.part_number,
        SerialNumber=identity.system_serial,
        UUID=identity.uuid,
        AssetTag=view.bmc.asset_tag,
        HostName=str(view.node.name),
        BiosVersion=parts.bios_version,
        PowerState=POWER_TEXT[view.power],
        LastResetTime=timestamp(view.bmc.last_reset_at),
        Status=OK,
        ProcessorSummary={
            "Count": len(parts.cpus),
            "CoreCount": sum(cpu.cores or 0 for cpu in parts.cpus),
            "Model": parts.cpus[0].model if parts.cpus else None,
            "Status": OK,
        },
        MemorySummary={"TotalSystemMemoryGiB": parts.memory_mib() / 1024},
        TrustedModules=[{"InterfaceType": "TPM2_0", "Status": {"State": "Enabled"}}] if parts.tpm else [],
        Boot=_boot(view),
        Actions={
            "#ComputerSystem.Reset": {
                "target": f"{HOST}/Actions/ComputerSystem.Reset",
                "@Redfish.ActionInfo": f"{HOST}/ResetActionInfo",
                "ResetType@Redfish.AllowableValues": list(RESET_TYPES),
            }
        },
        Links={"Chassis": [link(HOST_CHASSIS)], "ManagedBy": [link(BMC)]},
        **children(HOST, "Processors", "Memory", "Storage", "EthernetInterfaces", "NetworkInterfaces"),
    )


def _boot(view: View) -> Document:
    override = "Disabled" if view.boot_target is BootTarget.NONE else "Once" if view.boot_once else "Continuous"
    return {
        "BootSourceOverrideEnabled": override,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": list(OVERRIDES),
        "BootSourceOverrideTarget": boot_source(view.boot_target, view.bmc.network_path),
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(BOOT_SOURCES),
        "BootSourceOverrideMode": view.bmc.boot_mode,
        "BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI", "Legacy"],
        "HttpBootUri": view.bmc.http_boot_uri,
        "BootOrder": ["Boot0000", "Boot0001"],
        "BootOptions": link(f"{HOST}/BootOptions"),
    }


def boot_source(target: BootTarget, network_path: str) -> str:
    """Redfish word of a boot target."""
    names = {BootTarget.NONE: "None", BootTarget.DISK: "Hdd", BootTarget.NETWORK: network_path, BootTarget.OTHER: "BiosSetup"}
    return names[target]


def reset_action_info(view: View) -> Document:
    return resource(
        f"{HOST}/ResetActionInfo",
        "ActionInfo",
        "Reset Action Info",
        Parameters=[{"Name": "ResetType", "Required": True, "DataType": "String", "AllowableValues": list(RESET_TYPES)}],
    )


def boot_options(view: View) -> Document:
    return collection(f"{HOST}/BootOptions", "BootOption", "Boot Options", [f"{HOST}/BootOptions/{key}" for key in _BOOT_OPTIONS])


_BOOT_OPTIONS = {"Boot0000": ("System disk", "Hdd"), "Boot0001": ("Network (UEFI HTTP)", "UefiHttp")}


def boot_option(view: View, key: str) -> Document | None:
    if key not in _BOOT_OPTIONS:
        return None
    name, alias = _BOOT_OPTIONS[key]
    path = f"{HOST}/BootOptions/{key}"
    return resource(path, "BootOption", name, BootOptionReference=key, DisplayName=name, Alias=alias, BootOptionEnabled=True)


# -- CPUs and memory -----------------------------------------------------------------------------------------------------------


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


# -- network -------------------------------------------------------------------------------------------------------------------


def ethernet_interfaces(view: View) -> Document:
    paths = [f"{HOST}/EthernetInterfaces/{nic.name}" for nic in view.parts.nics if not nic.rdma]
    return collection(f"{HOST}/EthernetInterfaces", "EthernetInterface", "Ethernet Interfaces", paths)


def ethernet_interface(view: View, key: str) -> Document | None:
    nic = next((each for each in view.parts.nics if each.name == key and not each.rdma), None)
    if nic is None:
        return None
    mac = nic.macs[0].upper() if nic.macs else None
    return resource(
        f"{HOST}/EthernetInterfaces/{key}",
        "EthernetInterface",
        key,
        MACAddress=mac,
        PermanentMACAddress=mac,
        SpeedMbps=int((nic.rate_gbps or 0) * 1000),
        InterfaceEnabled=True,
        LinkStatus="LinkUp",
        Status=PRESENT,
        Links={"Chassis": link(HOST_CHASSIS), "NetworkDeviceFunctions": [link(f"{ADAPTERS}/{key}/NetworkDeviceFunctions/0")]},
    )


def network_interfaces(view: View) -> Document:
    paths = [f"{HOST}/NetworkInterfaces/{nic.name}" for nic in view.parts.nics]
    return collection(f"{HOST}/NetworkInterfaces", "NetworkInterface", "Network Interfaces", paths)


def network_interface(view: View, key: str) -> Document | None:
    if not any(nic.name == key for nic in view.parts.nics):
        return None
    return resource(
        f"{HOST}/NetworkInterfaces/{key}",
        "NetworkInterface",
        key,
        Status=PRESENT,
        NetworkDeviceFunctions=link(f"{ADAPTERS}/{key}/NetworkDeviceFunctions"),
        Ports=link(f"{ADAPTERS}/{key}/Ports"),
        Links={"NetworkAdapter": link(f"{ADAPTERS}/{key}")},
    )


def adapters(view: View) -> Document:
    return collection(ADAPTERS, "NetworkAdapter", "Network Adapters", [f"{ADAPTERS}/{nic.name}" for nic in view.parts.nics])


def adapter(view: View, key: str) -> Document | None:
    nic = _nic(view, key)
    if nic is None:
        return None
    path = f"{ADAPTERS}/{key}"
    firmware = next((each.version for each in view.parts.firmware if each.component == key), None)
    return resource(
        path,
        "NetworkAdapter",
        key,
        Manufacturer="NVIDIA" if nic.rdma else "Intel",
        Model=nic.model,
        PartNumber=nic.part_number,
        SerialNumber=nic.serial,
        Status=PRESENT,
        Controllers=[
            {
                "FirmwarePackageVersion": firmware,
                "ControllerCapabilities": {"NetworkPortCount": 1, "NetworkDeviceFunctionCount": 1},
                "PCIeInterface": pcie_interface(nic.pcie),
                "Links": {
                    "Ports": [link(f"{path}/Ports/1")],
                    "NetworkDeviceFunctions": [link(f"{path}/NetworkDeviceFunctions/0")],
                    "PCIeDevices": [link(f"{HOST_CHASSIS}/PCIeDevices/{key}")],
                },
            }
        ],
        **children(path, "Ports", "NetworkDeviceFunctions"),
    )


def adapter_ports(view: View, key: str) -> Document | None:
    path = f"{ADAPTERS}/{key}/Ports"
    return collection(path, "Port", "Ports", [f"{path}/1"]) if _nic(view, key) else None


def adapter_port(view: View, key: str) -> Document | None:
    nic = _nic(view, key)
    if nic is None:
        return None
    return resource(
        f"{ADAPTERS}/{key}/Ports/1",
        "Port",
        f"{key} Port 1",
        PortId="1",
        PortProtocol="InfiniBand" if nic.rdma else "Ethernet",
        LinkNetworkTechnology="InfiniBand" if nic.rdma else "Ethernet",
        CurrentSpeedGbps=nic.rate_gbps,
        MaxSpeedGbps=nic.rate_gbps,
        LinkState="Enabled",
        LinkStatus="LinkUp",
        Status=PRESENT,
        **({} if nic.rdma else {"Ethernet": {"AssociatedMACAddresses": [mac.upper() for mac in nic.macs]}}),
    )


def device_functions(view: View, key: str) -> Document | None:
    path = f"{ADAPTERS}/{key}/NetworkDeviceFunctions"
    return collection(path, "NetworkDeviceFunction", "Device Functions", [f"{path}/0"]) if _nic(view, key) else None


def device_function(view: View, key: str) -> Document | None:
    """The MAC is under `Ethernet` for both kinds: drivers compare it with what the operating system shows."""
    nic = _nic(view, key)
    if nic is None:
        return None
    mac = nic.macs[0].upper() if nic.macs else None
    guid = {"PortGUID": _guid(nic), "NodeGUID": _guid(nic)}
    return resource(
        f"{ADAPTERS}/{key}/NetworkDeviceFunctions/0",
        "NetworkDeviceFunction",
        f"{key} Function 0",
        NetDevFuncType="InfiniBand" if nic.rdma else "Ethernet",
        NetDevFuncCapabilities=["InfiniBand", "Ethernet"] if nic.rdma else ["Ethernet"],
        Ethernet={"MACAddress": mac, "PermanentMACAddress": mac},
        **({"InfiniBand": guid} if nic.rdma else {}),
        DeviceEnabled=True,
        Status=PRESENT,
        Links={"PhysicalNetworkPortAssignment": link(f"{ADAPTERS}/{key}/Ports/1")},
    )


def _guid(nic: Nic) -> str:
    """GUID of a port as Redfish writes it (`XXXX:XXXX:XXXX:XXXX`), made of its MAC the usual way."""
    digits = (nic.macs[0] if nic.macs else "00:00:00:00:00:00").replace(":", "").upper()
    text = digits[:6] + "0300" + digits[6:]
    return ":".join(text[at : at + 4] for at in range(0, 16, 4))


def _nic(view: View, key: str) -> Nic | None:
    return next((nic for nic in view.parts.nics if nic.name == key), None)


ROUTES: dict[str, Renderer] = {
    f"{ROOT}/Systems": systems,
    HOST: host,
    f"{HOST}/ResetActionInfo": reset_action_info,
    f"{HOST}/BootOptions": boot_options,
    f"{HOST}/BootOptions/*": boot_option,
    f"{HOST}/Processors": processors,
    f"{HOST}/Processors/*": processor,
    f"{HOST}/Memory": memory,
    f"{HOST}/Memory/*": dimm,
    f"{HOST}/Storage": storages,
    STORAGE: storage,
    f"{STORAGE}/Drives/*": drive,
    f"{HOST}/EthernetInterfaces": ethernet_interfaces,
    f"{HOST}/EthernetInterfaces/*": ethernet_interface,
    f"{HOST}/NetworkInterfaces": network_interfaces,
    f"{HOST}/NetworkInterfaces/*": network_interface,
    ADAPTERS: adapters,
    f"{ADAPTERS}/*": adapter,
    f"{ADAPTERS}/*/Ports": adapter_ports,
    f"{ADAPTERS}/*/Ports/1": adapter_port,
    f"{ADAPTERS}/*/NetworkDeviceFunctions": device_functions,
    f"{ADAPTERS}/*/NetworkDeviceFunctions/0": device_function,
}

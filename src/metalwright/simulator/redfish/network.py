"""The host's network ports: adapters with their ports and functions, and Ethernet interfaces."""

from metalwright.model.hardware import Nic
from metalwright.simulator.redfish.documents import (
    HOST,
    HOST_CHASSIS,
    PRESENT,
    Document,
    Renderer,
    View,
    children,
    collection,
    link,
    pcie_interface,
    resource,
)

ADAPTERS = f"{HOST_CHASSIS}/NetworkAdapters"


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

"""The BMCs themselves, and the firmware inventory."""

from metalwright.simulator.redfish.documents import (
    BMC,
    FIRMWARE,
    HGX,
    HGX_BMC,
    HGX_CHASSIS,
    HOST,
    HOST_CHASSIS,
    OK,
    PRESENT,
    ROOT,
    Document,
    Renderer,
    View,
    children,
    collection,
    link,
    resource,
    segment,
)
from metalwright.simulator.redfish.systems import timestamp

MANAGER_RESETS = ("GracefulRestart", "ForceRestart")


def managers(view: View) -> Document:
    return collection(f"{ROOT}/Managers", "Manager", "Managers", [BMC, HGX_BMC] if view.has_baseboard else [BMC])


def bmc(view: View) -> Document:
    return resource(
        BMC,
        "Manager",
        "BMC",
        ManagerType="BMC",
        Manufacturer=view.parts.identity.manufacturer,
        Model="Simulated BMC",
        FirmwareVersion=_version(view, "HostBMC_0"),
        LastResetTime=timestamp(view.bmc.started_at),
        PowerState="On",
        Status=OK,
        Actions={
            "#Manager.Reset": {
                "target": f"{BMC}/Actions/Manager.Reset",
                "ResetType@Redfish.AllowableValues": list(MANAGER_RESETS),
            }
        },
        Links={"ManagerForServers": [link(HOST)], "ManagerForChassis": [link(HOST_CHASSIS)], "ManagerInChassis": link(HOST_CHASSIS)},
        **children(BMC, "EthernetInterfaces", "NetworkProtocol"),
    )


def hgx_bmc(view: View) -> Document | None:
    if not view.has_baseboard:
        return None
    return resource(
        HGX_BMC,
        "Manager",
        "HGX BMC",
        ManagerType="BMC",
        Manufacturer="NVIDIA",
        FirmwareVersion=_version(view, "HGX_FW_BMC_0"),
        PowerState="On",
        Status=OK,
        Links={"ManagerForServers": [link(HGX)], "ManagerForChassis": [link(HGX_CHASSIS)], "ManagerInChassis": link(HGX_CHASSIS)},
    )


def interfaces(view: View) -> Document:
    return collection(f"{BMC}/EthernetInterfaces", "EthernetInterface", "BMC Interfaces", [f"{BMC}/EthernetInterfaces/eth0"])


def interface(view: View) -> Document:
    return resource(
        f"{BMC}/EthernetInterfaces/eth0",
        "EthernetInterface",
        "BMC Ethernet",
        InterfaceEnabled=True,
        LinkStatus="LinkUp",
        SpeedMbps=1000,
        HostName=f"{view.node.name}-bmc",
        Status=PRESENT,
    )


def network_protocol(view: View) -> Document:
    return resource(
        f"{BMC}/NetworkProtocol",
        "ManagerNetworkProtocol",
        "Network Protocol",
        HostName=f"{view.node.name}-bmc",
        HTTPS={"ProtocolEnabled": view.node.bmc.startswith("https:")},
        HTTP={"ProtocolEnabled": view.node.bmc.startswith("http:")},
        IPMI={"ProtocolEnabled": False},
        SSH={"ProtocolEnabled": False},
        Status=PRESENT,
    )


# -- firmware ------------------------------------------------------------------------------------------------------------------


def update_service(view: View) -> Document:
    """Shown and switched off: a simulated BMC refuses to be flashed."""
    path = f"{ROOT}/UpdateService"
    return resource(
        path,
        "UpdateService",
        "Update Service",
        ServiceEnabled=False,
        Status={"Health": "OK", "State": "Disabled"},
        Actions={"#UpdateService.SimpleUpdate": {"target": f"{path}/Actions/UpdateService.SimpleUpdate"}},
        **children(path, "FirmwareInventory"),
    )


def firmware_inventory(view: View) -> Document:
    paths = [f"{FIRMWARE}/{segment(firmware.component)}" for firmware in view.parts.firmware]
    return collection(FIRMWARE, "SoftwareInventory", "Firmware Inventory", paths)


def firmware(view: View, component: str) -> Document | None:
    found = next((each for each in view.parts.firmware if each.component == component), None)
    if found is None:
        return None
    path = f"{FIRMWARE}/{segment(component)}"
    return resource(path, "SoftwareInventory", component, Version=found.version, Updateable=False, Status=PRESENT)


def _version(view: View, component: str) -> str | None:
    return next((each.version for each in view.parts.firmware if each.component == component), None)


ROUTES: dict[str, Renderer] = {
    f"{ROOT}/Managers": managers,
    BMC: bmc,
    HGX_BMC: hgx_bmc,
    f"{BMC}/EthernetInterfaces": interfaces,
    f"{BMC}/EthernetInterfaces/eth0": interface,
    f"{BMC}/NetworkProtocol": network_protocol,
    f"{ROOT}/UpdateService": update_service,
    FIRMWARE: firmware_inventory,
    f"{FIRMWARE}/*": firmware,
}

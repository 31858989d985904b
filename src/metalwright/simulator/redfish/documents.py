"""Shapes that all resources share. Schemas are those that DMTF publishes (DSP8010)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from metalwright.model.hardware import BootTarget, PcieLink, PowerState
from metalwright.model.spec import NodeSpec
from metalwright.simulator.parts import ServerParts
from metalwright.simulator.redfish.bmc import BmcState

Document = dict[str, Any]

ROOT = "/redfish/v1"
HOST = f"{ROOT}/Systems/System_0"
HGX = f"{ROOT}/Systems/HGX_Baseboard_0"
HOST_CHASSIS = f"{ROOT}/Chassis/Chassis_0"
HGX_CHASSIS = f"{ROOT}/Chassis/HGX_Chassis_0"
BMC = f"{ROOT}/Managers/BMC"
HGX_BMC = f"{ROOT}/Managers/HGX_BMC_0"
NVLINK_FABRIC = f"{ROOT}/Fabrics/HGX_NVLinkFabric_0"
FIRMWARE = f"{ROOT}/UpdateService/FirmwareInventory"

OK = {"Health": "OK", "HealthRollup": "OK", "State": "Enabled"}
PRESENT = {"Health": "OK", "State": "Enabled"}


VERSIONS = {
    "AccountService": "v1_15_0",
    "ActionInfo": "v1_4_0",
    "BootOption": "v1_0_6",
    "Chassis": "v1_25_0",
    "ComputerSystem": "v1_20_0",
    "Drive": "v1_20_0",
    "Endpoint": "v1_8_0",
    "EthernetInterface": "v1_12_0",
    "EventDestination": "v1_15_0",
    "EventService": "v1_10_3",
    "Fabric": "v1_3_0",
    "Fan": "v1_5_0",
    "LeakDetection": "v1_0_0",
    "LeakDetector": "v1_0_0",
    "LogEntry": "v1_9_0",
    "LogService": "v1_3_0",
    "Manager": "v1_19_0",
    "ManagerAccount": "v1_12_0",
    "ManagerNetworkProtocol": "v1_10_0",
    "Memory": "v1_18_0",
    "MessageRegistryFile": "v1_1_3",
    "NetworkAdapter": "v1_12_0",
    "NetworkDeviceFunction": "v1_9_0",
    "NetworkInterface": "v1_2_1",
    "PCIeDevice": "v1_15_0",
    "PCIeFunction": "v1_6_0",
    "Port": "v1_14_0",
    "PortMetrics": "v1_7_0",
    "PowerSubsystem": "v1_1_0",
    "PowerSupply": "v1_6_0",
    "Processor": "v1_17_0",
    "Role": "v1_3_2",
    "Sensor": "v1_9_0",
    "ServiceRoot": "v1_17_0",
    "Session": "v1_7_0",
    "SessionService": "v1_1_9",
    "SoftwareInventory": "v1_10_0",
    "Storage": "v1_17_0",
    "Switch": "v1_9_0",
    "Task": "v1_7_4",
    "TaskService": "v1_2_0",
    "ThermalMetrics": "v1_3_0",
    "ThermalSubsystem": "v1_3_0",
    "UpdateService": "v1_14_0",
}
"""The schema version of every kind of resource; `$metadata` announces exactly these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One moment of one BMC: all that a resource may show."""

    node: NodeSpec
    parts: ServerParts
    power: PowerState
    boot_target: BootTarget
    boot_once: bool
    bmc: BmcState
    console_port: int = 0
    """Where the serial console answers; 0 when it is off."""
    is_console_logged: bool = True

    @property
    def has_baseboard(self) -> bool:
        """Whether there is a GPU baseboard with a BMC of its own."""
        return self.parts.profile.gpus > 0


Renderer = Callable[..., Document | None]
"""`(view, *path keys)` → the resource, or None when this server has no such thing."""


def resource(path: str, kind: str, name: str, **properties: Any) -> Document:
    """A resource with its identity; `Id` is the last segment of the path."""
    head = {"@odata.id": path, "@odata.type": f"#{kind}.{VERSIONS[kind]}.{kind}", "Id": unquote(path.rsplit("/", 1)[1]), "Name": name}
    return head | properties


def collection(path: str, kind: str, name: str, members: Sequence[str]) -> Document:
    """A collection of the resources at these paths; the HTTP layer cuts it into pages."""
    return {
        "@odata.id": path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": name,
        "Members": [link(member) for member in members],
        "Members@odata.count": len(members),
    }


def link(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def links(paths: Sequence[str]) -> list[dict[str, str]]:
    return [link(path) for path in paths]


def children(path: str, *names: str) -> dict[str, dict[str, str]]:
    """Navigation properties to subordinate resources of the same name."""
    return {name: link(f"{path}/{name}") for name in names}


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")


def pcie_interface(pcie: PcieLink | None) -> Mapping[str, Any] | None:
    """`PCIeInterface` of a link; None when nothing is known."""
    if pcie is None:
        return None
    return {
        "PCIeType": f"Gen{pcie.generation}" if pcie.generation else None,
        "MaxPCIeType": f"Gen{pcie.max_generation}" if pcie.max_generation else None,
        "LanesInUse": pcie.width,
        "MaxLanes": pcie.max_width,
    }


POWER_TEXT = {
    PowerState.ON: "On",
    PowerState.OFF: "Off",
    PowerState.TURNING_ON: "PoweringOn",
    PowerState.TURNING_OFF: "PoweringOff",
    PowerState.UNKNOWN: "Off",
}

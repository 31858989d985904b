"""The host: its ComputerSystem, reset and boot options; its parts are in `host_parts` and `network`."""

from datetime import UTC, datetime

from metalwright.model.hardware import BootTarget
from metalwright.simulator.redfish import host_parts, network
from metalwright.simulator.redfish.documents import (
    BMC,
    HGX,
    HOST,
    HOST_CHASSIS,
    OK,
    POWER_TEXT,
    ROOT,
    Document,
    Renderer,
    View,
    children,
    collection,
    link,
    resource,
)

RESET_TYPES = ("On", "ForceOff", "GracefulShutdown", "ForceRestart", "GracefulRestart", "PowerCycle", "ForceOn")
BOOT_SOURCES = ("None", "Pxe", "UefiHttp", "Hdd", "Cd", "Usb", "BiosSetup", "Diags")
OVERRIDES = ("Disabled", "Once", "Continuous")


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
        SerialConsole={"MaxConcurrentSessions": 4, "SSH": _console(view), "IPMI": {"ServiceEnabled": False}},
        Actions={
            "#ComputerSystem.Reset": {
                "target": f"{HOST}/Actions/ComputerSystem.Reset",
                "@Redfish.ActionInfo": f"{HOST}/ResetActionInfo",
                "ResetType@Redfish.AllowableValues": list(RESET_TYPES),
            }
        },
        Links={"Chassis": [link(HOST_CHASSIS)], "ManagedBy": [link(BMC)]},
        **children(HOST, "Processors", "Memory", "Storage", "EthernetInterfaces", "NetworkInterfaces", "LogServices"),
    )


def _console(view: View) -> Document:
    return {"ServiceEnabled": view.console_port > 0} | ({"Port": view.console_port} if view.console_port else {})


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


_OWN: dict[str, Renderer] = {
    f"{ROOT}/Systems": systems,
    HOST: host,
    f"{HOST}/ResetActionInfo": reset_action_info,
    f"{HOST}/BootOptions": boot_options,
    f"{HOST}/BootOptions/*": boot_option,
}
ROUTES: dict[str, Renderer] = _OWN | host_parts.ROUTES | network.ROUTES

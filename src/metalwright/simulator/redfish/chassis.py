"""Chassis of the server, of the GPU baseboard and of each module on it, with their PCIe devices."""

from dataclasses import dataclass

from metalwright.model.hardware import PcieLink
from metalwright.simulator import hgx_shape
from metalwright.simulator.redfish import environment
from metalwright.simulator.redfish.documents import (
    BMC,
    HGX,
    HGX_BMC,
    HGX_CHASSIS,
    HOST,
    HOST_CHASSIS,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One PCIe device as Redfish shows it, wherever it sits."""

    key: str
    chassis: str
    manufacturer: str
    model: str | None
    serial: str | None
    part_number: str | None
    pcie: PcieLink | None
    vendor_id: str
    device_id: str
    device_class: str


def all_chassis(view: View) -> Document:
    paths = [HOST_CHASSIS]
    if view.has_baseboard:
        paths.append(HGX_CHASSIS)
    paths += [f"{ROOT}/Chassis/HGX_{module}" for module in _modules(view)]
    return collection(f"{ROOT}/Chassis", "Chassis", "Chassis", paths)


def host_chassis(view: View) -> Document:
    parts = view.parts
    return resource(
        HOST_CHASSIS,
        "Chassis",
        "Server",
        ChassisType="RackMount",
        Manufacturer=parts.identity.manufacturer,
        Model=parts.identity.model,
        SerialNumber=parts.identity.system_serial,
        PartNumber=parts.part_number,
        PowerState=POWER_TEXT[view.power],
        MaxPowerWatts=parts.profile.max_watts,
        Status=OK,
        Links={
            "ComputerSystems": [link(HOST)],
            "ManagedBy": [link(BMC)],
            "ManagersInChassis": [link(BMC)],
            "Contains": [link(HGX_CHASSIS)] if view.has_baseboard else [],
            "Drives": links([f"{HOST}/Storage/NVMe_0/Drives/{drive.name}" for drive in parts.drives]),
        },
        **children(HOST_CHASSIS, "NetworkAdapters", "PCIeDevices", "Sensors", "ThermalSubsystem", "PowerSubsystem"),
    )


def hgx_chassis(view: View) -> Document | None:
    if not view.has_baseboard:
        return None
    return resource(
        HGX_CHASSIS,
        "Chassis",
        "HGX Baseboard",
        ChassisType="Module",
        Manufacturer="NVIDIA",
        Model=f"HGX {view.parts.profile.gpu_model}",
        SerialNumber=view.parts.identity.board_serial,
        PowerState=POWER_TEXT[view.power],
        Status=OK,
        Links={
            "ComputerSystems": [link(HGX)],
            "ContainedBy": link(HOST_CHASSIS),
            "ManagedBy": [link(HGX_BMC)],
            "Contains": links([f"{ROOT}/Chassis/HGX_{module}" for module in _modules(view)]),
        },
    )


def module_chassis(view: View, key: str) -> Document | None:
    """One GPU or NVSwitch module."""
    name = key.removeprefix("HGX_")
    gpu = next((each for each in view.parts.gpus if each.name == name), None)
    switch = next((each for each in view.parts.nvswitches if each.name == name), None)
    part = gpu or switch
    if part is None or not key.startswith("HGX_"):
        return None
    path = f"{ROOT}/Chassis/{key}"
    inside = {"Processors": [link(f"{HGX}/Processors/{name}")]} if gpu else {"Switches": [link(f"{NVLINK_FABRIC}/Switches/{name}")]}
    return resource(
        path,
        "Chassis",
        name,
        ChassisType="Module",
        Manufacturer="NVIDIA",
        Model=part.model,
        SerialNumber=part.serial,
        PowerState=POWER_TEXT[view.power],
        Status=OK,
        Links={
            "ComputerSystems": [link(HGX)],
            "ContainedBy": link(HGX_CHASSIS),
            "ManagedBy": [link(HGX_BMC)],
        }
        | inside,
        **({"PartNumber": gpu.part_number, "UUID": gpu.uuid} if gpu else {}),
        **children(path, "PCIeDevices", "Sensors", "ThermalSubsystem", *(("LogServices",) if gpu else ())),
    )


def _modules(view: View) -> list[str]:
    return [gpu.name for gpu in view.parts.gpus] + [switch.name for switch in view.parts.nvswitches]


# -- PCIe devices --------------------------------------------------------------------------------------------------------------


def _devices(view: View, chassis: str) -> list[Device]:
    """The devices in one chassis: NICs in the host's, the GPU or switch in its own module's."""
    if chassis == "Chassis_0":
        return [
            Device(
                key=nic.name,
                chassis=chassis,
                manufacturer="NVIDIA" if nic.rdma else "Intel",
                model=nic.model,
                serial=nic.serial,
                part_number=nic.part_number,
                pcie=nic.pcie,
                vendor_id=hgx_shape.NIC_VENDOR if nic.rdma else hgx_shape.ONBOARD_VENDOR,
                device_id=hgx_shape.NIC_DEVICE if nic.rdma else hgx_shape.ONBOARD_DEVICE,
                device_class="NetworkController",
            )
            for nic in view.parts.nics
        ]
    name = chassis.removeprefix("HGX_")
    found = [
        Device(
            key=gpu.name,
            chassis=chassis,
            manufacturer="NVIDIA",
            model=gpu.model,
            serial=gpu.serial,
            part_number=gpu.part_number,
            pcie=gpu.pcie,
            vendor_id=hgx_shape.GPU_VENDOR,
            device_id=hgx_shape.gpu_device_id(gpu.model or ""),
            device_class="DisplayController",
        )
        for gpu in view.parts.gpus
        if gpu.name == name
    ]
    return found + [
        Device(
            key=switch.name,
            chassis=chassis,
            manufacturer="NVIDIA",
            model=switch.model,
            serial=switch.serial,
            part_number=None,
            pcie=PcieLink(generation=4, width=2, max_generation=4, max_width=2),
            vendor_id=hgx_shape.GPU_VENDOR,
            device_id=hgx_shape.SWITCH_DEVICE,
            device_class="Bridge",
        )
        for switch in view.parts.nvswitches
        if switch.name == name
    ]


def pcie_devices(view: View, chassis: str) -> Document | None:
    path = f"{ROOT}/Chassis/{chassis}/PCIeDevices"
    devices = _devices(view, chassis)
    return collection(path, "PCIeDevice", "PCIe Devices", [f"{path}/{device.key}" for device in devices]) if devices else None


def pcie_device(view: View, chassis: str, key: str) -> Document | None:
    device = _device(view, chassis, key)
    if device is None:
        return None
    path = f"{ROOT}/Chassis/{chassis}/PCIeDevices/{key}"
    return resource(
        path,
        "PCIeDevice",
        key,
        DeviceType="SingleFunction",
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial,
        PartNumber=device.part_number,
        PCIeInterface=pcie_interface(device.pcie),
        Status=PRESENT,
        Links={"Chassis": [link(f"{ROOT}/Chassis/{chassis}")]},
        **children(path, "PCIeFunctions"),
    )


def pcie_functions(view: View, chassis: str, key: str) -> Document | None:
    path = f"{ROOT}/Chassis/{chassis}/PCIeDevices/{key}/PCIeFunctions"
    return collection(path, "PCIeFunction", "PCIe Functions", [f"{path}/0"]) if _device(view, chassis, key) else None


def pcie_function(view: View, chassis: str, key: str) -> Document | None:
    device = _device(view, chassis, key)
    if device is None:
        return None
    path = f"{ROOT}/Chassis/{chassis}/PCIeDevices/{key}"
    return resource(
        f"{path}/PCIeFunctions/0",
        "PCIeFunction",
        f"{key} Function 0",
        FunctionId=0,
        FunctionType="Physical",
        DeviceClass=device.device_class,
        VendorId=f"0x{device.vendor_id}",
        DeviceId=f"0x{device.device_id}",
        Status=PRESENT,
        Links={"PCIeDevice": link(path)},
    )


def _device(view: View, chassis: str, key: str) -> Device | None:
    return next((device for device in _devices(view, chassis) if device.key == key), None)


_OWN: dict[str, Renderer] = {
    f"{ROOT}/Chassis": all_chassis,
    HOST_CHASSIS: host_chassis,
    HGX_CHASSIS: hgx_chassis,
    f"{ROOT}/Chassis/*": module_chassis,
    f"{ROOT}/Chassis/*/PCIeDevices": pcie_devices,
    f"{ROOT}/Chassis/*/PCIeDevices/*": pcie_device,
    f"{ROOT}/Chassis/*/PCIeDevices/*/PCIeFunctions": pcie_functions,
    f"{ROOT}/Chassis/*/PCIeDevices/*/PCIeFunctions/0": pcie_function,
}
ROUTES: dict[str, Renderer] = _OWN | environment.ROUTES

"""Sensors, fans, power supplies. Readings follow the power state and are otherwise steady: nothing random at run time."""

from metalwright.model.hardware import PowerState, Psu
from metalwright.simulator.parts import Fan
from metalwright.simulator.redfish.documents import (
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
)

Reading = tuple[str, str, str, float]
"""Sensor id, `ReadingType`, units, value."""


def _readings(view: View, chassis: str) -> list[Reading] | None:
    """The sensors of a chassis, or None when it has none."""
    is_on = view.power is PowerState.ON
    if chassis == "Chassis_0":
        cpus = [(f"TEMP_{cpu.socket}", "Temperature", "Cel", 48.0 if is_on else 24.0) for cpu in view.parts.cpus]
        dimms = [(f"TEMP_{dimm.slot}", "Temperature", "Cel", 39.0 if is_on else 24.0) for dimm in view.parts.dimms]
        fans = [(f"SPD_{fan.name}", "Percent", "%", float(fan.percent) if is_on else 0.0) for fan in view.parts.fans]
        psus = [(f"PWR_{psu.name}", "Power", "W", _psu_watts(view)) for psu in view.parts.psus]
        return [("TEMP_Inlet", "Temperature", "Cel", 23.0), ("PWR_Total", "Power", "W", _watts(view)), *cpus, *dimms, *fans, *psus]
    name = chassis.removeprefix("HGX_")
    if any(gpu.name == name for gpu in view.parts.gpus):
        watts = 71.0 if is_on else 0.0
        return [(f"TEMP_{name}", "Temperature", "Cel", 34.0 if is_on else 24.0), (f"PWR_{name}", "Power", "W", watts)]
    if any(switch.name == name for switch in view.parts.nvswitches):
        return [(f"TEMP_{name}", "Temperature", "Cel", 37.0 if is_on else 24.0)]
    return None


def _watts(view: View) -> float:
    """An idle server draws about a quarter of its maximum; switched off, the BMC and fans' standby draw 60 W."""
    return round(view.parts.profile.max_watts * 0.25) if view.power is PowerState.ON else 60.0


def _psu_watts(view: View) -> float:
    return round(_watts(view) / max(len(view.parts.psus), 1), 1)


def sensors(view: View, chassis: str) -> Document | None:
    readings = _readings(view, chassis)
    if readings is None:
        return None
    path = f"{ROOT}/Chassis/{chassis}/Sensors"
    return collection(path, "Sensor", "Sensors", [f"{path}/{reading[0]}" for reading in readings])


def sensor(view: View, chassis: str, key: str) -> Document | None:
    reading = next((each for each in _readings(view, chassis) or () if each[0] == key), None)
    if reading is None:
        return None
    name, kind, units, value = reading
    path = f"{ROOT}/Chassis/{chassis}/Sensors/{name}"
    return resource(path, "Sensor", name, ReadingType=kind, ReadingUnits=units, Reading=value, Status=PRESENT)


# -- thermal -------------------------------------------------------------------------------------------------------------------


def thermal(view: View, chassis: str) -> Document | None:
    if _readings(view, chassis) is None:
        return None
    path = f"{ROOT}/Chassis/{chassis}/ThermalSubsystem"
    names = ("Fans", "ThermalMetrics", "LeakDetection") if chassis == "Chassis_0" else ("ThermalMetrics",)
    return resource(path, "ThermalSubsystem", "Thermal Subsystem", Status=OK, **children(path, *names))


def thermal_metrics(view: View, chassis: str) -> Document | None:
    readings = _readings(view, chassis)
    if readings is None:
        return None
    temperatures = [
        {"DataSourceUri": f"{ROOT}/Chassis/{chassis}/Sensors/{name}", "DeviceName": name, "Reading": value}
        for name, kind, _, value in readings
        if kind == "Temperature"
    ]
    path = f"{ROOT}/Chassis/{chassis}/ThermalSubsystem/ThermalMetrics"
    return resource(path, "ThermalMetrics", "Thermal Metrics", TemperatureReadingsCelsius=temperatures)


def fans(view: View) -> Document:
    path = f"{HOST_CHASSIS}/ThermalSubsystem/Fans"
    return collection(path, "Fan", "Fans", [f"{path}/{fan.name}" for fan in view.parts.fans])


def fan(view: View, key: str) -> Document | None:
    found = next((each for each in view.parts.fans if each.name == key), None)
    return _fan(found, view) if found else None


def _fan(fan: Fan, view: View) -> Document:
    source = f"{HOST_CHASSIS}/Sensors/SPD_{fan.name}"
    percent = float(fan.percent) if view.power is PowerState.ON else 0.0
    path = f"{HOST_CHASSIS}/ThermalSubsystem/Fans/{fan.name}"
    return resource(path, "Fan", fan.name, SpeedPercent={"DataSourceUri": source, "Reading": percent}, Status=PRESENT)


def leak_detection(view: View) -> Document:
    path = f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection"
    return resource(path, "LeakDetection", "Leak Detection", Status=PRESENT, **children(path, "LeakDetectors"))


def leak_detectors(view: View) -> Document:
    path = f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection/LeakDetectors"
    return collection(path, "LeakDetector", "Leak Detectors", [f"{path}/Tray"])


def leak_detector(view: View) -> Document:
    path = f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection/LeakDetectors/Tray"
    return resource(path, "LeakDetector", "Tray Leak Detector", LeakDetectorType="Moisture", DetectorState=view.parts.leak, Status=PRESENT)


# -- power ---------------------------------------------------------------------------------------------------------------------


def power(view: View) -> Document:
    path = f"{HOST_CHASSIS}/PowerSubsystem"
    members = [link(f"{path}/PowerSupplies/{psu.name}") for psu in view.parts.psus]
    needed = max(len(view.parts.psus) - 2, 1)
    redundancy = {
        "RedundancyType": "NPlusM",
        "MaxSupportedInGroup": len(members),
        "MinNeededInGroup": needed,
        "RedundancyGroup": members,
        "Status": PRESENT,
    }
    return resource(
        path,
        "PowerSubsystem",
        "Power Subsystem",
        CapacityWatts=float(sum(psu.watts or 0 for psu in view.parts.psus)),
        PowerSupplyRedundancy=[redundancy],
        Status=OK,
        **children(path, "PowerSupplies"),
    )


def power_supplies(view: View) -> Document:
    path = f"{HOST_CHASSIS}/PowerSubsystem/PowerSupplies"
    return collection(path, "PowerSupply", "Power Supplies", [f"{path}/{psu.name}" for psu in view.parts.psus])


def power_supply(view: View, key: str) -> Document | None:
    found = next((each for each in view.parts.psus if each.name == key), None)
    return _psu(found) if found else None


def _psu(psu: Psu) -> Document:
    return resource(
        f"{HOST_CHASSIS}/PowerSubsystem/PowerSupplies/{psu.name}",
        "PowerSupply",
        psu.name,
        PowerSupplyType="AC",
        Manufacturer="Delta",
        Model="ECD16020137",
        PartNumber="ECD16020137",
        SerialNumber=psu.serial,
        PowerCapacityWatts=float(psu.watts or 0),
        LineInputStatus="Normal",
        Status={"Health": psu.health, "State": "Enabled"},
    )


ROUTES: dict[str, Renderer] = {
    f"{ROOT}/Chassis/*/Sensors": sensors,
    f"{ROOT}/Chassis/*/Sensors/*": sensor,
    f"{ROOT}/Chassis/*/ThermalSubsystem": thermal,
    f"{ROOT}/Chassis/*/ThermalSubsystem/ThermalMetrics": thermal_metrics,
    f"{HOST_CHASSIS}/ThermalSubsystem/Fans": fans,
    f"{HOST_CHASSIS}/ThermalSubsystem/Fans/*": fan,
    f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection": leak_detection,
    f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection/LeakDetectors": leak_detectors,
    f"{HOST_CHASSIS}/ThermalSubsystem/LeakDetection/LeakDetectors/Tray": leak_detector,
    f"{HOST_CHASSIS}/PowerSubsystem": power,
    f"{HOST_CHASSIS}/PowerSubsystem/PowerSupplies": power_supplies,
    f"{HOST_CHASSIS}/PowerSubsystem/PowerSupplies/*": power_supply,
}

"""What NVML says of every GPU → one JSON document: each fact with its value or NVML's own error code. Read by `readers/nvml.py`.

`python -m metalwright.agent.nvml` prints it. A GPU that is lost, a field that is refused, a library of another age: all are codes in
the document, none is an exception. Every number that is read is named here, with its scope; nothing is asked for that is not judged.
"""

import ctypes
import json
from collections.abc import Callable
from ctypes import byref, c_int, c_uint, c_ulonglong, create_string_buffer
from typing import Any

from metalwright.agent import nvml_abi as abi

LIBRARY = "libnvidia-ml.so.1"
MAX_DEVICES = 64
Answer = tuple[int, Any]
"""NVML's code, and the value where it is 0."""


def collect(library: str = LIBRARY) -> dict[str, Any]:
    """The document. `error` says why there is nothing else in it."""
    document: dict[str, Any] = {"format": 1, "driver": None, "cuda": None, "count": None, "error": "", "devices": []}
    try:
        nvml = Nvml(library)
    except OSError as error:
        return {"nvml": document | {"error": f"the library cannot be loaded: {error}"}}
    code = nvml.call("nvmlInit_v2")
    if code:
        return {"nvml": document | {"error": f"NVML does not start: code {code}"}}
    try:
        return {"nvml": document | _read(nvml)}
    finally:
        nvml.call("nvmlShutdown")


def main() -> int:
    """Print the document."""
    print(json.dumps(collect(), indent=1))
    return 0


class Nvml:
    """The library. A function that it lacks answers as NVML itself would: function not found."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def call(self, name: str, *arguments: Any) -> int:
        """NVML's return code."""
        function = getattr(self._library, name, None)
        return abi.FUNCTION_NOT_FOUND if function is None else int(function(*arguments))

    def number(self, name: str, *arguments: Any, kind: Any = c_uint) -> Answer:
        """A function whose last parameter is one number."""
        made = kind()
        code = self.call(name, *arguments, byref(made))
        return code, made.value

    def text(self, name: str, *arguments: Any) -> Answer:
        """A function that fills a buffer."""
        buffer = create_string_buffer(96)
        code = self.call(name, *arguments, buffer, c_uint(len(buffer)))
        return code, buffer.value.decode("utf-8", errors="replace")


def _read(nvml: Nvml) -> dict[str, Any]:
    (_, driver), (code, cuda) = nvml.text("nvmlSystemGetDriverVersion"), nvml.number("nvmlSystemGetCudaDriverVersion_v2", kind=c_int)
    count_code, count = nvml.number("nvmlDeviceGetCount_v2")
    if count_code:
        return {"driver": driver or None, "error": f"NVML counts no devices: code {count_code}"}
    return {
        "driver": driver or None,
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if code == abi.SUCCESS else None,
        "count": count,
        "devices": [_device(nvml, index) for index in range(min(count, MAX_DEVICES))],
    }


def _device(nvml: Nvml, index: int) -> dict[str, Any]:
    handle = ctypes.c_void_p()
    code = nvml.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
    values: dict[str, Any] = {}
    errors: dict[str, int] = {}
    if code == abi.SUCCESS:
        for names, ask in QUESTIONS:
            answered, found = ask(nvml, handle)
            for name, value in zip(names, found if isinstance(found, tuple) else (found,) * len(names), strict=True):
                if answered == abi.SUCCESS:
                    values[name] = value
                else:
                    errors[name] = answered
    return {"index": index, "code": code, "values": values, "errors": errors}


# -- questions: which facts, and how NVML is asked for them --------------------------------------------------------------------

Ask = Callable[[Nvml, Any], Answer]


def _text(name: str) -> Ask:
    return lambda nvml, handle: nvml.text(name, handle)


def _number(name: str, *arguments: Any, kind: Any = c_uint, scale: int = 1) -> Ask:
    def ask(nvml: Nvml, handle: Any) -> Answer:
        code, value = nvml.number(name, handle, *arguments, kind=kind)
        return code, value if scale == 1 else value / scale

    return ask


def _pair(name: str) -> Ask:
    def ask(nvml: Nvml, handle: Any) -> Answer:
        now, pending = c_uint(), c_uint()
        return nvml.call(name, handle, byref(now), byref(pending)), (now.value, pending.value)

    return ask


def _address(nvml: Nvml, handle: Any) -> Answer:
    made = abi.PciInfo()
    return nvml.call("nvmlDeviceGetPciInfo_v3", handle, byref(made)), made.bus_id.decode("ascii", errors="replace")


def _memory(nvml: Nvml, handle: Any) -> Answer:
    """Version 2 where the driver has it: the older total leaves out what the driver reserves."""
    newer = abi.MemoryV2()
    abi.versioned(newer, 2)
    code = nvml.call("nvmlDeviceGetMemoryInfo_v2", handle, byref(newer))
    if code not in (abi.FUNCTION_NOT_FOUND, abi.VERSION_MISMATCH):
        return code, newer.total // 2**20
    older = abi.Memory()
    return nvml.call("nvmlDeviceGetMemoryInfo", handle, byref(older)), older.total // 2**20


def _utilisation(nvml: Nvml, handle: Any) -> Answer:
    made = abi.Utilization()
    return nvml.call("nvmlDeviceGetUtilizationRates", handle, byref(made)), made.gpu


def _margin(nvml: Nvml, handle: Any) -> Answer:
    made = abi.Margin()
    abi.versioned(made, 1)
    return nvml.call("nvmlDeviceGetMarginTemperature", handle, byref(made)), made.degrees


def _reasons(nvml: Nvml, handle: Any) -> Answer:
    """Event reasons; drivers before 535 call them throttle reasons."""
    code, bits = nvml.number("nvmlDeviceGetCurrentClocksEventReasons", handle, kind=c_ulonglong)
    if code == abi.FUNCTION_NOT_FOUND:
        code, bits = nvml.number("nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=c_ulonglong)
    return code, tuple(bool(bits & mask) for mask in abi.REASONS.values())


def _rows(nvml: Nvml, handle: Any) -> Answer:
    found = tuple(c_uint() for _ in range(4))
    code = nvml.call("nvmlDeviceGetRemappedRows", handle, *(byref(each) for each in found))
    return code, tuple(each.value for each in found)


def _fabric(nvml: Nvml, handle: Any) -> Answer:
    newer = abi.FabricV2()
    abi.versioned(newer, 2)
    code = nvml.call("nvmlDeviceGetGpuFabricInfoV", handle, byref(newer))
    if code not in (abi.FUNCTION_NOT_FOUND, abi.VERSION_MISMATCH):
        return code, _fabric_words(newer)
    older = abi.FabricV1()
    return nvml.call("nvmlDeviceGetGpuFabricInfo", handle, byref(older)), _fabric_words(older)


def _fabric_words(made: "abi.FabricV2 | abi.FabricV1") -> tuple[str, str, str, str]:
    state = abi.FABRIC_STATES[made.state] if made.state < len(abi.FABRIC_STATES) else f"state {made.state}"
    status = "Success" if made.status == abi.SUCCESS else f"code {made.status}"
    return state, status, str(made.clique), bytes(made.cluster).hex()


def _recovery(nvml: Nvml, handle: Any) -> Answer:
    """A field with its scope; its own code counts, not only the call's."""
    asked = abi.FieldValue(field=abi.RECOVERY_ACTION, scope=abi.DEVICE_SCOPE)
    code = nvml.call("nvmlDeviceGetFieldValues", handle, c_int(1), byref(asked)) or asked.code
    number = asked.value.unsigned
    return code, abi.RECOVERY_ACTIONS[number] if number < len(abi.RECOVERY_ACTIONS) else f"action {number}"


def _errors(location: int, counter: int) -> Ask:
    return _number("nvmlDeviceGetMemoryErrorCounter", c_int(abi.UNCORRECTED), c_int(counter), c_int(location), kind=c_ulonglong)


QUESTIONS: tuple[tuple[tuple[str, ...], Ask], ...] = (
    (("model",), _text("nvmlDeviceGetName")),
    (("uuid",), _text("nvmlDeviceGetUUID")),
    (("serial",), _text("nvmlDeviceGetSerial")),
    (("vbios",), _text("nvmlDeviceGetVbiosVersion")),
    (("address",), _address),
    (("memory_mib",), _memory),
    (("persistence",), _number("nvmlDeviceGetPersistenceMode")),
    (("mig", "mig_pending"), _pair("nvmlDeviceGetMigMode")),
    (("ecc", "ecc_pending"), _pair("nvmlDeviceGetEccMode")),
    (("pcie_generation",), _number("nvmlDeviceGetCurrPcieLinkGeneration")),
    (("pcie_width",), _number("nvmlDeviceGetCurrPcieLinkWidth")),
    (("pcie_best_generation",), _number("nvmlDeviceGetMaxPcieLinkGeneration")),
    (("pcie_best_width",), _number("nvmlDeviceGetMaxPcieLinkWidth")),
    (("pcie_replays",), _number("nvmlDeviceGetPcieReplayCounter")),
    (("utilisation",), _utilisation),
    (tuple(abi.REASONS), _reasons),
    (("power_limit",), _number("nvmlDeviceGetEnforcedPowerLimit", scale=1000)),
    (("power_default",), _number("nvmlDeviceGetPowerManagementDefaultLimit", scale=1000)),
    (("power_draw",), _number("nvmlDeviceGetPowerUsage", scale=1000)),
    (("temperature",), _number("nvmlDeviceGetTemperature", c_int(abi.TEMPERATURE_GPU))),
    (("margin",), _margin),
    (("slowdown_temperature",), _number("nvmlDeviceGetTemperatureThreshold", c_int(abi.THRESHOLD_SLOWDOWN))),
    (("sm_clock",), _number("nvmlDeviceGetClockInfo", c_int(abi.CLOCK_SM))),
    (("sm_clock_best",), _number("nvmlDeviceGetMaxClockInfo", c_int(abi.CLOCK_SM))),
    (("dram_uncorrectable",), _errors(abi.DRAM, abi.VOLATILE)),
    (("sram_uncorrectable",), _errors(abi.SRAM, abi.VOLATILE)),
    (("dram_uncorrectable_ever",), _errors(abi.DRAM, abi.AGGREGATE)),
    (("sram_uncorrectable_ever",), _errors(abi.SRAM, abi.AGGREGATE)),
    (("rows_correctable", "rows_uncorrectable", "rows_pending", "rows_failure"), _rows),
    (("pages_pending",), _number("nvmlDeviceGetRetiredPagesPendingStatus")),
    (("fabric_state", "fabric_status", "fabric_clique", "fabric_cluster"), _fabric),
    (("recovery_action",), _recovery),
)

if __name__ == "__main__":
    raise SystemExit(main())

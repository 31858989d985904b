"""The agent's NVML document → `GpuReport`: the same facts that nvidia-smi prints, from the library behind it."""

from typing import Any

from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.readers.json_text import document, listing, mapping, text_of
from metalwright.readers.words import Parsed, identifier, word

FORMAT = "NVML"
LOST, NOT_SUPPORTED, FUNCTION_NOT_FOUND = 15, 3, 13
CODES = {
    1: "uninitialized",
    2: "invalid argument",
    3: "not supported",
    4: "no permission",
    6: "not found",
    9: "driver not loaded",
    13: "the library lacks the function",
    15: "the GPU is lost",
    16: "the GPU needs a reset",
    17: "the operating system refuses",
    18: "library and driver differ in version",
    25: "the structure's version is unknown to the driver",
    26: "deprecated",
    27: "not ready",
    999: "unknown error",
}
FLAGS = frozenset(
    ("persistence", "mig", "mig_pending", "ecc", "ecc_pending", "rows_pending", "rows_failure", "pages_pending", "is_idle", "hw_slowdown")
) | frozenset(("hw_thermal", "hw_power_brake", "sw_thermal"))
NUMBERS = frozenset(
    ("memory_mib", "pcie_generation", "pcie_width", "pcie_best_generation", "pcie_best_width", "pcie_replays", "utilisation", "temperature")
) | frozenset(("margin", "slowdown_temperature", "sm_clock", "sm_clock_best", "rows_correctable", "rows_uncorrectable"))
COUNTS = frozenset(("dram_uncorrectable", "sram_uncorrectable", "dram_uncorrectable_ever", "sram_uncorrectable_ever"))
WATTS = frozenset(("power_limit", "power_default", "power_draw"))
IDENTIFIERS = frozenset(("uuid", "serial"))
WORDS = frozenset(("model", "vbios", "address", "fabric_state", "fabric_status", "fabric_clique", "fabric_cluster", "recovery_action"))
FACTS = FLAGS | NUMBERS | COUNTS | WATTS | IDENTIFIERS | WORDS


def looks_like(text: str) -> bool:
    return '"nvml"' in text[:200] and '"devices"' in text


def read(text: str) -> GpuReport | Unreadable:
    """A fact that no GPU's library knows is not in this document; one that is refused is unread."""
    root = mapping(mapping(document(text)).get("nvml"))
    if root.get("format") != 1:
        return Unreadable(reason="the document is broken, cut off or of a format that is not known")
    devices = [mapping(device) for device in listing(root.get("devices"))]
    error = text_of(root.get("error"))
    count = root.get("count") if isinstance(root.get("count"), int) else None
    offers = frozenset(fact for fact in FACTS if any(_is_offered(device, fact) for device in devices))
    states = tuple(_state(place, device, offers) for place, device in enumerate(devices))
    gaps = [Gap(what="gpus", why=error)] if error else []
    if count is not None and count != len(devices):
        gaps.append(Gap(what="gpus", why=f"NVML counts {count} GPUs and describes {len(devices)}"))
    if not devices and not error:
        gaps.append(Gap(what="gpus", why="NVML describes no GPU"))
    return GpuReport(
        driver=word(text_of(root.get("driver"))),
        api=word(text_of(root.get("cuda"))),
        attached=count,
        gpus=states,
        lost=(error,) if error else (),
        offers=offers,
        gaps=tuple(gaps),
    )


def _is_offered(device: dict[str, Any], fact: str) -> bool:
    """The library has the question, whatever it answered."""
    return fact in mapping(device.get("values")) or mapping(device.get("errors")).get(fact, FUNCTION_NOT_FOUND) != FUNCTION_NOT_FOUND


def _state(place: int, device: dict[str, Any], offers: frozenset[str]) -> GpuState:
    values, errors, code = mapping(device.get("values")), mapping(device.get("errors")), device.get("code")
    parsed = {fact: _parsed(fact, values.get(fact)) for fact in FACTS}
    unread = [(fact, _why(fact, values, errors, code)) for fact in sorted(FACTS) if parsed[fact] is None and (fact in offers or code != 0)]
    is_lost = code == LOST or LOST in errors.values()
    return GpuState(index=place, is_lost=is_lost, unread=tuple(unread), **parsed)  # type: ignore[arg-type]  # parsed to these types


def _parsed(fact: str, value: Any) -> Parsed:
    if fact in FLAGS:
        return bool(value) if value in (0, 1) and not isinstance(value, str | float) else None
    if fact in NUMBERS or fact in COUNTS:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number and (value >= 0 or fact == "margin") else None
    if fact in WATTS:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
    text = value if isinstance(value, str) else ""
    return identifier(text) if fact in IDENTIFIERS else word(text)


def _why(fact: str, values: dict[str, Any], errors: dict[str, Any], code: Any) -> str:
    if code != 0:
        return f"NVML gives no handle: {_said(code)}"
    if fact in errors:
        return f"NVML says: {_said(errors[fact])}"
    return f"NVML says {text_of(values.get(fact))[:60]!r}" if fact in values else "missing from the document"


def _said(code: Any) -> str:
    return CODES.get(code, f"code {text_of(code)}") if isinstance(code, int) else "no code"

"""`nvme smart-log` (text and JSON) and `smartctl -a` (text and JSON) of an NVMe drive → `DriveHealth`."""

import re
from typing import Any

from metalwright.model.host_parts import DriveHealth
from metalwright.model.reading import Unreadable
from metalwright.readers.json_text import document, mapping, text_of
from metalwright.readers.words import key, natural

FORMAT = "nvme smart-log"
NAMES = {
    "critical_warning": ("critical_warning",),
    "media_errors": ("media_errors", "media_and_data_integrity_errors"),
    "used": ("percentage_used", "percent_used"),
    "spare": ("available_spare", "avail_spare"),
    "spare_threshold": ("available_spare_threshold", "spare_thresh"),
    "temperature": ("temperature", "composite_temperature"),
}
KELVIN = 200
"""nvme-cli's JSON gives kelvins: no drive lives above 200 °C."""
LINE = re.compile(r"^\s*([A-Za-z][A-Za-z ()_]{2,50}?)\s*:\s*(\S.{0,60}?)\s*$", re.M)


def looks_like(text: str) -> bool:
    head = text[:100_000].lower()
    return ("critical_warning" in head or "critical warning" in head) and ("percent" in head or "spare" in head)


def read(text: str) -> DriveHealth | Unreadable:
    """What is missing or no number stays None: the drive is then not judged healthy."""
    whole = mapping(document(text)) if "{" in text else {}
    log = mapping(whole.get("nvme_smart_health_information_log")) or whole
    texts = {key(name): _number(value) for name, value in log.items()} if log else _lines(text)
    values = {fact: next((texts[name] for name in names if name in texts), None) for fact, names in NAMES.items()}
    if all(value is None for value in values.values()):
        return Unreadable(reason="no value of the SMART log can be read")
    kelvin = values["temperature"]
    if kelvin is not None and kelvin > KELVIN:
        values["temperature"] = kelvin - 273
    return DriveHealth(offers=frozenset(("smart",)), gaps=(), **values)


def _lines(text: str) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for match in LINE.finditer(text):
        found.setdefault(key(match.group(1)), _number(match.group(2)))
    return found


def _number(value: Any) -> int | None:
    """`0x04`, `3%`, `1,234`, `38 °C (311 K)`, or a number of JSON; nvme-cli's newer JSON has the warning's bits as an object."""
    if isinstance(value, dict):
        return _number(value.get("value"))
    text = text_of(value).strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text):
        return int(text, 16)
    match = re.match(r"\d[\d,]{0,15}", text)
    return natural(match.group().replace(",", "")) if match else None

"""Serials that are none: what firmware says when nobody filled the field in."""

PLACEHOLDERS = frozenset(
    (
        "",
        "n/a",
        "na",
        "none",
        "null",
        "unknown",
        "default string",
        "to be filled by o.e.m.",
        "to be filled by o.e.m",
        "not specified",
        "not available",
        "not present",
        "system serial number",
        "chassis serial number",
        "base board serial number",
        "serial number",
        "empty",
        "oem",
        "invalid",
        "0",
        "123456789",
        "0123456789",
        "1234567890",
    )
)
"""Seen on real boards; compared without case, quotes and outer blanks."""


def real(text: str | None) -> str | None:
    """The text without outer blanks; None for a placeholder or a run of one character."""
    cleaned = (text or "").replace("\0", "").strip().strip('"').strip()
    lowered = cleaned.lower()
    if lowered in PLACEHOLDERS or (len(set(lowered)) == 1 and lowered[0] in "0x-.f ?"):
        return None
    return cleaned[:256]

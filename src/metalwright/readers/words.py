"""Values as tools print them: numbers with a unit, yes and no in many spellings, and the many words for "I cannot say"."""

import re
from collections.abc import Callable

MAX_BYTES = 64 * 1024 * 1024
"""Larger texts are not read: the longest real output, of a node of 16 GPUs, is under 2 MB; kernel logs of a year stay below this."""

YES = frozenset(("yes", "1", "true", "enabled", "active", "on"))
NO = frozenset(("no", "0", "false", "disabled", "not active", "off", "inactive"))
NOTHING = (
    "n/a",
    "not supported",
    "not available",
    "unknown",
    "err!",
    "error",
    "insufficient permissions",
    "no permission",
    "requested functionality has been deprecated",
    "not found",
    "gpu is lost",
    "gpu requires reset",
    "none said",
)
"""Words in the place of a value; some tools put them in brackets."""

Parsed = str | int | float | bool | None


def is_nothing(text: str) -> bool:
    """Whether the text stands for "no value"."""
    lowered = text.strip().strip("[]").strip().lower()
    return not lowered or lowered in NOTHING or "unknown error" in lowered or "is lost" in lowered


def word(text: str) -> str | None:
    """A bounded, printable word."""
    cleaned = text.strip()[:256]
    return cleaned if cleaned and cleaned.isprintable() else None


def identifier(text: str) -> str | None:
    """A serial or UUID; all zeros identify nothing: masked, or never written."""
    found = word(text)
    return found if found is not None and set(re.sub(r"[^0-9A-Za-z]|GPU", "", found)) - {"0"} else None


def flag(text: str) -> bool | None:
    """Yes or no; None for anything else."""
    lowered = text.strip().lower()
    return True if lowered in YES else False if lowered in NO else None


def natural(text: str) -> int | None:
    """`81559 MiB`, `16x`, `0 %`, `120 MHz`, `3840 bank(s)`: a whole number from 0 on."""
    match = re.fullmatch(r"(\d{1,15})(?:\.0+)?\s*(?:x|%|[A-Za-z/()]{1,12})?", text.strip())
    return int(match.group(1)) if match else None


def integer(text: str) -> int | None:
    """`-8 C`: a whole number."""
    match = re.fullmatch(r"(-?\d{1,9})(?:\.0+)?\s*(?:°?[A-Za-z]{1,6})?", text.strip())
    return int(match.group(1)) if match else None


def decimal(text: str) -> float | None:
    """`700.00 W`: a number from 0 on."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*(?:[A-Za-z/]{1,8})?", text.strip())
    return float(match.group(1)) if match else None


def key(text: str) -> str:
    """A label as a name: `GPU T.Limit Temp` → `gpu_t_limit_temp`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


Parser = Callable[[str], Parsed]


def decoded(raw: bytes) -> str:
    """Text of any bytes: byte marks and wide encodings of Windows shells understood, terminal colours and NULs taken out."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16", errors="replace")
    else:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    return re.sub(r"\x1b\[[0-9;]{0,16}[A-Za-z]", "", text).replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")

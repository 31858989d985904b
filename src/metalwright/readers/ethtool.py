"""`ethtool DEVICE`, one or many → `PortReport`."""

import re

from metalwright.model.hardware import Gap
from metalwright.model.host_parts import PortReport, PortState
from metalwright.model.reading import Unreadable
from metalwright.readers.words import flag

FORMAT = "ethtool"
HEAD = re.compile(r"^Settings for (\S{1,32}):\s*$", re.M)
SPEED = re.compile(r"^\s*Speed: (\d{1,8})Mb/s", re.M)
DETECTED = re.compile(r"^\s*Link detected: (yes|no)", re.M)
ADVERTISED = re.compile(r"^\s*Advertised link modes:(.*(?:\n\s{10,}\S.*)*)", re.M)
MODE = re.compile(r"\b(\d{2,7})base")


def looks_like(text: str) -> bool:
    return HEAD.search(text) is not None


def read(text: str) -> PortReport | Unreadable:
    """A block that does not come to `Link detected` was cut off."""
    starts = list(HEAD.finditer(text))
    if not starts:
        return Unreadable(reason="no device is named")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    ports = tuple(_port(match.group(1), text[match.end() : end]) for match, end in zip(starts, ends, strict=True))
    gaps = tuple(Gap(what="ports", why=f"{port.name}: no line tells whether a link is detected") for port in ports if port.is_up is None)
    return PortReport(ports=ports, offers=frozenset(("ports",)), gaps=gaps[:20])


def _port(name: str, block: str) -> PortState:
    speed, detected, advertised = SPEED.search(block), DETECTED.search(block), ADVERTISED.search(block)
    modes = [int(mode) for mode in MODE.findall(advertised.group(1))] if advertised else []
    return PortState(
        name=name,
        is_up=flag(detected.group(1)) if detected else None,
        speed=int(speed.group(1)) if speed else None,
        best=max(modes, default=None),
    )

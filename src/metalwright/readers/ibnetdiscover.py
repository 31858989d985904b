"""`ibnetdiscover`, in blocks (its default) and flat (`-p`) → links as each end says them.

A switch names itself `MF0;leaf01:MQM9700/U1` or as its administrator wrote it; a host channel adapter `node01 mlx5_0` or `node01 HCA-1`.
Source: infiniband-diags (ibnetdiscover(8), ibdiag_common); lane rates: InfiniBand Trade Association, signalling rates as sold.
"""

import re

from metalwright.model.cabling import UNNAMED, End, LinkSight, SeenLink
from metalwright.model.reading import Unreadable
from metalwright.readers.words import decoded

FORMAT = "ibnetdiscover"
LANE_GBPS = {"SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0}
"""What one lane carries, in the names' own rounding: 4xNDR is a 400 Gb/s port."""

_OWNER = re.compile(r'^(Switch|Ca|Rt)\s+\d+\s+"([^"]+)"\s*#\s*"([^"]*)"')
_PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\](?:\([0-9a-f]+\))?\s*#\s*(.*)$')
_RATE = re.compile(r"(\d+)x\s?([A-Z]{3}\d*)")
_FLAT = re.compile(r"^(CA|SW|RT)\s+\d+\s+(\d+)\s+(0x[0-9a-f]+)\s+(\d+)x\s+(\S+)\s*(.*)$")
_FLAT_FAR = re.compile(r"^-\s+(?:CA|SW|RT)\s+\d+\s+(\d+)\s+(0x[0-9a-f]+)\s+\(\s*'([^']*)'\s*-\s*'([^']*)'\s*\)")
_MANAGED = re.compile(r"^(?:MF0|[^;]*);([^:;]+)(?::.*)?$")
_ADAPTER = re.compile(r"^(\S+)\s+(\S+)$")
_BLOCK_SHAPE = r'^(?:Switch|Ca)\s+\d+\s+"[SH]-'
_FLAT_SHAPE = r"^(?:CA|SW)\s+\d+\s+\d+\s+0x[0-9a-f]{16}\s+\d+x "
_INTERNAL = "Aggregation Node"
"""SHARP's end point inside a switch chip appears as an adapter: no cable leads to it."""
MAX_UNREAD = 20


def looks_like(text: str) -> bool:
    """One of its two shapes."""
    head = text[:20_000]
    return any(re.search(shape, head, re.M) for shape in (_BLOCK_SHAPE, _FLAT_SHAPE))


def read(raw: bytes) -> LinkSight | Unreadable:
    """Every link of a fabric; Unreadable for another text, or for a dump that shows one adapter and no switch."""
    text = decoded(raw)
    if not looks_like(text):
        return Unreadable(reason="not the output of ibnetdiscover")
    is_flat = re.search(r'^(?:Switch|Ca)\s+\d+\s+"', text, re.M) is None
    sight = _flat(text) if is_flat else _blocks(text)
    if not any(link.far for link in sight.links):
        return Unreadable(reason="no link in it: a dump of one adapter alone means that the subnet manager was not reached")
    return sight


def _blocks(text: str) -> LinkSight:
    names = {found[2]: (found[1], found[3], found[2][2:]) for line in text.splitlines() if (found := _OWNER.match(line))}
    links, unread, spoke, owner = [], [], set[str](), ""
    for line in text.splitlines():
        if found := _OWNER.match(line):
            owner = found[2]
            if _INTERNAL not in found[3]:
                spoke.add(_end(*names[owner], "1").device)
        elif line.startswith("["):
            port = _PORT.match(line)
            if port is None or not owner or port[2] not in names:
                unread.append(line[:200])
                continue
            if any(_INTERNAL in names[one][1] for one in (owner, port[2])):
                continue
            lanes, rate = _rate(port[4])
            near, far = _end(*names[owner], port[1]), _end(*names[port[2]], port[3])
            links.append(SeenLink(near=near, far=far, rate_gbps=rate, lanes=lanes))
    return LinkSight(format=FORMAT, links=tuple(links), spoke=frozenset(spoke), unread=tuple(unread[:MAX_UNREAD]))


def _flat(text: str) -> LinkSight:
    links, unread, spoke = [], [], set[str]()
    for line in text.splitlines():
        found = _FLAT.match(line)
        if found is None:
            if line[:2] in ("CA", "SW", "RT"):
                unread.append(line[:200])
            continue
        kind, port, lanes, speed, rest = found[1], found[2], int(found[4]), found[5], found[6]
        far = _FLAT_FAR.match(rest)
        if far is None or _INTERNAL in rest:
            continue  # a port that is not connected, or nobody answers at its far end
        near = _end(kind, far[3], found[3][2:], port)
        other = "CA" if rest.startswith("- CA") else "SW"
        rate = LANE_GBPS[speed] * lanes if speed in LANE_GBPS else None
        spoke.add(near.device)
        links.append(SeenLink(near=near, far=_end(other, far[4], far[2][2:], far[1]), rate_gbps=rate, lanes=lanes))
    return LinkSight(format=f"{FORMAT} -p", links=tuple(links), spoke=frozenset(spoke), unread=tuple(unread[:MAX_UNREAD]))


def _end(kind: str, description: str, guid: str, port: str) -> End:
    """An adapter's port is named by the adapter, and by its number too from the second on. One that still has its factory's description
    (`MT4129 ConnectX7   Mellanox Technologies`, the same on each) is known by its GUID alone."""
    if kind in ("Ca", "CA"):
        adapter = _ADAPTER.match(description.strip())
        if adapter is not None:
            return End(device=adapter[1].lower(), port=adapter[2].lower() + ("" if port == "1" else f"/{port}"))
        return End(device=UNNAMED + guid, port=port)
    managed = _MANAGED.match(description)
    return End(device=(managed[1] if managed else description).strip().lower(), port=port)


def _rate(words: str) -> tuple[int | None, float | None]:
    """`… 4xNDR` → lanes and Gb/s."""
    found = _RATE.search(words)
    if found is None or found[2] not in LANE_GBPS:
        return (int(found[1]) if found else None), None
    return int(found[1]), int(found[1]) * LANE_GBPS[found[2]]

"""`nvidia-smi topo -m` → `TopologyMatrix`. Columns come and go with the driver and with RDMA devices: the header says what they are."""

import re

from metalwright.model.hardware import Gap
from metalwright.model.link_reports import TopologyMatrix
from metalwright.model.reading import Unreadable

FORMAT = "nvidia-smi topo -m"
DEVICE = re.compile(r"(?:GPU\d{1,4}|NIC\d{1,4}|mlx\d_(?:bond_)?\d{1,3}|bnxt_re\d{1,3})$")
SYMBOL = re.compile(r"(?:X|SYS|NODE|PHB|PXB|PIX|NV\d{1,2}|C2C)$")
HEADER = re.compile(r"^\s*GPU0\b.*$", re.M)
LEGEND = re.compile(r"^\s*(NIC\d{1,4}):\s+(\S{1,64})\s*$", re.M)
ROW = re.compile(r"^GPU0\s+X\s", re.M)


def looks_like(text: str) -> bool:
    return HEADER.search(text) is not None and ROW.search(text) is not None


def read(text: str) -> TopologyMatrix | Unreadable:
    """Cells are parted by tabs; where a terminal turned them into blanks, by two and more of these."""
    header = HEADER.search(text)
    if header is None:
        return Unreadable(reason="there is no header")
    columns = _cells(header.group(), is_header=True)
    devices = [name for name in columns if DEVICE.match(name)]
    rows = _rows(text[header.end() :])
    paths, wrong = _paths(devices, rows)
    missing = [name for name in devices if name not in rows]
    gaps = [Gap(what="topology", why=f"no row for {name}") for name in missing[:8]]
    gaps += [Gap(what="topology", why=f"{words} is not understood") for words in wrong[:8]]
    return TopologyMatrix(
        gpus=tuple(name for name in devices if name.startswith("GPU")),
        nics=tuple(name for name in devices if not name.startswith("GPU")),
        paths=paths,
        nic_names={match.group(1): match.group(2) for match in LEGEND.finditer(text)},
        numa=_numa(columns, devices, rows),
        offers=frozenset(("paths", "nics") if len(devices) > sum(name.startswith("GPU") for name in devices) else ("paths",)),
        gaps=tuple(gaps),
    )


def _rows(text: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, *cells = _cells(line)
        if DEVICE.match(name):
            rows.setdefault(name, cells)
        elif name.startswith("Legend"):
            break
    return rows


def _paths(devices: list[str], rows: dict[str, list[str]]) -> tuple[dict[tuple[str, str], str], list[str]]:
    paths, wrong = {}, []
    for name, cells in rows.items():
        for other, symbol in zip(devices, cells, strict=False):
            if not SYMBOL.match(symbol):
                wrong.append(f"{name} to {other}: {symbol[:20]!r}")
            elif symbol != "X":
                paths[name, other] = symbol
        if len(cells) < len(devices):
            wrong.append(f"{name}: a row of {len(cells)} cells")
    return paths, wrong


def _numa(columns: list[str], devices: list[str], rows: dict[str, list[str]]) -> dict[str, str]:
    """Cells behind the device columns, by the header's place of NUMA Affinity."""
    if "NUMA Affinity" not in columns:
        return {}
    place = columns.index("NUMA Affinity")
    affinity = {name: cells[place] for name, cells in rows.items() if len(cells) > place and name in devices}
    return {name: text for name, text in affinity.items() if re.fullmatch(r"[0-9,-]{1,40}", text)}


def _cells(line: str, is_header: bool = False) -> list[str]:
    """A row's first cell is its device; a header has none there."""
    cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else re.split(r"\s{2,}|(?<=\S) (?=\S{1,5}\s{2})", line.strip()))]
    return [cell for cell in cells if cell] if is_header else (cells or [""])

"""Paths and texts of one GPU → `GpuState`. What is there and cannot be read, or should be there and is not, is told in `unread`."""

import re
from collections.abc import Iterable, Mapping, Sequence

from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.hardware import Gap
from metalwright.readers.nvidia_smi.aliases import OPTIONAL, PARTS, SOURCES, Source
from metalwright.readers.words import Parsed, is_nothing, natural

MAX_GPUS = 1024
LOST = re.compile(r"^.{0,80}?(?:unable to determine the device handle for gpu|gpu is lost|has fallen off the bus).{0,200}$", re.I | re.M)
"""What nvidia-smi says of a GPU that it cannot reach, before, after or instead of its output."""

Texts = Mapping[str, str]
Read = tuple[Parsed, str]
"""A value, or None and why."""


def report(
    gpus: Sequence[Texts],
    *,
    driver: str | None,
    api: str | None = None,
    attached: int | None = None,
    around: str = "",
    columns: frozenset[str] | None = None,
    gaps: tuple[Gap, ...] = (),
) -> GpuReport:
    """`columns`: the facts that a query asked for; None for a full output, which holds every fact its driver knows."""
    offers = _offers(gpus, driver) if columns is None else columns
    states = tuple(_state(index, texts, offers) for index, texts in enumerate(gpus[:MAX_GPUS]))
    if attached is not None and attached != len(gpus):
        gaps = (*gaps, Gap(what="gpus", why=f"the driver counts {attached} GPUs and the output describes {len(gpus)}"))
    if not gpus:
        gaps = (*gaps, Gap(what="gpus", why="the output describes no GPU"))
    lost = tuple(dict.fromkeys(match.group().strip()[:200] for match in LOST.finditer(around[:1_000_000])))[:64]
    return GpuReport(driver=driver, api=api, attached=attached, gpus=states, lost=lost, offers=offers, gaps=gaps)


def _offers(gpus: Sequence[Texts], driver: str | None) -> frozenset[str]:
    """What the driver's branch is known to say, and what any GPU says."""
    branch = natural((driver or "").partition(".")[0]) or 10_000  # an unknown driver is held to everything
    known = (name for name, source in SOURCES.items() if name not in OPTIONAL and branch >= source.since)
    said = (name for name in SOURCES if any(_where(name, texts) for texts in gpus))
    offered = {*known, *said}
    return frozenset(offered | {"repair_pending"} if "channel_repair" in offered else offered)


def _state(index: int, texts: Texts, offers: frozenset[str]) -> GpuState:
    read = {name: _read(name, texts) for name in SOURCES}
    values: dict[str, Parsed] = {name: value for name, (value, _) in read.items()}
    unread = [(name, why) for name, (value, why) in read.items() if value is None and name in offers]
    repairs = [values.pop(name) for name in ("channel_repair", "tpc_repair")]
    values["repair_pending"] = None if None in repairs else any(repairs)
    unread += [("repair_pending", why) for name, why in unread if name in ("channel_repair", "tpc_repair")][:1]
    is_lost = any("is lost" in text.lower() for text in texts.values())
    return GpuState(index=index, is_lost=is_lost, unread=tuple(unread), **values)  # type: ignore[arg-type]  # SOURCES parse to these types


def _read(name: str, texts: Texts) -> Read:
    direct = _read_first(SOURCES[name], texts)
    if direct[0] is not None or name not in PARTS:
        return direct
    parts = [_read_first(Source(parse=natural, paths=paths), texts) for paths in PARTS[name]]
    numbers = [value for value, _ in parts if isinstance(value, int)]
    if len(numbers) == len(parts):
        return sum(numbers), ""
    return None, next((why for value, why in parts if value is None and why != MISSING), direct[1])


MISSING = "missing from the output"


def _read_first(source: Source, texts: Texts) -> Read:
    """The first path that gives a value; else why the first path that is there gives none."""
    whys: list[str] = []
    for path in source.paths:
        text = _text(path, texts)
        if text is None:
            continue
        value = None if is_nothing(text) else source.parse(text)
        if value is not None:
            return value, ""
        whys.append(f"the tool says {text.strip()[:60] or 'nothing'!r}")
    return None, whys[0] if whys else MISSING


def _text(path: str, texts: Texts) -> str | None:
    """The text at a path, or the word that a whole group has in its place (`remapped_rows: N/A`)."""
    if path in texts:
        return texts[path]
    parents = path.split("/")[:-1]
    above = ("/".join(parents[:depth]) for depth in range(len(parents), 0, -1))
    return next((texts[group] for group in above if group in texts and texts[group] and is_nothing(texts[group])), None)


def _where(name: str, texts: Texts) -> bool:
    paths: Iterable[str] = (*SOURCES[name].paths, *(path for part in PARTS.get(name, ()) for path in part))
    return any(path in texts for path in paths)

"""Paths and texts of one GPU → `GpuState`. What is there and cannot be read, or should be there and is not, is told in `unread`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.hardware import Gap
from metalwright.readers.words import Parsed, Parser, is_nothing, natural

MAX_GPUS = 1024
LOST = re.compile(r"^.{0,80}?(?:unable to determine the device handle for gpu|gpu is lost|has fallen off the bus).{0,200}$", re.I | re.M)
"""What nvidia-smi says of a GPU that it cannot reach, before, after or instead of its output."""

Texts = Mapping[str, str]
Read = tuple[Parsed, str]
"""A value, or None and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """How one fact is read. `paths` are tried in order; `since` is the first driver branch whose full output holds it."""

    parse: Parser
    paths: tuple[str, ...]
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where one tool says each fact."""

    facts: Mapping[str, Source]
    parts: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    """Facts that are told in parts: the sum counts, or any of them, when every part is there."""
    optional: frozenset[str] = frozenset()
    """Not every model or driver says these: a missing one is not missed."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.facts, *self.parts))

    def all_of(self, name: str) -> tuple[Source, ...]:
        """Every source of a fact."""
        whole = self.facts.get(name)
        return (*((whole,) if whole is not None else ()), *self.parts.get(name, ()))


def report(
    gpus: Sequence[Texts],
    sources: Sources,
    *,
    driver: str | None,
    offers: frozenset[str],
    api: str | None = None,
    attached: int | None = None,
    around: str = "",
    gaps: tuple[Gap, ...] = (),
) -> GpuReport:
    """`offers`: the facts that this output should hold."""
    states = tuple(_state(index, texts, sources, offers) for index, texts in enumerate(gpus[:MAX_GPUS]))
    if attached is not None and attached != len(gpus):
        gaps = (*gaps, Gap(what="gpus", why=f"the driver counts {attached} GPUs and the output describes {len(gpus)}"))
    if not gpus:
        gaps = (*gaps, Gap(what="gpus", why="the output describes no GPU"))
    lost = tuple(dict.fromkeys(match.group().strip()[:200] for match in LOST.finditer(around[:1_000_000])))[:64]
    return GpuReport(driver=driver, api=api, attached=attached, gpus=states, lost=lost, offers=offers, gaps=gaps)


def known_to(driver: str | None, sources: Sources) -> frozenset[str]:
    """What a full output of that driver's branch holds; an unknown driver is held to everything."""
    branch = natural((driver or "").partition(".")[0]) or 10_000
    wanted = sources.names - sources.optional
    return frozenset(name for name in wanted if any(branch >= source.since for source in sources.all_of(name)))


def said_by(gpus: Sequence[Texts], sources: Sources) -> frozenset[str]:
    """What any GPU of the output says."""
    return frozenset(name for name in sources.names if any(_is_there(source, texts) for source in sources.all_of(name) for texts in gpus))


def _state(index: int, texts: Texts, sources: Sources, offers: frozenset[str]) -> GpuState:
    read = {name: _read(name, texts, sources) for name in sorted(sources.names)}
    values = {name: value for name, (value, _) in read.items()}
    unread = tuple((name, why) for name, (value, why) in read.items() if value is None and name in offers)
    is_lost = any("is lost" in text.lower() for text in texts.values())
    return GpuState(index=index, is_lost=is_lost, unread=unread, **values)  # type: ignore[arg-type]  # the sources parse to these types


def _read(name: str, texts: Texts, sources: Sources) -> Read:
    whole = sources.facts.get(name)
    direct = _read_first(whole, texts) if whole is not None else (None, MISSING)
    if direct[0] is not None or name not in sources.parts:
        return direct
    parts = [_read_first(source, texts) for source in sources.parts[name]]
    values = [value for value, _ in parts if isinstance(value, int)]
    if len(values) == len(parts):
        return (any(values) if all(isinstance(value, bool) for value in values) else sum(values)), ""
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


def _is_there(source: Source, texts: Texts) -> bool:
    paths: Iterable[str] = source.paths
    return any(path in texts for path in paths)

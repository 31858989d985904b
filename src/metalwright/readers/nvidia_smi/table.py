"""Plain `nvidia-smi` → `GpuReport`: what the boxed table shows, three cells and two or three lines a GPU."""

import re

from metalwright.model.gpu_state import GpuReport, GpuState
from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.readers.gpu_facts import LOST
from metalwright.readers.words import Parsed, decimal, flag, integer, is_nothing, natural, word

FORMAT = "nvidia-smi"
HEAD = re.compile(r"^\| NVIDIA-SMI (\S{3,20}) .*?Driver Version: (\S{3,20})\s+CUDA Version: (\S{1,10})", re.M)
FIRST = re.compile(r"^(\d{1,4})\s+(\S.{0,60}?)\s+(On|Off|N/A)$")
BUS = re.compile(r"^([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s+(?:On|Off|N/A)$")
SECOND = re.compile(r"^(\S{1,6})\s+(\S{1,6})\s+(\S{1,8})\s+(\S{1,10}|Unknown Error)\s*/\s*(\S{1,10}|Unknown Error)$")
MEMORY = re.compile(r"^(\S{1,14})\s*/\s*(\S{1,14})$")
OFFERS = frozenset(("address", "model", "persistence", "memory_mib", "utilisation", "temperature", "power_draw", "power_limit"))


def looks_like(text: str) -> bool:
    return HEAD.search(text) is not None


def read(text: str) -> GpuReport | Unreadable:
    """A row that breaks the box's shape is a gap."""
    head = HEAD.search(text)
    if head is None:
        return Unreadable(reason="there is no NVIDIA-SMI head")
    lines = [[cell.strip() for cell in line.strip("| \t").split("|")] for line in text[head.end() :].splitlines() if line.startswith("|")]
    states: list[GpuState] = []
    gaps: list[Gap] = []
    for first, second, third in zip(lines, lines[1:], [*lines[2:], [""]], strict=False):
        if len(first) > 1 and (start := FIRST.match(first[0])):
            state = _state(len(states), start, first, second, third)
            states.append(state)
            if len(second) < 3:
                gaps.append(Gap(what="gpus", why=f"the rows of {state.name} break off"))
    if not states:
        gaps.append(Gap(what="gpus", why="the table shows no GPU"))
    if "Processes" not in text:
        gaps.append(Gap(what="gpus", why="the table breaks off before its list of processes"))
    lost = tuple(dict.fromkeys(match.group().strip()[:200] for match in LOST.finditer(text[:1_000_000])))[:64]
    return GpuReport(driver=head.group(2), api=head.group(3), gpus=tuple(states), lost=lost, offers=OFFERS, gaps=tuple(gaps))


def _state(index: int, start: re.Match[str], first: list[str], second: list[str], third: list[str]) -> GpuState:
    bus = BUS.match(first[1])
    power = SECOND.match(second[0])
    memory = MEMORY.match(second[1]) if len(second) > 1 else None
    use = second[2].split() if len(second) > 2 else []
    errors = first[2] if len(first) > 2 else ""
    count = natural(errors)
    name = start.group(2)
    texts: dict[str, tuple[str, Parsed]] = {
        "address": (first[1], bus.group(1) if bus else None),
        "model": (name, None if name.endswith("...") else word(name)),
        "persistence": (start.group(3), flag(start.group(3))),
        "temperature": _parsed(integer, power, 2),
        "power_draw": _parsed(decimal, power, 4),
        "power_limit": _parsed(decimal, power, 5),
        "memory_mib": _parsed(natural, memory, 2),
        "utilisation": (" ".join(use), natural(use[0]) if use else None),
    }
    values = {fact: value for fact, (_, value) in texts.items()}
    unread = tuple((fact, f"the tool says {text[:40]!r}") for fact, (text, value) in texts.items() if value is None)
    # One number stands for all uncorrectable errors: zero says that both kinds are zero, more does not say which.
    both = {"dram_uncorrectable": count, "sram_uncorrectable": 0 if count == 0 else None}
    return GpuState(
        index=index,
        ecc=True if count is not None else flag(errors),
        mig=flag(third[-1]) if third and third[-1] in ("Enabled", "Disabled") else None,
        is_lost=any("is lost" in cell.lower() for cell in (*first, *second)),
        unread=unread,
        **(values | both),  # type: ignore[arg-type]  # parsed to these types above
    )


def _parsed(parse: object, match: re.Match[str] | None, group: int) -> tuple[str, Parsed]:
    text = match.group(group) if match else ""
    return text, None if is_nothing(text) else parse(text)  # type: ignore[operator]

"""`nvidia-smi nvlink -s` and `nvlink -e` → `NvLinkReport`. NVLink 5 counts other things than NVLink 4: every counter keeps its name."""

import re

from metalwright.model.hardware import Gap, NvLink
from metalwright.model.link_reports import LinkedGpu, NvLinkReport
from metalwright.model.reading import Unreadable
from metalwright.readers.words import natural

FORMAT = "nvidia-smi nvlink"
GPU = re.compile(r"^GPU (\d{1,4}): (.{1,80}?)(?: \(UUID: (\S{1,80})\))?\s*$", re.M)
SPEED = re.compile(r"Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,4})?) GB/s|(<inactive>|inactive))\s*$", re.I)
COUNTER = re.compile(r"Link (\d{1,3}): ([A-Za-z][A-Za-z0-9 /_-]{2,60}): (\S.{0,60}?)\s*$")
ALL_INACTIVE = re.compile(r"all links are inactive", re.I)
LINE = re.compile(r"^\s+Link \d{1,3}: ", re.M)


def looks_like(text: str) -> bool:
    return GPU.search(text) is not None and (LINE.search(text) is not None or ALL_INACTIVE.search(text) is not None)


def read(text: str) -> NvLinkReport | Unreadable:
    """One block per GPU; lines that are neither a speed nor a counter are kept as unread."""
    starts = list(GPU.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    blocks = [text[match.end() : end] for match, end in zip(starts, ends, strict=True)]
    gpus = tuple(_gpu(match, block) for match, block in zip(starts, blocks, strict=True))
    offers = {"speed"} if any(gpu.links for gpu in gpus) else set()
    offers |= {"counters"} if any(gpu.counters for gpu in gpus) else set()
    if not offers:
        return Unreadable(reason="no line tells the state or the errors of a link")
    gaps = tuple(Gap(what="nvlinks", why=f"{gpu.name}: {gpu.unread[0]!r} is not understood") for gpu in gpus if gpu.unread)
    return NvLinkReport(gpus=gpus, offers=frozenset(offers), gaps=gaps)


def _gpu(match: re.Match[str], block: str) -> LinkedGpu:
    index = int(match.group(1))
    links: list[NvLink] = []
    counters: dict[tuple[int, str], int] = {}
    unread: list[str] = []
    for line in (line.strip() for line in block.splitlines() if line.strip()):
        if ALL_INACTIVE.search(line):
            links.append(NvLink(gpu=index, port=0, state="down"))
        elif speed := SPEED.match(line):
            rate = float(speed.group(2)) * 8 if speed.group(2) else None
            links.append(NvLink(gpu=index, port=int(speed.group(1)), state="up" if rate else "down", gbps=rate))
        elif counter := COUNTER.match(line):
            count = natural(counter.group(3))
            if count is not None:
                counters[int(counter.group(1)), counter.group(2)] = count
            elif _is_count(counter.group(2)):
                unread.append(line[:80])
        else:
            unread.append(line[:80])
    return LinkedGpu(
        index=index,
        model=match.group(2),
        uuid=match.group(3),
        links=tuple(links),
        counters=counters,
        unread=tuple(unread),
    )


def _is_count(name: str) -> bool:
    """Rates such as an error rate are no counts; a count that is not a number is unread."""
    return "BER" not in name

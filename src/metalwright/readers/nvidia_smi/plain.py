"""`nvidia-smi -q` → `GpuReport`: the indented text form of the same facts."""

import re
from collections.abc import Iterator

from metalwright.model.gpu_state import GpuReport
from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.readers.nvidia_smi.aliases import full_report
from metalwright.readers.words import key, natural, word

FORMAT = "nvidia-smi -q"
HEAD = re.compile(r"^=+NVSMI LOG=+$", re.M)
GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
SKIPPED = frozenset(("mig_device", "mig_devices", "processes", "supported_clocks"))
LAST = "clocks"
"""A group near the end of every GPU's description: without it the text was cut."""


def looks_like(text: str) -> bool:
    return HEAD.search(text) is not None


def read(text: str) -> GpuReport | Unreadable:
    """The head's lines, then one indented block per GPU."""
    match = HEAD.search(text)
    if match is None:
        return Unreadable(reason="there is no NVSMI LOG")
    another = HEAD.search(text, match.end())
    head, blocks = _split(text[match.end() : another.start() if another else None].splitlines())
    gpus = [{"pci/bus_id": address, **dict(_walk(lines))} for address, lines in blocks]
    cut = [gpu["pci/bus_id"] for gpu in gpus if not any(path.startswith(f"{LAST}/") for path in gpu)]
    gaps = tuple(Gap(what="gpus", why=f"the description of {address} breaks off") for address in cut)
    gaps += (Gap(what="gpus", why="a second output follows and was not read: judge it by itself"),) if another else ()
    return full_report(
        gpus,
        driver=word(head.get("driver_version", "")),
        api=word(head.get("cuda_version", "")),
        attached=natural(head.get("attached_gpus", "")),
        around=text,
        gaps=gaps,
    )


def _split(lines: list[str]) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    head: dict[str, str] = {}
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := GPU.match(line):
            blocks.append((match.group(1), []))
        elif blocks:
            blocks[-1][1].append(line)
        elif ":" in line:
            name, _, value = line.partition(":")
            head[key(name)] = value.strip()
    return head, blocks


def _walk(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Indentation is the path. A line with a value may have lines below it (`HW Slowdown`)."""
    stack: list[tuple[int, str]] = []
    seen: set[str] = set()
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            return  # the next command of a pasted session
        label, _, value = line.strip().partition(" : ")
        while stack and stack[-1][0] >= indent:
            stack.pop()
        stack.append((indent, key(label.rstrip(":"))))
        path = "/".join(name for _, name in stack)
        if path not in seen and not any(name in SKIPPED for _, name in stack):
            seen.add(path)
            yield path, value.strip()

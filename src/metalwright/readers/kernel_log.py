"""dmesg, journalctl -k and syslog → `KernelLog`: XIDs, SXids, AMD GPU faults, PCIe, memory and drive errors, once per boot and part."""

import re
from collections.abc import Iterator
from dataclasses import replace

from metalwright.model.hardware import Gap
from metalwright.model.kernel_log import KernelEvent, KernelLog, Trouble
from metalwright.model.reading import Unreadable

FORMAT = "kernel log"
MAX_LINE, MAX_EVENTS, MAX_GAPS = 1000, 20_000, 8
STAMP = re.compile(r"^(?:<\d{1,3}>)?\[\s*(\d{1,9})\.\d{6}\]")
KERNEL = re.compile(r"^(?:<\d{1,3}>)?(?:\[[^\]]{3,40}\] |\S.{8,80}? kernel(?:\[\d+\])?: )")
START = re.compile(r"Linux version \d|^(?:<\d{1,3}>)?\[\s*0\.0{6}\]")
"""Marks the beginning of a log that was not cut: the kernel's first lines."""
MARK = re.compile(r"-- (?:Boot [0-9a-f]{32}|Reboot) --")
ADDRESS = r"(?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.\d)?"
PLACE = re.compile(rf"\b{ADDRESS}", re.I)
XID = re.compile(rf"NVRM: (?:GPU at \S{{1,40}} )?Xid \({ADDRESS}\): (\d{{1,5}})(?:, | )(.*)", re.I)
SXID = re.compile(rf"(nvidia-nvswitch\d{{1,3}}): SXid \({ADDRESS}\): (\d{{1,6}}), (.*)", re.I)
ANY_XID = re.compile(r"\bS?Xid\b.{0,3}[(:]", re.I)
GPU_AT = re.compile(rf"NVRM: GPU at {ADDRESS}: (GPU-[0-9a-f-]{{36}})", re.I)
SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (\d{6,20})")

LINES: tuple[tuple[Trouble, str, re.Pattern[str]], ...] = (
    (Trouble.FALLEN_OFF, "NVRM: GPU ", re.compile(r"GPU has fallen off the bus", re.I)),
    (
        Trouble.AMD,
        "amdgpu ",
        re.compile(r"uncorrectable hardware error|RAS poison|GPU reset\b.{0,20}begin|device lost from bus", re.I),
    ),
    (Trouble.NOUVEAU, "nouveau ", re.compile(r"nouveau [0-9a-f]{4,8}:")),
    (Trouble.PCIE_FATAL, "PCIe Bus Error", re.compile(r"severity=Uncorrect(?:ed|able) \((?:Non-)?Fatal\)", re.I)),
    (Trouble.PCIE_CORRECTED, "PCIe Bus Error", re.compile(r"severity=Correct(?:ed|able)", re.I)),
    (Trouble.MEMORY_UNCORRECTED, "EDAC ", re.compile(r"(MC\d{1,3}): \d{1,6} UE ")),
    (Trouble.MEMORY_CORRECTED, "EDAC ", re.compile(r"(MC\d{1,3}): \d{1,6} CE ")),
    (Trouble.MACHINE_CHECK, "mce: ", re.compile(r"\[Hardware Error\]: (?:CPU|Machine check)", re.I)),
    (Trouble.DRIVE, "nvme ", re.compile(r"(nvme\d{1,3}): (?:controller is down|I/O .{0,60}timeout|Removing after probe failure)", re.I)),
)
"""Kind, a word without which no line is of it, and what else it says. The part is the group, else the PCI address of the line."""

WORDS = re.compile("|".join(("NVRM: ", "Xid", "nvswitch", "amdgpu", *(re.escape(word) for _, word, _ in LINES))))


def looks_like(text: str) -> bool:
    """The driver's own words, or a few lines that the kernel stamped."""
    head = text[:2_000_000]
    if "NVRM: " in head or ANY_XID.search(head):
        return True
    stamped = sum(KERNEL.match(line) is not None for line in head.splitlines()[:200])
    return stamped >= 3


def read(text: str) -> KernelLog | Unreadable:
    """Every line by itself; longer lines are cut. What looks like an XID and cannot be read is a gap."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), start=1):
        reader.take(number, line[:MAX_LINE])
    return reader.log()


class _Reader:
    """What was read so far; `seconds` is the kernel's clock of the last line that has one."""

    def __init__(self) -> None:
        self.lines = self.boot = 0
        self.seconds = -1
        self.is_fresh = True
        self.speakers: set[str] = set()
        self.events: dict[tuple[object, ...], KernelEvent] = {}
        self.gpus: dict[str, tuple[str, str]] = {}
        self.awaits_serial = ""
        self.gaps: list[Gap] = []

    def take(self, number: int, line: str) -> None:
        self.lines = number
        self._start(line)
        if WORDS.search(line) is None:
            return
        self._identity(line)
        if "NVRM: " in line or "nvidia-nvswitch" in line:
            self.speakers.add("nvidia")
        elif "amdgpu" in line:
            self.speakers.add("amdgpu")
        for event in _events(line, self.boot, number):
            key = (self.boot, event.kind, event.part, event.code, _sameness(event.text))
            known = self.events.get(key)
            if known is not None:
                event = replace(event, line=known.line, count=known.count + 1)  # noqa: PLW2901, RUF100
            if known is not None or len(self.events) < MAX_EVENTS:
                self.events[key] = event
        if ANY_XID.search(line) and not XID.search(line) and not SXID.search(line) and len(self.gaps) < MAX_GAPS:
            self.gaps.append(Gap(what="events", why=f"line {number} names an XID and is not understood: {line.strip()[-120:]}"))

    def log(self) -> KernelLog:
        if len(self.events) >= MAX_EVENTS:
            self.gaps.append(Gap(what="events", why=f"more than {MAX_EVENTS} different events"))
        return KernelLog(
            lines=self.lines,
            boots=self.boot + 1,
            events=tuple(sorted(self.events.values(), key=lambda event: event.line)),
            gpus=tuple((address, *identity) for address, identity in self.gpus.items()),
            offers=frozenset(self.speakers),
            gaps=tuple(self.gaps),
        )

    def _start(self, line: str) -> None:
        """A mark of the journal, the kernel's first words, or seconds that begin again: the machine was started anew."""
        stamp = STAMP.match(line)
        now = int(stamp.group(1)) if stamp else self.seconds
        is_first_word = START.search(line) is not None
        is_new = MARK.match(line) is not None or is_first_word or now + 60 < self.seconds
        if is_new and not self.is_fresh:
            self.boot += 1
            self.speakers.discard("start")
        if is_first_word:
            self.speakers.add("start")
        # Several lines say the same start: the journal's mark, the kernel's version, its first seconds.
        self.is_fresh = is_new or (self.is_fresh and stamp is not None and now == 0) or (self.is_fresh and not line.strip())
        self.seconds = now if stamp else (-1 if is_new else self.seconds)

    def _identity(self, line: str) -> None:
        """The serial comes in the line after the UUID."""
        if match := GPU_AT.search(line):
            self.awaits_serial = match.group(1).lower()
            self.gpus.setdefault(self.awaits_serial, (match.group(2), ""))
        elif self.awaits_serial and (match := SERIAL.search(line)):
            self.gpus[self.awaits_serial] = (self.gpus[self.awaits_serial][0], match.group(1))
            self.awaits_serial = ""


def _events(line: str, boot: int, number: int) -> Iterator[KernelEvent]:
    if match := XID.search(line):
        kind, part, code, words = Trouble.XID, match.group(1), int(match.group(2)), match.group(3)
    elif match := SXID.search(line):
        kind, part, code, words = Trouble.SXID, match.group(1), int(match.group(3)), match.group(4)
    else:
        hits = ((kind, hit) for kind, word, pattern in LINES if word in line and (hit := pattern.search(line)))
        kind, match = next(hits, (Trouble.XID, None))
        if match is None:
            return
        place = PLACE.search(line)
        part = match.group(1) if match.re.groups else place.group(1) if place else ""
        code, words = 0, line.partition("] ")[2] or line
    yield KernelEvent(kind=kind, boot=boot, part=part.lower(), code=code, text=words.strip()[:300], line=number)


def _sameness(words: str) -> str:
    """What makes two events one: their words without process, channel and data. A recovery action and a link keep theirs."""
    if "recovery action" in words or "Link " in words:
        return words
    place = re.search(r"GPC \d+.{0,3}TPC \d+", words)
    return place.group() if place else ""

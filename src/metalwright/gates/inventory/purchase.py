"""inventory.purchase: what was bought for this node is in it, serial by serial, and nothing else of the same kind."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from metalwright.gates.answers import failed, listed, number, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import in_band_if_seen, out_of_band_if_seen
from metalwright.gates.sights import agent, bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import HardwareFacts
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.placeholders import serial_of
from metalwright.model.spec import PurchaseLine


class _Part(Protocol):
    """Any part that may show a serial."""

    @property
    def serial(self) -> str | None: ...


PART_KINDS = ("gpu", "nvswitch", "nic", "drive", "cpu", "dimm", "psu")


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Missing, unreadable, unexpected."""
    lines = [line for line in case.parts if line.serial is not None]
    views = [facts for facts in (out_of_band_if_seen(case), in_band_if_seen(case)) if facts is not None]
    seen = {kind: tuple(text for facts in views for text in _serials_of(kind, facts)) for kind in (*PART_KINDS, "system")}
    known = {kind: frozenset(serial for text in texts if (serial := serial_of(text))) for kind, texts in seen.items()}
    expected = f"the {number(len(lines), 'serial')} of the purchase list for {case.node.serial}, and no other part of those kinds"
    missing = [line for line in lines if not _is_there(line, known)]
    gpus_gone = _fewer_gpus_than_bought(lines, views)
    hidden = [line for line in missing if _could_be_hidden(line, seen) and not (gpus_gone and line.kind == "gpu")]
    if len(views) < 2:
        missing = [line for line in missing if gpus_gone and line.kind == "gpu"]
    extra = _unexpected(lines, known, _plain_nics(*views)) if len(views) == 2 else []
    wrong = [f"line {line.line}: {line.kind or line.part} {line.serial} is not in the node" for line in missing if line not in hidden]
    wrong += [f"{kind} {serial} is in the node and not on the list" for kind, serial in extra]
    if wrong:
        do = "find the part (swapped between nodes, or another was delivered) and correct the list or the node"
        return failed(expected, listed(wrong, 6), do)
    if hidden:
        reason = f"no witness shows the serial of {listed(f'{line.kind or line.part} {line.serial}' for line in hidden)}"
        return undetermined(reason, "read the label in the hall, then waive with a reason", expected=expected)
    return passed(expected, f"{number(len(lines), 'serial')} seen")


def _is_there(line: PurchaseLine, known: Mapping[str, frozenset[str]]) -> bool:
    serial = serial_of(line.serial)
    kinds = (line.kind,) if line.kind in known else tuple(known)
    return any(serial in known[kind] for kind in kinds if kind is not None)


def _fewer_gpus_than_bought(lines: Sequence[PurchaseLine], views: Sequence[HardwareFacts]) -> bool:
    """A witness lists GPUs, and none lists as many as were bought: one is gone, whatever the others hide of their serials."""
    most = max((len(facts.gpus) for facts in views), default=0)
    return 0 < most < sum(line.kind == "gpu" for line in lines)


def _could_be_hidden(line: PurchaseLine, seen: Mapping[str, tuple[str | None, ...]]) -> bool:
    """Some part of that kind shows no serial, or no part of that kind is reported at all."""
    texts = seen.get(line.kind or "", ())
    is_silent_kind = line.kind in ("cpu", "dimm", "psu") or line.kind not in seen
    return (is_silent_kind and not texts) or any(serial_of(text) is None for text in texts)


def _unexpected(lines: list[PurchaseLine], known: Mapping[str, frozenset[str]], forgiven: frozenset[str]) -> list[tuple[str, str]]:
    """Parts of a kind that the list covers for this node and does not name."""
    listed_serials = {*(serial_of(line.serial) for line in lines), *forgiven}
    covered = {line.kind for line in lines if line.kind in PART_KINDS}
    return [(kind, serial) for kind in PART_KINDS if kind in covered for serial in sorted(known[kind] - listed_serials)]


def _plain_nics(*views: HardwareFacts) -> frozenset[str]:
    """Serials of NICs that no witness knows as compute NICs: onboard ones come with the board and are on no packing list."""
    nics = [(serial_of(nic.serial), nic.rdma) for facts in views for nic in facts.nics]
    compute = {serial for serial, rdma in nics if rdma}
    return frozenset(serial for serial, _ in nics if serial and serial not in compute)


def _serials_of(kind: str, facts: HardwareFacts) -> tuple[str | None, ...]:
    if kind == "system":
        return (facts.identity.system_serial,)
    parts: dict[str, Sequence[_Part]] = {
        "gpu": facts.gpus,
        "nvswitch": facts.nvswitches,
        "nic": facts.nics,
        "drive": facts.drives,
        "cpu": facts.cpus,
        "dimm": facts.dimms,
        "psu": facts.psus,
    }
    return tuple(part.serial for part in parts[kind])


def _why_not(case: NodeCase) -> str:
    return "" if case.spec.purchase else "the spec has no purchase list"


CHECK = Check(
    id=CheckId("inventory.purchase"),
    gate=Gate.INVENTORY,
    version=2,
    title="What was bought is there",
    rule="Every serial that the purchase list names for this node is seen in it, and no other part of a kind that the list covers.",
    source="the vendor's packing list (`purchase` of the spec)",
    sights=(
        bmc("gpus", "nvswitches", "nics", "drives"),
        agent("nics", "drives"),
    ),
    judge=judge,
    not_applicable=_why_not,
    fails_early=True,
)

"""The work order as a technician reads it: what, where, why, and how it will be checked. Pure; pages only render it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from metalwright.gates.plan.depth import depth_of
from metalwright.gates.proofs import prove
from metalwright.gates.serials import same_serial
from metalwright.model.case import NodeCase
from metalwright.model.ids import Instant
from metalwright.model.judgement import Gate
from metalwright.model.observation import HardwareSeen, Kind, Witness
from metalwright.model.spec import CableSpec, Depth
from metalwright.model.work import BootInstalled, BootRamDisk, Proven, Step, StepRun, StepState, WriteImage
from metalwright.planner import by_hand, step
from metalwright.planner.by_hand import Doer

BOOT_WORDS: Mapping[str, str] = {
    "uefi-http": "network boot over HTTP (UEFI HTTP Boot, IPv4)",
    "uefi-pxe": "network boot (UEFI PXE, IPv4)",
    "bios-pxe": "network boot (legacy PXE)",
}


class Turn(StrEnum):
    """Whose turn it is."""

    CONFIRM = "confirm"
    """A person lets metalwright begin."""
    DO = "do"
    """A person does it and says so."""
    SAY = "say"
    """It is seen done; who did it is not recorded yet."""
    PROOF = "proof"
    """Said to be done; the proof is awaited."""
    MEND = "mend"
    """A gate is red: a person mends, and a fresh look proves it."""


TURN_WORDS = {
    Turn.CONFIRM: "to be confirmed",
    Turn.DO: "to be done",
    Turn.SAY: "seen done, to be confirmed",
    Turn.PROOF: "done, proof awaited",
    Turn.MEND: "to be mended",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A server of the rack, at its lowest unit."""

    name: str
    unit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSheet:
    """One step of one work order, on one page. `step` counts from 1."""

    ticket: str
    """Number of the work order; `node/check` for a repair, which no work order of a machine is about."""
    site: str
    simulated: bool
    node: str
    rack: str
    unit: int
    rack_units: int
    neighbours: tuple[Neighbour, ...]
    serial: str
    facts: tuple[tuple[str, str], ...]
    """What tells this server from the next: label → value."""
    cables: tuple[CableSpec, ...]
    """The cables of this server in the plan, its own end first."""
    goal: str
    depth: Depth
    step: int
    steps: tuple[str, ...]
    attempt: int
    made_at: Instant
    turn: Turn
    title: str
    do: tuple[str, ...]
    caution: str
    why: tuple[str, ...]
    check: tuple[str, ...]
    command: str
    """How to say that it is done; empty while a proof is awaited."""
    by: str = ""
    """Who said that it is done."""

    @property
    def state(self) -> str:
        return TURN_WORDS[self.turn]


def sheet_of(case: NodeCase) -> WorkSheet | None:
    """The page of the head order's current step; None while no person has a part in it."""
    index, run = step.current(case)
    if case.order is None or not step.is_open(case):
        return None
    now = case.order.body.steps[index]
    turn = _turn(case, now, index, run)
    if turn is None:
        return None
    word = by_hand.word_of(case, run) if run is not None else None
    return WorkSheet(
        ticket=str(case.order.number),
        **place_of(case, case.order.body.goal, now),
        step=index + 1,
        steps=tuple(by_hand.TITLES[each.kind] for each in case.order.body.steps),
        attempt=_attempt(run, turn),
        made_at=case.order.made_at,
        turn=turn,
        title=by_hand.TITLES[now.kind],
        do=_do(case, now, by_hand.doer(case, now)),
        caution=_caution(case, now),
        why=_why(case, run),
        check=_check(case, now),
        command=""
        if turn is Turn.PROOF
        else f"metalwright work {'confirm' if turn is Turn.CONFIRM else 'done'} {case.order.number} --by NAME",
        by=word.by if word else "",
    )


def place_of(case: NodeCase, goal: Gate, now: Step | None) -> dict[str, Any]:
    """What every sheet about this node says."""
    rack = next((rack for rack in case.spec.racks if rack.name == case.node.rack), None)
    return {
        "site": case.spec.site.name,
        "simulated": case.spec.site.simulated,
        "node": case.node.name,
        "rack": case.node.rack,
        "unit": case.node.unit,
        "rack_units": rack.units if rack else case.node.unit,
        "neighbours": tuple(Neighbour(name=node.name, unit=node.unit) for node in case.spec.nodes if node.rack == case.node.rack),
        "serial": case.node.serial,
        "facts": _facts(case, now),
        "cables": cables_of(case),
        "goal": goal,
        "depth": depth_of(case.spec, goal),
    }


def _turn(case: NodeCase, now: Step, index: int, run: StepRun | None) -> Turn | None:
    if run is None or run.state is StepState.FAILED:
        return Turn.CONFIRM if by_hand.word_awaited(case, now, index) else None
    if not by_hand.is_by_hand(run):
        return None
    if by_hand.word_of(case, run) is not None:
        return Turn.PROOF
    return Turn.SAY if isinstance(prove(now, run, case), Proven) else Turn.DO


def _attempt(run: StepRun | None, turn: Turn) -> int:
    if run is None:
        return 1
    return run.attempt + 1 if turn is Turn.CONFIRM else run.attempt


# -- what --------------------------------------------------------------------------------------------------------------------


def _do(case: NodeCase, now: Step, who: Doer) -> tuple[str, ...]:
    node = case.node
    find = to_find(case)
    if isinstance(now, WriteImage):
        return (
            *find,
            f"Find {_drive(case, now)}. The serial on its label must be {now.disk_serial}.",
            f"Make sure that nothing on it is still needed: image {now.image} overwrites it from the first byte.",
            "Confirm. metalwright then writes the image; leave power and network cables alone until the next step.",
        )
    if who is not Doer.PERSON:
        return (*find, "Make sure that nobody works on it and that nothing on it is still in use.", _go(now))
    if isinstance(now, BootRamDisk):
        return (
            *find,
            f"See that the boot port (MAC {node.boot_mac}) is cabled and its link light is on.",
            "Switch the server on. If it is on already, restart it.",
            f"In the firmware's boot menu choose {BOOT_WORDS.get(now.boot_path, now.boot_path)}, for this start only.",
            "Wait until the console shows that the RAM disk has started. Leave the server on.",
        )
    return (
        *find,
        f"Restart the server and let it start from its own drive ({_serial_words(now)}). Choose nothing in the boot menu.",
        "Wait until the console shows the login prompt. Leave the server on.",
    )


def to_find(case: NodeCase) -> tuple[str, str]:
    """The first two lines of every sheet: nobody works on the neighbour."""
    node = case.node
    return (
        f"Go to rack {node.rack}, unit {node.unit} (units count from the bottom).",
        f"Read the serial on the server's label. It must be {node.serial}. If it is not, stop and report it: touch nothing.",
    )


def _go(now: Step) -> str:
    if isinstance(now, BootRamDisk):
        return "Confirm. metalwright then restarts it into the RAM disk."
    return "Confirm. metalwright then restarts it from its own drive."


def _serial_words(now: BootInstalled) -> str:
    return f"serial {now.disk_serial}"


def _drive(case: NodeCase, now: WriteImage) -> str:
    """The drive's place, as far as anybody saw it."""
    for kind, witness in ((Kind.BMC_HARDWARE, Witness.OUT_OF_BAND), (Kind.AGENT_HARDWARE, Witness.RAM_DISK)):
        look = case.seen(kind, witness)
        drives = look.body.facts.drives if look is not None and isinstance(look.body, HardwareSeen) else ()
        for drive in drives:
            if same_serial(drive.serial, now.disk_serial):
                return f"the drive in slot {drive.slot}" if drive.slot else f"drive {drive.device or drive.name}"
    return "the drive"


def _caution(case: NodeCase, now: Step) -> str:
    if isinstance(now, WriteImage):
        return f"Everything on drive {now.disk_serial} will be lost."
    return f"The server restarts: whatever runs on {case.node.name} ends."


# -- where -------------------------------------------------------------------------------------------------------------------


def _facts(case: NodeCase, now: Step | None) -> tuple[tuple[str, str], ...]:
    node = case.node
    facts = [("Hardware", case.profile.name), ("Boot port", node.boot_mac)]
    facts += [("BMC", node.bmc.partition("://")[2])]
    facts += [("System drive", now.disk_serial)] if isinstance(now, WriteImage | BootInstalled) else []
    return tuple(facts)


def cables_of(case: NodeCase) -> tuple[CableSpec, ...]:
    """The cable plan at this server, its own end first."""
    mine = [cable for cable in case.spec.cables if case.node.name in (cable.a_device, cable.b_device)]
    return tuple(cable if cable.a_device == case.node.name else _turned(cable) for cable in mine)


def _turned(cable: CableSpec) -> CableSpec:
    return CableSpec(
        label=cable.label,
        a_device=cable.b_device,
        a_port=cable.b_port,
        b_device=cable.a_device,
        b_port=cable.a_port,
        fabric=cable.fabric,
        length_m=cable.length_m,
    )


# -- why and how it is checked -----------------------------------------------------------------------------------------------


def _why(case: NodeCase, run: StepRun | None) -> tuple[str, ...]:
    body = case.order.body if case.order else None
    said = [f"{_sentence(body.reason)} It is one step towards gate {body.goal}."] if body else []
    said += [f"Attempt {run.attempt} failed: {run.detail}"] if run is not None and run.state is StepState.FAILED else []
    earlier: Sequence[StepRun] = [each for each in case.runs if run is not None and each.index == run.index and each.attempt < run.attempt]
    said += [f"Attempt {each.attempt} failed: {each.detail}" for each in earlier]
    return tuple(said)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _check(case: NodeCase, now: Step) -> tuple[str, ...]:
    serial = f"It must read serial {case.node.serial} from inside the machine; any other serial stops the order."
    if isinstance(now, WriteImage):
        return (
            f"Before the first byte the agent compares the serials of machine and drive with {case.node.serial} and {now.disk_serial}.",
            "It then reads every block back from the drive and compares it with the image's manifest.",
        )
    if isinstance(now, BootRamDisk):
        first = "The RAM disk's agent must check in with the token of this work order, in a boot that was never seen before."
        return (first, serial)
    return ("The installed system must check in, in a boot that was never seen before.", serial)

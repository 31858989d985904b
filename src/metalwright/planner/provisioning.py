"""Takes a node from bare metal to a green `os` gate: which steps, given what was seen and judged.

inventory not judged, no agent in RAM   → boot-ram-disk
inventory green, system not the ordered → [boot-ram-disk] write-image boot-installed
a gate red                              → a person
"""

from collections.abc import Mapping

from metalwright.gates.disk_choice import choose_system_disk
from metalwright.model.case import NodeCase
from metalwright.model.hardware import BootTarget, Drive
from metalwright.model.judgement import Colour, Finding, Gate, GateVerdict, Result
from metalwright.model.observation import BootSeen, DiskImageSeen, HardwareSeen, Kind, Witness
from metalwright.model.spec import SystemSpec
from metalwright.model.work import BootInstalled, BootRamDisk, Step, StepState, Wait, WriteImage
from metalwright.planner.proposals import Hold, Precedence, Proposal

GATES = (Gate.INVENTORY, Gate.FIRMWARE, Gate.OS)

AGENT_SILENT_S = 90.0
"""An agent that polls every 20 s at most and was silent this long is not there any more. Shorter would reboot a machine whose
network hiccups for a minute; longer only delays."""

MAX_ROUNDS = 3
"""Orders made for one goal under one wish. A fourth would redo a machine for ever that cannot succeed: a person looks instead."""


def propose(case: NodeCase, verdicts: Mapping[Gate, GateVerdict]) -> Proposal | Hold:
    """The next piece of work towards `os`, or why there is none."""
    if case.site_plan is None or case.site_verdict is None or not case.site_verdict.is_open:
        return _hold(Gate.PLAN, Wait.SITE, "the plan gate is not open: metalwright check SITE")
    for gate in GATES:
        verdict = verdicts.get(gate)
        if verdict is None or not verdict.is_open:
            return _towards(case, gate, verdict)
        if gate == case.site_plan.until:
            return Proposal(precedence=Precedence.PROVISIONING, goal=gate, steps=(), reason=f"gate {gate} is {verdict.colour}")
    return Proposal(precedence=Precedence.PROVISIONING, goal=Gate.OS, steps=(), reason="gate os is open")


def ram_agent_is_alive(case: NodeCase) -> bool:
    """The RAM disk's agent spoke a moment ago, and nothing has booted since."""
    ram = _latest_in_ram(case)
    return ram is not None and case.now - ram.last_contact_at <= AGENT_SILENT_S * case.patience


def ram_agent_may_speak(case: NodeCase) -> bool:
    """We began to listen a moment ago, so its silence says nothing yet: a run resumed after an hour must not reset a machine that is
    in the middle of its write."""
    return _latest_in_ram(case) is not None and case.now - case.listening_since <= AGENT_SILENT_S * case.patience


def _latest_in_ram(case: NodeCase) -> BootSeen | None:
    """The RAM disk's check-in, if no installed system has checked in since."""
    ram, installed = _boot(case, Witness.RAM_DISK), _boot(case, Witness.RUNNING_SYSTEM)
    return ram if ram is not None and (installed is None or installed.claimed_at < ram.claimed_at) else None


def _towards(case: NodeCase, gate: Gate, verdict: GateVerdict | None) -> Proposal | Hold:
    retried = _retry_is_newer(case)
    if verdict is not None and verdict.colour is Colour.RED and not retried and not _is_cured_by_imaging(gate, case):
        return _hold(gate, Wait.PERSON, f"gate {gate} is red: {_first_failure(verdict)}")
    if case.rounds.get(gate, 0) >= MAX_ROUNDS and not retried:
        return _hold(
            gate, Wait.PERSON, f"{MAX_ROUNDS} work orders towards gate {gate} did not reach it: metalwright explain {case.node.name}"
        )
    if gate is Gate.OS:
        return _install(case, is_red=verdict is not None and verdict.colour is Colour.RED)
    if retried or _in_band_missing(case):
        if ram_agent_is_alive(case) and not retried:
            return _hold(gate, Wait.OBSERVATION, "the agent in RAM is reading the hardware")
        return Proposal(precedence=Precedence.PROVISIONING, goal=gate, steps=(_ram(case),), reason="in-band inventory is needed")
    return _hold(gate, Wait.OBSERVATION, _first_open(verdict))


def _install(case: NodeCase, *, is_red: bool) -> Proposal | Hold:
    system = case.spec.system
    if system is None:
        return _hold(Gate.OS, Wait.PERSON, "the spec orders no image: add `system:` to site.yaml")
    if case.image is None:
        return _hold(Gate.OS, Wait.PERSON, f"image {system.image}: {case.image_problem}")
    if not is_red and _is_installed(case):
        return _hold(Gate.OS, Wait.OBSERVATION, "the installed system is looked at: its agent, its measurement")
    disk = _ordered_disk(case)
    if isinstance(disk, str):
        return _hold(Gate.OS, Wait.PERSON, disk)
    if not is_red and _is_written(case, disk):
        return Proposal(
            precedence=Precedence.PROVISIONING,
            goal=Gate.OS,
            steps=(_boot_installed(case, disk),),
            reason="the image is on the disk already",
        )
    return _write_and_boot(case, system, disk)


def _write_and_boot(case: NodeCase, system: SystemSpec, disk: Drive) -> Proposal | Hold:
    """From the RAM disk that runs, or by way of another."""
    if not ram_agent_is_alive(case) and ram_agent_may_speak(case):
        return _hold(Gate.OS, Wait.OBSERVATION, "whether the agent in RAM still speaks")
    ram: tuple[Step, ...] = () if ram_agent_is_alive(case) else (_ram(case),)
    steps = (*ram, _write(case, system, disk), _boot_installed(case, disk))
    return Proposal(precedence=Precedence.PROVISIONING, goal=Gate.OS, steps=steps, reason=f"image {system.image} is to run")


def _is_installed(case: NodeCase) -> bool:
    """The head order put the ordered system there, and nothing says that it is wrong: undetermined never redoes what stands."""
    order = case.order
    if order is None or order.body.goal is not Gate.OS or order.body.wish_digest != case.wish_digest:
        return False
    proven = {run.index for run in case.runs if run.state is StepState.PROVEN}
    return len(proven) == len(order.body.steps)


def _is_written(case: NodeCase, disk: Drive) -> bool:
    """The RAM disk's agent read the ordered image back from this very disk: booting it is enough. Gate `os` measures it again."""
    look = case.seen(Kind.DISK_IMAGE, Witness.RAM_DISK)
    if look is None or not isinstance(look.body, DiskImageSeen) or case.image is None:
        return False
    return look.body.image_digest == case.image.digest and look.body.disk_serial == disk.serial and not look.body.mismatches


def _retry_is_newer(case: NodeCase) -> bool:
    """A person said "try again" after the last order was made."""
    return case.retry_asked_at > (case.order.made_at if case.order else 0.0)


def _ordered_disk(case: NodeCase) -> Drive | str:
    look = case.seen(Kind.AGENT_HARDWARE, Witness.RAM_DISK)
    if look is None or not isinstance(look.body, HardwareSeen):
        return "no in-band inventory to choose the system disk from"
    layout = case.spec.system.disks if case.spec.system else None
    if layout is None:
        return "no disk layout in the spec"
    disk = choose_system_disk(look.body.facts, layout)
    if isinstance(disk, Drive) and not disk.serial:
        return f"drive {disk.name} shows no serial: a disk without identity is never written"
    return disk


def _is_cured_by_imaging(gate: Gate, case: NodeCase) -> bool:
    """A red `os` before the ordered image was ever written under this wish is the reason to write it, not a fault."""
    return gate is Gate.OS and case.rounds.get(Gate.OS, 0) == 0


def _in_band_missing(case: NodeCase) -> bool:
    looks = (case.seen(Kind.AGENT_HARDWARE, witness) for witness in (Witness.RAM_DISK, Witness.RUNNING_SYSTEM))
    return not any(look is not None and look.body is not None for look in looks)


def _ram(case: NodeCase) -> BootRamDisk:
    path = case.spec.system.boot if case.spec.system else "uefi-http"
    return BootRamDisk(serial=case.node.serial, boot_target=BootTarget.NETWORK, boot_path=str(path))


def _write(case: NodeCase, system: SystemSpec, disk: Drive) -> WriteImage:
    digest = case.image.digest if case.image else ""
    return WriteImage(serial=case.node.serial, disk_serial=disk.serial or "", image=system.image, image_digest=digest)


def _boot_installed(case: NodeCase, disk: Drive) -> BootInstalled:
    digest = case.image.digest if case.image else ""
    return BootInstalled(serial=case.node.serial, disk_serial=disk.serial or "", image_digest=digest)


def _boot(case: NodeCase, witness: Witness) -> BootSeen | None:
    look = case.seen(Kind.AGENT_BOOT, witness)
    return look.body if look is not None and isinstance(look.body, BootSeen) else None


def _first_failure(verdict: GateVerdict) -> str:
    for finding in verdict.findings:
        if finding.result is Result.FAIL:
            return _words(finding)
    return "no reason recorded"


def _first_open(verdict: GateVerdict | None) -> str:
    for finding in verdict.findings if verdict else ():
        if finding.result is Result.UNDETERMINED:
            return f"{finding.check}: {finding.reason}"
    return "not judged yet"


def _words(finding: Finding) -> str:
    return f"{finding.check}: expected {finding.expected}, seen {finding.seen}"


def _hold(goal: Gate, wait: Wait, text: str) -> Hold:
    return Hold(precedence=Precedence.PROVISIONING, goal=goal, wait=wait, text=text)

"""What the two boot proofs share: a check-in after the step began, of the right machine, in a boot never seen before."""

from metalwright.gates.judge import is_waived
from metalwright.gates.serials import same_serial
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.observation import BootClaimsSeen, BootSeen, Kind, Witness
from metalwright.model.work import Contradicted, NotYet, Proof, StepRun


def fresh_boot(run: StepRun, case: NodeCase, witness: Witness, serial: str) -> BootSeen | Proof:
    """The check-in that this step caused, or why there is none that counts."""
    if _second_claim(run, case):
        return Contradicted(seen="a boot token of this node was claimed twice: both claims are revoked", needs_person=True)
    look = case.seen(Kind.AGENT_BOOT, witness)
    boot = look.body if look is not None and isinstance(look.body, BootSeen) else None
    if look is None or boot is None or look.seen_at <= run.began_at or boot.claimed_at <= run.began_at:
        return NotYet(awaiting="the RAM disk to check in" if witness is Witness.RAM_DISK else "the installed system to check in")
    if not boot.boot_id or boot.boot_id in known_boots(run):
        return NotYet(awaiting=f"a new boot: boot id {boot.boot_id or '(none)'} was there before the step")
    if not boot.system_serial:
        return NotYet(awaiting="the agent to read the system serial in-band")
    if not same_serial(boot.system_serial, serial):
        return Contradicted(seen=f"serial {boot.system_serial} checked in, the order is for {serial}", needs_person=True)
    return boot


def known_boots(run: StepRun) -> frozenset[str]:
    """Boot ids that were seen before the act (`baseline` keys `boot_id…`, comma-separated)."""
    texts = (value for key, value in run.baseline.items() if key.startswith("boot_id"))
    return frozenset(part for text in texts for part in text.split(",") if part)


def _second_claim(run: StepRun, case: NodeCase) -> bool:
    look = case.seen(Kind.BOOT_CLAIMS, Witness.ENDPOINT)
    if look is None or look.seen_at <= run.began_at or not isinstance(look.body, BootClaimsSeen) or not look.body.conflicts:
        return False
    return not is_waived(case, CheckId("inventory.boot-claims"))

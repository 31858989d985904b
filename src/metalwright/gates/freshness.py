"""Which looks count. Everything that keeps one from counting becomes the words of an *undetermined* finding."""

from dataclasses import dataclass

from metalwright.gates.check import Sight
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Gap, PowerState
from metalwright.model.ids import Instant
from metalwright.model.observation import BODY_OF, BootSeen, HardwareSeen, Kind, Observation, PowerSeen, Witness

CLOCK_SLACK_S = 60.0
"""A look this far in the future was stamped by a clock that is wrong: its age means nothing."""

EVERYTHING = frozenset(("chassis", "documents"))
"""Gaps behind which any part may hide: a chassis that could not be read, a sweep that was cut off."""

ATTRIBUTES = frozenset(("serial", "model", "rate", "pcie", "memory", "memory_mib", "uuid", "part_number", "size", "numa_node", "health"))
"""Last words of gaps inside one part: the part itself was seen."""

WHO: dict[Witness, str] = {
    Witness.OUT_OF_BAND: "the BMC",
    Witness.RAM_DISK: "the RAM disk's agent",
    Witness.RUNNING_SYSTEM: "the installed system's agent",
    Witness.ENDPOINT: "the boot endpoint",
    Witness.PERSON: "a person",
}

WHAT: dict[Kind, str] = {
    Kind.BMC_POWER: "power state",
    Kind.BMC_HARDWARE: "hardware inventory",
    Kind.BMC_HEALTH: "health report",
    Kind.AGENT_BOOT: "check-in",
    Kind.AGENT_HARDWARE: "hardware inventory",
    Kind.DISK_IMAGE: "report of the written image",
    Kind.SYSTEM_IMAGE: "measurement of the running image",
    Kind.BOOT_CLAIMS: "record of boot tokens",
}

FAILURE: dict[str, tuple[str, str]] = {
    "timeout": ("did not answer in time", "check the power and the network cable of the BMC, then: metalwright node inspect {bmc}"),
    "refused": (
        "refused the connection",
        "the address answers and no service listens there: check `bmc` in nodes.csv, or wait for the BMC to start",
    ),
    "unauthorized": (
        "refused our account",
        "check secrets.bmc and the BMC's account; after a BMC reset the factory account may be back, or the account is locked",
    ),
    "certificate": (
        "showed a certificate that is not the pinned one",
        "no password was sent; compare the fingerprint on the console of the BMC, and only if it is the same machine write it to nodes.csv",
    ),
    "unasked": ("was not asked", "mend on this host what the reason names; nothing was sent to the machine"),
    "crash": ("was read by code that failed", "a defect of metalwright: report it, with what it logged"),
    "malformed": ("answered something that could not be read", "capture it for the driver: metalwright node capture {node}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why there is no look that counts."""

    reason: str
    do: str


def usable_look(case: NodeCase, sight: Sight) -> Observation | Blocked:
    """The newest look of a sight, if it counts at `case.now`."""
    look = newest(case, sight)
    if look is None:
        who = " or ".join(WHO[witness] for witness in sight.witnesses)
        return Blocked(reason=f"no {WHAT[sight.kind]} by {who} yet", do=_wait_for(sight))
    return _failure(case, look) or _staleness(case, look, sight) or _without_power(case, sight) or _gap(look, sight) or look


def newest(case: NodeCase, sight: Sight) -> Observation | None:
    """The latest look by any of the sight's witnesses: a newer failure wins over an older success."""
    looks = [look for witness in sight.witnesses if (look := case.seen(sight.kind, witness)) is not None]
    return max(looks, key=lambda look: look.seen_at, default=None)


def boot_floor(case: NodeCase, witness: Witness) -> Instant:
    """When the machine's present boot checked in, as far as it concerns a witness: for the BMC any boot, for an agent its own."""
    sources = (Witness.RAM_DISK, Witness.RUNNING_SYSTEM) if witness is Witness.OUT_OF_BAND else (witness,)
    boots = [look.body for source in sources if (look := case.seen(Kind.AGENT_BOOT, source)) is not None]
    return max((boot.claimed_at for boot in boots if isinstance(boot, BootSeen)), default=0.0)


def _failure(case: NodeCase, look: Observation) -> Blocked | None:
    if look.body is None:
        words, do = FAILURE.get(look.failure_class, ("could not be read", "look again: metalwright gate run"))
        why = f": {look.failure}" if look.failure else ""
        hint = do.format(bmc=case.node.bmc, node=case.node.name)
        return Blocked(reason=f"{WHO[look.witness]} {words} ({WHAT[look.kind]}{why})", do=hint)
    if not isinstance(look.body, BODY_OF[look.kind]):
        reason = f"the {WHAT[look.kind]} by {WHO[look.witness]} has a body of another kind"
        return Blocked(reason=reason, do="look again: metalwright gate run")
    return None


def _staleness(case: NodeCase, look: Observation, sight: Sight) -> Blocked | None:
    name = f"the {WHAT[look.kind]} by {WHO[look.witness]}"
    age = case.now - look.seen_at
    if not -CLOCK_SLACK_S <= age <= sight.max_age_s:
        why = f"is older than {sight.max_age_s:.0f} s" if age > 0 else "is from the future"
        return Blocked(reason=f"{name} {why}", do="it is read again by itself; if not, check the clocks and the network")
    if sight.since_boot and look.seen_at < boot_floor(case, look.witness):
        return Blocked(reason=f"{name} is from before the present boot", do="it is read again by itself")
    return None


def _without_power(case: NodeCase, sight: Sight) -> Blocked | None:
    power = case.seen(Kind.BMC_POWER, Witness.OUT_OF_BAND)
    was_off = power is not None and isinstance(power.body, PowerSeen) and power.body.power is PowerState.OFF
    # An agent that checked in since proves the power better than an older look does.
    if sight.powered and was_off and power is not None and power.seen_at >= boot_floor(case, Witness.OUT_OF_BAND):
        do = f"metalwright node power on {case.node.name}"
        return Blocked(reason="the machine is off: its parts are judged with the power on", do=do)
    return None


def _gap(look: Observation, sight: Sight) -> Blocked | None:
    gaps = (*look.gaps, *(look.body.facts.gaps if isinstance(look.body, HardwareSeen) else ()))
    hit = [gap for gap in gaps if any(_covers(gap, use) for use in sight.uses)]
    if not hit:
        return None
    more = f" (and {len(hit) - 1} more)" if len(hit) > 1 else ""
    reason = f"{WHO[look.witness]} could not read {hit[0].what}: {hit[0].why}{more}"
    return Blocked(reason=reason, do="read it by hand, repair what keeps it from being read, or waive with a reason")


def _covers(gap: Gap, use: str) -> bool:
    """A gap touches a use when one path lies inside the other; `*` stands for any index.

    `gpus` is touched by `gpus` and `gpus/3`, not by `gpus/3/serial`: who reads serials says so.
    """
    have, want = gap.what.split("/"), use.split("/")
    if have[0] in EVERYTHING:
        return True
    if len(have) > len(want) and have[-1] in ATTRIBUTES:
        return False
    return all(one == other or "*" in (one, other) for one, other in zip(have, want, strict=False))


def _wait_for(sight: Sight) -> str:
    if Witness.OUT_OF_BAND in sight.witnesses:
        return "the BMC is read by itself while metalwright runs: metalwright apply"
    return "it comes when the node's agent checks in: metalwright status shows what the node waits for"

"""Access to the looks of a case. Only called with what `gates.judge` let through, so a missing look is our bug."""

from typing import TypeVar

from metalwright.model.case import NodeCase
from metalwright.model.errors import InvariantError
from metalwright.model.hardware import HardwareFacts
from metalwright.model.observation import Body, BootSeen, HardwareSeen, HealthSeen, Kind, PowerSeen, Witness

B = TypeVar("B", bound=Body)

IN_BAND = (Witness.RAM_DISK, Witness.RUNNING_SYSTEM)


def body_of(case: NodeCase, kind: Kind, witness: Witness, shape: type[B]) -> B | None:
    """The body of a look, or None when there is none that counts."""
    look = case.seen(kind, witness)
    return look.body if look is not None and isinstance(look.body, shape) else None


def required(case: NodeCase, kind: Kind, witness: Witness, shape: type[B]) -> B:
    """The body of a look that the check declared."""
    body = body_of(case, kind, witness, shape)
    if body is None:
        raise InvariantError(f"a check read {kind} by {witness}, which it did not declare")
    return body


def out_of_band(case: NodeCase) -> HardwareFacts:
    """The hardware as the BMC sees it."""
    return required(case, Kind.BMC_HARDWARE, Witness.OUT_OF_BAND, HardwareSeen).facts


def in_band(case: NodeCase) -> HardwareFacts:
    """The hardware as an agent on the node sees it."""
    found = in_band_if_seen(case)
    if found is None:
        raise InvariantError("a check read the in-band hardware, which it did not declare")
    return found


def in_band_if_seen(case: NodeCase) -> HardwareFacts | None:
    """As `in_band`, for checks that may fail early."""
    seen = (body_of(case, Kind.AGENT_HARDWARE, witness, HardwareSeen) for witness in IN_BAND)
    return next((body.facts for body in seen if body is not None), None)


def out_of_band_if_seen(case: NodeCase) -> HardwareFacts | None:
    """As `out_of_band`, for checks that may fail early."""
    body = body_of(case, Kind.BMC_HARDWARE, Witness.OUT_OF_BAND, HardwareSeen)
    return body.facts if body is not None else None


def power(case: NodeCase) -> PowerSeen | None:
    """The last power look that counts."""
    return body_of(case, Kind.BMC_POWER, Witness.OUT_OF_BAND, PowerSeen)


def boot(case: NodeCase, witness: Witness) -> BootSeen | None:
    """The last check-in of an agent that counts."""
    return body_of(case, Kind.AGENT_BOOT, witness, BootSeen)


def health(case: NodeCase) -> HealthSeen:
    """Consoles, XIDs, leaks and coolant as the BMC shows them."""
    return required(case, Kind.BMC_HEALTH, Witness.OUT_OF_BAND, HealthSeen)

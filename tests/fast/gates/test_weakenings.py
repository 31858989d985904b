"""Which changes of a spec ask for less."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.gates.weakenings import weakenings
from metalwright.model.spec import AcceptanceSpec, FirmwareLine, RetireData, RetirePolicy, Role, StoredSpec
from tests.fast.gates.cases import PROFILE, SPEC

BASE = replace(
    SPEC,
    responsible={Role.WAIVE: ("a",), Role.EXECUTE: ("b",)},
    firmware=(FirmwareLine(profile="compute", component="BMC", version="1"),),
    acceptance=AcceptanceSpec(use="full", soak=3600),
    retire=RetirePolicy(media="purge", data=(RetireData(where="/scratch", then="destroy"),)),
)


def stored(profile: Any = PROFILE, **changes: Any) -> StoredSpec:
    return StoredSpec(digest="sha256:x", spec=replace(BASE, **changes), profiles={"compute": profile})


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (stored(replace(PROFILE, gpus=PROFILE.gpus - 1)), "profile compute: gpus 8 → 7"),
        (stored(replace(PROFILE, max_watts=PROFILE.max_watts + 1)), "profile compute: max_watts"),
        (stored(responsible={Role.WAIVE: ("a", "c")}), "c gets the role waive"),
        (stored(responsible={Role.DECLARE_LIVE: ("c",)}), "c gets the role declare-live"),
        (stored(firmware=()), "no longer names BMC of compute"),
        (stored(acceptance=AcceptanceSpec(use="full", soak=60)), "soak 3600 s → 60 s"),
        (stored(acceptance=AcceptanceSpec(use="full", soak=3600, waived_in_plan=("fabric.x",))), "fabric.x waived in the plan"),
        (stored(acceptance=None), "no acceptance list"),
        (stored(retire=None), "no retire path"),
        (stored(retire=replace(BASE.retire, media="clear")), "media purge → clear"),
        (stored(retire=replace(BASE.retire, data=())), "/scratch is no longer destroyed"),
    ],
)
def test_what_asks_for_less_is_named(new: StoredSpec, says: str) -> None:
    """Each alone, in one sentence; the way back asks for nothing."""
    (sentence,) = weakenings(stored(), new)
    assert says in sentence


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3600), st.booleans())
def test_more_is_never_less(gpus: int, nics: int, soak: int, is_changed: bool) -> None:
    """Higher numbers, new firmware, another executor and no change at all need nobody."""
    stricter = stored(
        replace(PROFILE, gpus=PROFILE.gpus + gpus, nics=PROFILE.nics + nics),
        acceptance=AcceptanceSpec(use="full", soak=3600 + soak),
        firmware=(*BASE.firmware, FirmwareLine(profile="compute", component="NIC", version="2")) if is_changed else BASE.firmware,
        responsible={Role.WAIVE: ("a",), Role.EXECUTE: ("b", "c")},
    )
    assert weakenings(stored(), stricter) == ()

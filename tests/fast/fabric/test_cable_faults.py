"""The cable plan against what was seen: each physical fault is one finding that names the cable and the move; a clean fabric is green."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.gates.cabling import compare
from metalwright.model.cabling import UNNAMED, CableFault, End, LinkSight, SeenLink
from metalwright.model.spec import CableSpec

HOSTS, LEAVES = 4, 2
PLAN = tuple(
    CableSpec(
        label=f"C-{leaf}{host}",
        a_device=f"node{host:02}",
        a_port=f"nic{leaf}",
        b_device=f"Leaf{leaf}",
        b_port=str(host + 1),
        fabric="compute",
    )
    for leaf in range(LEAVES)
    for host in range(HOSTS)
)


def end(device: str, port: str) -> End:
    return End(device=device, port=port)


def link(a: End, b: End, **more: float) -> tuple[SeenLink, SeenLink]:
    """What both ends say."""
    values = {"rate_gbps": 400.0, "lanes": 4, **more}
    return SeenLink(near=a, far=b, **values), SeenLink(near=b, far=a, **values)  # type: ignore[arg-type]


def pairs(plan: Iterable[CableSpec] = PLAN) -> dict[str, tuple[End, End]]:
    """Label → its two ends, as plugged in."""
    return {cable.label: (end(cable.a_device.lower(), cable.a_port), end(cable.b_device.lower(), cable.b_port)) for cable in plan}


def sight(plugged: dict[str, tuple[End, End]], *more: SeenLink) -> LinkSight:
    links = tuple(one for a, b in plugged.values() for one in link(a, b)) + more
    devices = frozenset(one.device for ends in pairs().values() for one in ends)
    return LinkSight(format="ibnetdiscover", links=links, spoke=devices)


def replug(changes: dict[str, tuple[End, End] | None]) -> LinkSight:
    """Everything as planned, but for these cables; None: not plugged in."""
    return sight({label: ends for label, ends in (pairs() | changes).items() if ends is not None})  # type: ignore[operator]


N = {label: ends[0] for label, ends in pairs().items()}
L = {label: ends[1] for label, ends in pairs().items()}

FAULTS: list[tuple[str, Callable[[], LinkSight], CableFault, tuple[str, ...], str]] = [
    ("missing", lambda: replug({"C-01": None}), CableFault.MISSING, ("C-01",), "plug in cable C-01"),
    (
        "one port up",
        lambda: replug({"C-03": (N["C-03"], end("leaf0", "5"))}),
        CableFault.WRONG_PORT,
        ("C-03",),
        "move cable C-03: one port down at leaf0, from 5 to 4",
    ),
    (
        "another switch",
        lambda: replug({"C-03": (N["C-03"], end("leaf1", "9"))}),
        CableFault.WRONG_PORT,
        ("C-03",),
        "from leaf1 port 9 to leaf0 port 4",
    ),
    (
        "swapped at the leaf",
        lambda: replug({"C-01": (N["C-01"], L["C-02"]), "C-02": (N["C-02"], L["C-01"])}),
        CableFault.SWAPPED,
        ("C-01", "C-02"),
        "exchange the plugs in leaf0 ports 2 and 3",
    ),
    (
        "rails swapped at a host",
        lambda: replug({"C-01": (N["C-11"], L["C-01"]), "C-11": (N["C-01"], L["C-11"])}),
        CableFault.SWAPPED,
        ("C-01", "C-11"),
        "exchange the plugs in node01 ports nic0 and nic1",
    ),
    (
        "unplanned",
        lambda: sight(pairs(), *link(end("leaf0", "30"), end("leaf1", "30"))),
        CableFault.UNEXPECTED,
        (),
        "pull it, or add it",
    ),
    (
        "slow",
        lambda: sight({key: ends for key, ends in pairs().items() if key != "C-02"}, *link(N["C-02"], L["C-02"], rate_gbps=200.0, lanes=2)),
        CableFault.SLOW,
        ("C-02",),
        "reseat both plugs",
    ),
    (
        "one-sided",
        lambda: sight({key: ends for key, ends in pairs().items() if key != "C-02"}, link(N["C-02"], L["C-02"])[0]),
        CableFault.ONE_SIDED,
        ("C-02",),
        "leaf0 receives nothing",
    ),
    (
        "factory description",
        lambda: replug({"C-02": (end(f"{UNNAMED}e09d", "1"), L["C-02"])}),
        CableFault.UNNAMED,
        ("C-02",),
        "rdma-ndd",
    ),
]


def test_as_planned_is_green() -> None:
    """Device names are compared without case; both ends agree; nothing is said."""
    compared = compare(PLAN, [sight(pairs())])
    assert (compared.colour, compared.findings, compared.matched, compared.seen) == ("green", (), 8, 8)


@pytest.mark.parametrize(("how", "fault", "labels", "do"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_each_fault_is_one_finding(how: Callable[[], LinkSight], fault: CableFault, labels: tuple[str, ...], do: str) -> None:
    """One physical fault, one line, on the right cable, with the move."""
    compared = compare(PLAN, [how()])
    (finding,) = compared.findings
    assert (finding.fault, finding.labels) == (fault, labels)
    assert do in finding.do
    assert compared.colour == ("undetermined" if fault is CableFault.UNNAMED else "red")


@given(st.permutations(range(HOSTS)))
def test_no_permutation_of_plugs_is_green_but_the_planned_one(order: list[int]) -> None:
    """Every cable that is not where it belongs is named exactly once, and a pair that was exchanged is one finding."""
    plugged = pairs() | {f"C-0{host}": (N[f"C-0{host}"], L[f"C-0{order[host]}"]) for host in range(HOSTS)}
    compared = compare(PLAN, [sight(plugged)])
    moved = sorted(f"C-0{host}" for host in range(HOSTS) if order[host] != host)
    assert sorted(label for finding in compared.findings for label in finding.labels) == moved
    assert compared.colour == ("red" if moved else "green")
    swaps = sum(order[order[host]] == host != order[host] for host in range(HOSTS)) // 2
    assert sum(finding.fault is CableFault.SWAPPED for finding in compared.findings) == swaps


def test_what_nobody_heard_is_undetermined() -> None:
    """A fabric that no file shows is one line; so is a cable between two silent devices. Nothing at all is no green."""
    storage = tuple(
        replace(cable, label=f"S{cable.label}", a_port=f"eth{n}", b_device="tor1", fabric="storage") for n, cable in enumerate(PLAN)
    )
    compared = compare((*PLAN, *storage), [sight(pairs())])
    (finding,) = compared.findings
    assert (finding.fault, len(finding.labels), compared.colour) == (CableFault.UNHEARD, len(PLAN), "undetermined")
    lonely = LinkSight(format="lldpcli", links=link(N["C-00"], L["C-00"])[:1], spoke=frozenset({"node00"}))
    silent = compare([cable for cable in PLAN if cable.b_device == "Leaf0"], [lonely])
    assert {finding.fault for finding in silent.findings} == {CableFault.UNHEARD} and silent.colour == "undetermined"
    assert compare((), []).colour == "undetermined"


def test_an_unread_line_is_no_green() -> None:
    """Whatever stood there could be the fault."""
    assert compare(PLAN, [replace(sight(pairs()), unread=("[7] ???",))]).colour == "undetermined"


def test_neighbours_of_another_kind_say_nothing() -> None:
    """A host whose Ethernet neighbours were read does not thereby lack its InfiniBand links."""
    lldp = LinkSight(format="lldpcli", links=(), spoke=frozenset({"node00"}))
    only_leaves = replace(
        sight(pairs()), spoke=frozenset({"leaf0", "leaf1"}), links=tuple(x for x in sight(pairs()).links if "leaf" in x.near.device)
    )
    assert compare(PLAN, [lldp, only_leaves]).colour == "green"


def test_full_domain_names_are_the_plans_devices() -> None:
    """LLDP gives what the system calls itself."""
    far = {label: (a, end(f"{b.device}.example.org", b.port)) for label, (a, b) in pairs().items()}
    assert compare(PLAN, [sight(far)]).colour == "green"


def test_a_rate_that_was_bought_is_demanded() -> None:
    """Also when every link of the fabric runs at less."""
    assert compare(PLAN, [sight(pairs())], {"compute": 400.0}).colour == "green"
    slow = compare(PLAN, [sight(pairs())], {"compute": 800.0})
    assert {finding.fault for finding in slow.findings} == {CableFault.SLOW} and len(slow.findings) == len(PLAN)

"""What a decision becomes in the store: statements on change only, waits that keep their beginning."""

from dataclasses import replace

from metalwright.model.case import NodeCase
from metalwright.model.hardware import Gpu
from metalwright.model.judgement import Colour, Gate, GateVerdict
from metalwright.model.observation import Kind
from metalwright.model.work import Wait, WaitingFor
from metalwright.planner.decide import decide
from metalwright.ports import NodeChange, NodeRows, VerdictMark
from metalwright.service.changes import content_digest, node_change
from tests.fast.gates.cases import NOW, unreadable, with_bmc
from tests.fast.planner.test_decide import case, racked


def rows(node: NodeCase, verdicts: dict[Gate, VerdictMark] | None = None, waiting: WaitingFor | None = None) -> NodeRows:
    return NodeRows(
        subject=f"node:{node.node.name}",  # type: ignore[arg-type]
        observations=(),
        order=node.order,
        runs=node.runs,
        operations=(),
        grants=(),
        rounds={},
        permit=None,
        verdicts=verdicts or {},
        waiting=waiting,
        paused=False,
        wakes=0,
    )


def change(node: NodeCase, verdicts: dict[Gate, VerdictMark] | None = None) -> NodeChange:
    standing = {gate: mark.colour for gate, mark in (verdicts or {}).items()}
    return node_change(replace(node, standing=standing), rows(node, verdicts), decide(node), iter(range(1, 9)), b"k" * 32)


def marks(node: NodeCase) -> dict[Gate, VerdictMark]:
    return {gate: mark(verdict) for gate, verdict in decide(node).verdicts.items()}


def mark(verdict: GateVerdict) -> VerdictMark:
    return VerdictMark(digest=content_digest(verdict), colour=verdict.colour)


def test_a_verdict_is_stated_once() -> None:
    """The first green is a statement per gate; judged again unchanged, later, it is none."""
    first = change(case())
    assert [made.predicate["gate"] for made in first.statements] == ["inventory", "firmware", "os"]
    assert not change(replace(case(), now=NOW + 5), marks(case())).statements


def test_a_green_gate_that_turns_is_stated() -> None:
    """Red, and undetermined too, once a gate had been judged."""
    broken = with_bmc(case(), gpus=(Gpu(index=0, name="only"),))
    assert [made.predicate["verdict"] for made in change(broken, marks(case())).statements] == [Colour.RED]
    mute = unreadable(case(), Kind.BMC_HARDWARE)
    assert [made.predicate["verdict"] for made in change(mute, marks(case())).statements] == [Colour.UNDETERMINED]


def test_what_was_never_judged_is_not_stated() -> None:
    """A node that nobody could look at yet makes no record, but its verdict is on the board."""
    made = change(racked())
    assert not made.statements and made.verdicts


def test_no_float_and_no_secret_in_a_statement() -> None:
    """Predicates are JSON of integers and texts, and cite observations by digest."""
    for made in change(case()).statements:
        assert made.predicate["observations"] and all(look["digest"].startswith("sha256:") for look in made.predicate["observations"])
        assert "password" not in str(made.predicate).lower()


def test_a_wait_begins_when_the_node_last_moved() -> None:
    """The same standstill keeps its beginning, whatever it is called in between; overdue is said."""
    node = replace(with_bmc(case(), gpus=()), patience=1.0)
    since = WaitingFor(wait=Wait.OBSERVATION, text="x", since=NOW - 200_000)
    known = marks(node)
    decision = decide(replace(node, waiting=since))
    waiting = node_change(replace(node, waiting=since), rows(node, known, since), decision, iter(()), b"k" * 32).waiting
    assert waiting is not None and waiting.since == NOW - 200_000 and waiting.overdue

"""Whatever happens in whatever order, each subject's orders are one chain, and the store says exactly what was accepted."""

import asyncio
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from metalwright.model.errors import FencedError
from metalwright.model.ids import Subject, WorkerId
from metalwright.ports import Fence, NodeChange
from metalwright.store import SqlStore, open_store
from tests.conformance.store_site import NOW, change, node, order, run, spec, statement

SUBJECTS = [node(f"a0-{unit}") for unit in range(3)]
PARENTS = st.sampled_from(["right", "none", "older", "never"])


class Chains(RuleBasedStateMachine):
    """`chains` is what must be: the accepted order numbers of each subject, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="metalwright-chains-"))
        self.chains: dict[Subject, list[int]] = defaultdict(list)
        self.statements: set[str] = set()
        self.fences: list[Fence] = []
        self.workers = 0
        self.store: SqlStore

    @initialize()
    def begin(self) -> None:
        self.reopen()
        self.loop.run(self.store.adopt_spec(spec(nodes=3), NOW))
        self.take_over()

    @rule()
    def reopen(self) -> None:
        """The process ends and begins again."""
        if hasattr(self, "store"):
            self.loop.run(self.store.close())
        self.store = open_store(f"sqlite:///{self.folder}/site.db")
        self.loop.run(self.store.open())

    @rule()
    def take_over(self) -> None:
        """The worker goes, another one comes: a later epoch."""
        for fence in self.fences[-1:]:
            self.loop.run(self.store.release(fence.worker))
        self.workers += 1
        fences = self.loop.run(self.store.claim(WorkerId(f"w{self.workers}"), 3600.0))
        self.fences.append(next(fence for fence in fences if fence.shard == "r0"))

    @rule(wanted=st.dictionaries(st.sampled_from(SUBJECTS), PARENTS, min_size=1))
    def turn(self, wanted: dict[Subject, str]) -> None:
        """A batch of new orders, some of them on a parent that is not the head."""
        changes = self._changes(wanted)
        lost = self.loop.run(self.store.commit(changes, self.fences[-1]))
        for one in changes:
            assert one.order is not None
            chain = self.chains[one.subject]
            accepted = one.order.parent == (chain[-1] if chain else None)
            assert (one.subject in lost) == (not accepted)
            if accepted:
                chain.append(one.order.number)
                self.statements.add(one.statements[0].key)

    @precondition(lambda self: len(self.fences) > 1)
    @rule(wanted=st.dictionaries(st.sampled_from(SUBJECTS), PARENTS, min_size=1), which=st.integers(min_value=0))
    def turn_of_a_stale_worker(self, wanted: dict[Subject, str], which: int) -> None:
        """Nothing of it is written, right parents or not."""
        stale = self.fences[:-1][which % (len(self.fences) - 1)]
        with pytest.raises(FencedError):
            self.loop.run(self.store.commit(self._changes(wanted), stale))

    def _changes(self, wanted: dict[Subject, str]) -> list[NodeChange]:
        numbers = iter(self.loop.run(self.store.next_order_numbers(len(wanted))))
        return [
            change(
                subject,
                order=order(number := next(numbers), subject, parent=self._parent(subject, which)),
                runs=(run(number),),
                statements=(statement(f"{subject}/{number}", subject),),
            )
            for subject, which in wanted.items()
        ]

    def _parent(self, subject: Subject, which: str) -> int | None:
        chain = self.chains[subject]
        known = {"right": chain[-1] if chain else None, "none": None, "older": chain[-2] if len(chain) > 1 else 10**6, "never": 10**6 + 1}
        return known[which]

    @invariant()
    def the_store_says_what_was_accepted(self) -> None:
        if not hasattr(self, "store"):
            return
        for rows in self.loop.run(self.store.load(SUBJECTS)):
            chain = self.chains[rows.subject]
            found = self.loop.run(self.store.orders(rows.subject))
            assert [one.number for one in found] == chain
            assert [one.parent for one in found] == [None, *chain[:-1]][: len(chain)]
            assert (rows.order.number if rows.order else None) == (chain[-1] if chain else None)
            assert [one.order for one in rows.runs] == chain[-1:]
            assert sum(rows.rounds.values()) == len(chain)
        assert {one.key for one in self.loop.run(self.store.pending(10_000))} == self.statements

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.loop.run(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)


Chains.TestCase.settings = settings(max_examples=5, stateful_step_count=10, deadline=None)
TestChains = Chains.TestCase

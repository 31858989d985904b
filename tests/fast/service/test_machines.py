"""One machine's trouble on our side is that machine's finding; it never stops a loop, and it is never silence."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from metalwright.model.errors import InputError
from metalwright.model.ids import OrderNumber, Subject, WorkerId
from metalwright.model.observation import Kind, Observation, Witness
from metalwright.model.spec import NodeSpec
from metalwright.model.work import BootRamDisk, StepRun, StepState
from metalwright.planner.decision import Act, Look
from metalwright.ports import Bmc, BmcAction
from metalwright.service.clock import SystemClock
from metalwright.service.leases import Leases
from metalwright.service.machines import Acted, Looked, Machines, Result
from tests.conformance.store_site import node_spec
from tests.fast.service.test_leases import LeaseTable, VirtualClock

SUBJECT = Subject("node:a")
NO_ACCOUNT = InputError("secrets/bmc is missing", hint="write the password there")
RUN = StepRun(order=OrderNumber(1), index=0, attempt=1, state=StepState.INTENDED, began_at=0.0)


@dataclass
class NoBmcs:
    """ports.BmcFactory of BMCs that cannot even be asked."""

    error: Exception

    def open(self, node: NodeSpec) -> Bmc:
        raise self.error


@dataclass
class Asked:
    """ports.BmcFactory that keeps which addresses it was to open."""

    addresses: list[str] = field(default_factory=list)

    def open(self, node: NodeSpec) -> Bmc:
        self.addresses.append(node.bmc)
        return AnyBmc()


class AnyBmc:
    """ports.Bmc that answers nothing."""

    async def read(self, kind: Kind) -> Observation:
        return Observation(subject=SUBJECT, kind=kind, witness=Witness.OUT_OF_BAND, seen_at=0.0, body=None)

    async def act(self, action: BmcAction) -> None: ...

    async def close(self) -> None: ...


def test_a_node_with_another_bmc_is_asked_there() -> None:
    """A driver is kept open between looks, for the same address only: a spec may change while the process lives."""

    async def run() -> list[str]:
        results: asyncio.Queue[Result] = asyncio.Queue()
        leases = Leases(LeaseTable(VirtualClock()), WorkerId("w"), VirtualClock())
        await leases.renew()
        bmcs = Asked()
        machines = Machines(bmcs, leases, SystemClock(), results.put_nowait)
        one = node_spec("a", "r01")
        for node in (one, one, replace(one, bmc="https://127.0.0.9")):
            machines.start(SUBJECT, node, leases.held()["r01"], Look(kinds=(Kind.BMC_POWER,)))
            async with asyncio.timeout(5):
                await results.get()
        await machines.close()
        return bmcs.addresses

    assert asyncio.run(run()) == ["https://127.0.0.1", "https://127.0.0.9"]


def result_of(action: Look | Act, error: Exception) -> Result:
    """What a machine's task hands back."""

    async def run() -> Result:
        results: asyncio.Queue[Result] = asyncio.Queue()
        leases = Leases(LeaseTable(VirtualClock()), WorkerId("w"), VirtualClock())
        await leases.renew()
        machines = Machines(NoBmcs(error), leases, SystemClock(), results.put_nowait)
        machines.start(SUBJECT, node_spec("a", "r01"), leases.held()["r01"], action)
        async with asyncio.timeout(5):
            return await results.get()

    return asyncio.run(run())


@pytest.mark.parametrize(("error", "failure_class"), [(NO_ACCOUNT, "unasked"), (ZeroDivisionError("division by zero"), "crash")])
def test_a_look_that_fails_on_our_side_is_a_failed_observation(error: Exception, failure_class: str) -> None:
    """Of each kind that was wanted, with the words of the error and what to do."""
    looked = result_of(Look(kinds=(Kind.BMC_POWER, Kind.BMC_HARDWARE)), error)
    assert isinstance(looked, Looked)
    assert [seen.kind for seen in looked.observations] == [Kind.BMC_POWER, Kind.BMC_HARDWARE]
    for seen in looked.observations:
        assert seen.body is None and seen.failure_class == failure_class
        assert str(error.args[0]) in (seen.failure or "")


def test_an_act_without_an_account_waits() -> None:
    """Nothing was done to the machine: it says what to mend, and is tried again."""
    acted = result_of(Act(step=BootRamDisk(), run=RUN), NO_ACCOUNT)
    assert isinstance(acted, Acted)
    assert acted.run.state is StepState.INTENDED and acted.run.retry_at is not None
    assert acted.run.detail == "secrets/bmc is missing (write the password there)"


def test_an_act_that_crashes_waits_for_a_person() -> None:
    """Whatever it did is unknown: it is not repeated by itself."""
    acted = result_of(Act(step=BootRamDisk(), run=RUN), ZeroDivisionError("division by zero"))
    assert isinstance(acted, Acted)
    assert acted.run.state is StepState.FAILED and acted.run.needs_person and "ZeroDivisionError" in acted.run.detail

"""Work orders in which a person has a part: which there are, and what people say about them. Reads the store, appends requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from metalwright.model.case import NodeCase
from metalwright.model.errors import InputError
from metalwright.model.ids import Subject, node_of, node_subject
from metalwright.model.spec import Role
from metalwright.planner import step
from metalwright.planner.repairs import repair_sheets
from metalwright.planner.sheets import Turn, WorkSheet, sheet_of
from metalwright.ports import Clock, Store
from metalwright.service.asked import CONFIRM, Asked
from metalwright.service.cases import SiteContext, node_case
from metalwright.service.clock import SystemClock
from metalwright.service.wiring import open_reader

PAGE = 200
LIST = "metalwright work list"


class WorkDesk:
    """The work orders of one site, as its store has them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def open_sheets(self) -> list[WorkSheet]:
        """Work orders by number, then repairs."""
        sheets = [sheet for case in await self._cases() if (sheet := sheet_of(case)) is not None]
        return [*sorted(sheets, key=lambda sheet: int(sheet.ticket)), *await self._repairs()]

    async def sheet(self, ticket: str) -> WorkSheet:
        """InputError for an order in which no person has a part now, and for a repair that nothing red asks for."""
        found = next((sheet for sheet in await self.open_sheets() if sheet.ticket == ticket), None)
        if found is None:
            raise InputError(f"no open work order or repair {ticket}", hint=LIST)
        return found

    async def say(self, number: int, says: Turn, by: str, note: str) -> WorkSheet:
        """Record a person's word about the present step. InputError when it awaits another word, or from somebody who may not."""
        case, sheet = await self._found(number)
        if sheet.turn is Turn.PROOF:
            raise InputError(f"work order {number}: {sheet.by} said it already; the proof is awaited", hint="metalwright status")
        is_go = sheet.turn is Turn.CONFIRM
        if is_go != (says is Turn.CONFIRM):
            raise InputError(f"work order {number} is {sheet.state}", hint=sheet.command)
        may = case.spec.responsible.get(Role.EXECUTE, ())
        if by not in may:
            raise InputError(f"{by} may not execute", hint=f"under responsible: execute: {', '.join(may) or 'nobody is named'}")
        body = {
            "order": str(number),
            "step": str(step.current(case)[0]),
            "attempt": str(sheet.attempt),
            "says": "go" if is_go else "done",
            "by": by,
            "note": note,
        }
        await self._store.ask(CONFIRM, node_subject(case.node.name), body, self._clock.now())
        return sheet

    async def _found(self, number: int) -> tuple[NodeCase, WorkSheet]:
        for case in await self._cases():
            if case.head == number and (sheet := sheet_of(case)) is not None:
                return case, sheet
        raise InputError(f"no open work order {number} for a person", hint=LIST)

    async def _repairs(self) -> list[WorkSheet]:
        return [sheet for case in await self._cases(red=True) for sheet in repair_sheets(case, await self._store.verdicts(_subject(case)))]

    async def _cases(self, *, red: bool = False) -> list[NodeCase]:
        """Nodes with an order, or those with a red gate, as the next turn would see them."""
        stored = await self._store.current_spec()
        if stored is None:
            return []
        asked = Asked(self._store)
        await asked.refresh()
        plan = await self._store.site_plan()
        context = SiteContext(stored=stored, plan=plan, verdict=None, image=None, retries=asked.retries, confirmations=asked.confirmations)
        subjects = [
            row.subject for row in await self._store.board() if (row.red if red else row.order) and node_of(row.subject) in context.nodes
        ]
        now, cases = self._clock.now(), []
        for start in range(0, len(subjects), PAGE):
            cases += [node_case(context, rows, now, 0) for rows in await self._store.load(subjects[start : start + PAGE])]
        return cases


def _subject(case: NodeCase) -> Subject:
    return node_subject(case.node.name)


@asynccontextmanager
async def open_desk(folder: Path) -> AsyncIterator[WorkDesk]:
    """InputError for a site that was never applied."""
    async with open_reader(folder) as store:
        if store is None:
            raise InputError(f"{folder} was never applied", hint=f"metalwright apply {folder}")
        yield WorkDesk(store, SystemClock())

"""An installed system that reboots goes on with its session: what it reports is of its present boot, whatever else it says."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from metalwright.endpoints.reports import CONTACT_S, ReportDesk
from metalwright.model.agent_messages import RawInventory, Report
from metalwright.model.observation import BootSeen, Kind, Observation
from metalwright.store import SqlStore
from tests.conformance import store_site as toy


@dataclass
class HandClock:
    """Goes on when told to."""

    at: float = toy.NOW

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


CLAIMED = replace(toy.grant(1), stage="installed", claimed_at=toy.NOW, boot_id="first", session_hash="s", system_serial="S")


async def boot_and_hardware(store: SqlStore) -> tuple[BootSeen, Observation]:
    (rows,) = await store.load([toy.node()])
    found = {look.kind: look for look in rows.observations}
    boot = found[Kind.AGENT_BOOT].body
    assert isinstance(boot, BootSeen)
    return boot, found[Kind.AGENT_HARDWARE]


def test_a_poll_does_not_bring_the_first_boot_back(tmp_path: Path) -> None:
    """The session was claimed in boot `first`; in boot `second` the agent reports, then polls for hours, also at a server that
    was restarted. The boot stays `second`, and the hardware report stays one of that boot."""

    async def story() -> None:
        async with toy.site_at(f"sqlite:///{tmp_path}/site.db") as store:
            clock = HandClock()
            desk = ReportDesk(endpoint=store, turns=store, clock=clock)
            await desk.claimed(CLAIMED)
            clock.at += 3600
            report = Report(boot_id="second", inventory=RawInventory(files={}))
            await desk.take(replace(CLAIMED, boot_id="second"), report)
            for served_by in (desk, ReportDesk(endpoint=store, turns=store, clock=clock)):
                clock.at += 2 * CONTACT_S
                await served_by.contact(CLAIMED)
                boot, hardware = await boot_and_hardware(store)
                assert (boot.boot_id, boot.claimed_at, boot.last_contact_at) == ("second", toy.NOW + 3600, clock.at)
                assert hardware.seen_at >= boot.claimed_at

    asyncio.run(story())

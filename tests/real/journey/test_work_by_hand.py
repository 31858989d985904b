"""Work by hand on a simulated site: a technician at the rack, an operator who confirms, and the same gates as ever."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from metalwright.model.errors import MetalwrightError
from metalwright.planner.sheets import Turn, WorkSheet
from metalwright.service.work_orders import open_desk
from tests.kit.applying import Apply
from tests.kit.simulated_site import SimulatedSite, simulated_site, wait_until
from tests.kit.whole_evidence import assert_evidence_is_whole

pytestmark = pytest.mark.real

WHO = "platform@example.org"
PDF = b"%PDF-"


@pytest.fixture
def site(tmp_path: Path) -> "Any":
    with simulated_site(tmp_path / "site", nodes=1, image_mib=24) as made:
        spec = made.folder / "site.yaml"
        spec.write_text(spec.read_text().replace("depth: {inventory: automatic", "depth: {inventory: manual"))
        made.simulator.start()
        yield made


def waiting(site: SimulatedSite) -> list[WorkSheet]:
    """Nothing while the site has no store yet."""

    async def ask() -> list[WorkSheet]:
        async with open_desk(site.folder) as desk:
            return await desk.open_sheets()

    try:
        return asyncio.run(ask())
    except MetalwrightError:
        return []


def until(site: SimulatedSite, turn: Turn) -> WorkSheet:
    wait_until(f"a work order is {turn}", lambda: any(sheet.turn is turn for sheet in waiting(site)), within_s=40)
    return next(sheet for sheet in waiting(site) if sheet.turn is turn)


def change_depth(site: SimulatedSite, old: str, new: str) -> None:
    file = site.folder / "site.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_machine_started_by_hand_then_depth_changed_midway(site: SimulatedSite) -> None:
    """The technician's start is proven and named in the log, the printed page has the serial; `os`, made assisted in between, begins
    on a word; the end is the same green, with the machine started twice as ever."""
    (node,) = site.nodes
    apply = Apply(site.folder, "--watch", "--until", "inventory")
    order = until(site, Turn.DO)
    assert site.simulator.starts(node) == 0, "nothing but a person starts this machine"
    printed(site, order)
    refused = site.metalwright("work", "done", order.ticket, "--by", "nobody@example.org", "--site", str(site.folder))
    assert refused.returncode == 3 and WHO in refused.stderr
    site.simulator.act("power-on", node, boot="network")
    until(site, Turn.SAY)
    say(site, "done", order, note="boot port was loose")
    wait_until("nothing waits", lambda: not waiting(site), within_s=40)
    assert apply.interrupted() != 4
    change_depth(site, "os: automatic", "os: assisted")
    apply = Apply(site.folder, "--watch")
    say(site, "confirm", until(site, Turn.CONFIRM))
    wait_until("gate os is green", lambda: ("green",) in site.rows("SELECT colour FROM verdicts WHERE gate = 'os'"), within_s=40)
    apply.interrupted()
    assert site.simulator.starts(node) == 2
    assert_evidence_is_whole(site)
    by_people = [record.says for record in site.records() if WHO in record.says]
    assert len(by_people) == 3, by_people
    depths = [record.statement["predicate"]["findings"] for record in site.records() if record.says.startswith("gate plan")]
    seen = [next(finding["seen"] for finding in findings if finding["check"] == "plan.depth") for findings in depths]
    assert seen == ["inventory: manual", "inventory: manual; os: assisted"]


def say(site: SimulatedSite, word: str, order: WorkSheet, note: str = "") -> None:
    said = site.metalwright("work", word, order.ticket, "--by", WHO, "--note", note, "--site", str(site.folder))
    assert said.returncode == 0, said.stderr


def printed(site: SimulatedSite, order: WorkSheet) -> None:
    """As a page, and as a PDF where there is a Chromium; a clear word where there is none."""
    html, pdf = site.folder / "order.html", site.folder / "order.pdf"
    words = ("work", "show", order.ticket, "--site", str(site.folder))
    assert site.metalwright(*words, "--html", str(html)).returncode == 0 and order.serial in html.read_text()
    done = site.metalwright(*words, "--pdf", str(pdf))
    if shutil.which("chromium"):
        assert done.returncode == 0 and pdf.read_bytes().startswith(PDF), done.stderr
    else:
        assert done.returncode == 3 and "Chromium" in done.stderr

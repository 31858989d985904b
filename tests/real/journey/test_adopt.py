"""A delivered cluster is adopted: looked at and judged, and by the simulator's own record nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from metalwright.simulator.control import ask
from tests.kit.simulated_site import SimulatedSite, simulated_site

pytestmark = pytest.mark.real

SESSION = re.compile(r"(POST /redfish/v1/SessionService/Sessions|DELETE /redfish/v1/SessionService/Sessions/[^/]+)")


def test_adopting_reads_and_touches_nothing(tmp_path: Path) -> None:
    """Machines that run and one whose NVLink is slow: the BMCs saw GETs and their sessions, no machine was started, stopped or written, no
    order was made; the slow link is red, what only an agent can see is undetermined, and the records say that it was only observed."""
    with simulated_site(tmp_path / "site", nodes=2, image_mib=24) as site:
        site.simulator.start()
        good, bad = site.nodes
        for node in site.nodes:
            site.simulator.act("power-on", node)
        ask(site.folder / ".simulator", {"do": "fault", "name": "degraded-nvlink", "node": bad, "arguments": {}})
        before = {node: site.simulator.deeds(node) for node in site.nodes}
        done = site.metalwright("adopt", str(site.folder), "--json", "--timeout", "60")
        board = {node["node"]: node for node in json.loads(done.stdout)["nodes"]}
        assert done.returncode == 1, done.stderr
        assert board[bad]["gates"]["inventory"] == "red" and board[good]["gates"]["inventory"] == "undetermined"
        assert board[good]["gates"]["firmware"] == "green", "judged although the gate before it is not open"
        assert_only_read(site)
        assert {node: site.simulator.deeds(node) for node in site.nodes} == before
        assert site.rows("SELECT number FROM orders") == [] and site.rows("SELECT order_number FROM runs") == []
        judged = [record.statement["predicate"] for record in site.records() if record.about == f"node:{bad}"]
        assert judged and all(predicate["observed_only"] for predicate in judged)


def assert_only_read(site: SimulatedSite) -> None:
    """Every BMC was read, and whatever was no read was a login or its end."""
    nodes: list[dict[str, Any]] = ask(site.folder / ".simulator", {"do": "state"})["nodes"]
    for node in nodes:
        assert node["requests"]["GET"] > 20, node
        written = [what for what in node["requests"] if what not in ("GET", "HEAD")]
        assert written and all(SESSION.fullmatch(what) for what in written), written

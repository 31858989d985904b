"""DMTF's own judges of a Redfish service, run on the simulator."""

import csv
import os
import re
import tarfile
from pathlib import Path

import pytest

from metalwright.simulator.site import SimulatedSite
from tests.fast.simulator.simulated_runs import USER
from tests.fast.simulator.simulated_sites import TINY, make_site
from tests.real.simulator.served import PASSWORD, run_program, while_served

pytestmark = pytest.mark.real

ALLOWED_PROTOCOL_FAILS = {
    "PROTO_HTTP_UNSUPPORTED_METHODS": (
        "a method that HTTP does not know (FAKEMETHODFORTEST) is answered 400 by the HTTP parser, before any application sees it; "
        "known methods that a resource lacks get 405"
    ),
}
"""Assertion → why it may fail here."""


def find_captures() -> Path | None:
    """The folder of recorded data beside the project, if it is there."""
    root = Path(__file__).parents[3]
    named = os.environ.get("METALWRIGHT_CAPTURES")
    places = [Path(named)] if named else [root.parent / "shared/captures", root.parents[1] / "shared/captures"]
    return next((place for place in places if place.is_dir()), None)


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DMTF's schemas (CSDL), unpacked."""
    captures = find_captures()
    if captures is None or not (captures / "redfish/dmtf-csdl.tar.xz").exists():
        pytest.skip("DMTF's schema files are not at hand: redfish/dmtf-csdl.tar.xz in the captures folder")
    folder = tmp_path_factory.mktemp("schemas")
    with tarfile.open(captures / "redfish/dmtf-csdl.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "csdl"


def test_service_validator_finds_no_fault(schemas: Path, tmp_path: Path) -> None:
    """Every resource is true to its DMTF schema, our own OEM part included: not one fail in thousands of checks."""
    pytest.importorskip("redfish_service_validator", reason="redfish-service-validator is not installed")

    async def work(site: SimulatedSite, url: str) -> None:
        schema_words = ("--schema_directory", str(schemas), "--skipschema")
        words = ("-r", url, "-u", USER, "-p", PASSWORD, "--authtype", "Session", *schema_words, "--logdir", str(tmp_path))
        _, said = await run_program("rf_service_validator", *words, timeout_s=280, cwd=tmp_path)
        counts = re.search(r"NOT TESTED.*?\n.*?\n\|\s*(\d+)\s*\|\s*(\d+)\s*\|\s*(\d+)\s*\|", said)
        assert counts, said[-2000:]
        passed, _, failed = (int(each) for each in counts.groups())
        assert failed == 0, fails_in(tmp_path)
        assert passed > 1500

    while_served(make_site(profile=TINY), tmp_path / "state", work)


def fails_in(logs: Path) -> str:
    """What the validator's debug log says about fails."""
    lines = [line for log in logs.rglob("*Debug*.log") for line in log.read_text().splitlines() if "FAIL -" in line]
    return "\n".join(lines[:20])


def test_protocol_validator_finds_no_fault(tmp_path: Path) -> None:
    """Headers, status codes, sessions, ETags, queries, accounts, TLS: no fail outside the list above."""
    pytest.importorskip("redfish_protocol_validator", reason="redfish-protocol-validator is not installed")

    async def work(site: SimulatedSite, url: str) -> None:
        words = ("-r", url, "-u", USER, "-p", PASSWORD, "--no-cert-check", "--avoid-http-redirect", "--report-type", "tsv")
        _, said = await run_program("rf_protocol_validator", *words, "--report-dir", str(tmp_path), timeout_s=200, cwd=tmp_path)
        reports = list(tmp_path.glob("*.tsv"))
        assert reports, said[-2000:]
        with reports[0].open() as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        assert sum(row["Result"] == "PASS" for row in rows) > 300
        failed = {row["Assertion"]: row["Message"] for row in rows if row["Result"] == "FAIL"}
        assert failed.keys() == ALLOWED_PROTOCOL_FAILS.keys(), failed

    while_served(make_site(profile=TINY, scheme="https"), tmp_path / "state", work)

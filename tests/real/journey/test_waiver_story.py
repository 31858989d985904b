"""A gate goes red; a waiver is refused, then granted by the right key; it ends by itself; the node is mended and returns.

Golden words: what a person types, what is answered. `apply --watch` runs beside it all the time.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalwright.cli.main import main
from metalwright.simulator.control import ask
from tests.fast.evidence.people import Person, has_ssh_keygen, person
from tests.kit.applying import Apply
from tests.kit.simulated_site import SimulatedSite, simulated_site, wait_until

pytestmark = [pytest.mark.real, has_ssh_keygen]
NODE, CHECK = "chaos01", "firmware.baseline"
LASTS_S = 12


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SimulatedSite]:
    with simulated_site(tmp_path / "site", nodes=1, image_mib=16) as made:
        made.simulator.start()
        yield made


@pytest.fixture
def people(site: SimulatedSite, tmp_path: Path) -> dict[str, Person]:
    """The lead may waive; the technician may sign, in another role; a stranger is in no file."""
    (tmp_path / "keys").mkdir()
    found = {name: person(tmp_path / "keys", f"{name}@example.org") for name in ("ops-lead", "technician", "stranger")}
    signers = found["ops-lead"].line('namespaces="metalwright-waiver,metalwright-approval"') + found["technician"].line()
    (site.folder / "keys").mkdir(exist_ok=True)
    (site.folder / "keys" / "allowed_signers").write_text(signers)
    return found


def colour(site: SimulatedSite) -> str:
    """Of the firmware gate, as recorded."""
    try:
        found = site.rows("SELECT colour FROM verdicts WHERE gate = 'firmware'")
    except sqlite3.OperationalError:  # no tables yet
        return ""
    return str(found[0][0]) if found else ""


def said(capsys: pytest.CaptureFixture[str], site: SimulatedSite, *words: str) -> tuple[int, str]:
    """Exit code and every word of one verb."""
    code = main([*words, "--site", str(site.folder)])
    heard = capsys.readouterr()
    return code, heard.out + heard.err


def waive(key: Path, *words: str) -> tuple[str, ...]:
    return ("waive", CHECK, "--on", NODE, "--reason", "spare is ordered", "--until", f"{LASTS_S}s", "--key", str(key), *words)


def test_the_story_of_a_waiver(site: SimulatedSite, people: dict[str, Person], capsys: pytest.CaptureFixture[str]) -> None:
    """Red; refused thrice; waived until its end; red again by itself; mended, green; all of it in the log, which verifies."""
    lead, state = people["ops-lead"], site.folder / ".simulator"
    ask(state, {"do": "fault", "name": "wrong-firmware", "node": NODE, "arguments": {}})
    apply = Apply(site.folder, "--until", "firmware", "--watch")
    try:
        wait_until("the gate is red", lambda: colour(site) == "red")
        for key, words, why in (
            (people["stranger"].key, (), "is a key of nobody in keys/allowed_signers"),
            (people["stranger"].key, ("--by", lead.name), "which is no key of ops-lead@example.org"),
            (people["technician"].key, (), "technician@example.org has not the role waive"),
        ):
            code, words_said = said(capsys, site, *waive(key, *words))
            assert code == 3 and words_said.startswith("metalwright: refused: ") and why in words_said and "hint:" in words_said
        assert colour(site) == "red"

        code, words_said = said(capsys, site, *waive(lead.key))
        ends_at = time.time() + LASTS_S
        assert code == 0 and re.fullmatch(
            rf"{CHECK} on node:{NODE}/firmware:\S+ is waived by ops-lead@example.org until \S+Z; the next turn judges with it\n", words_said
        )
        wait_until("the gate is waived", lambda: colour(site) == "waived", LASTS_S)
        for words in (("gate", "show", "firmware"), ("explain", CHECK, "--on", NODE)):
            assert re.search(r"waived by ops-lead@example.org until [-0-9]+ [:0-9]+ UTC: spare is ordered", said(capsys, site, *words)[1])

        wait_until("it ended by itself", lambda: colour(site) == "red", LASTS_S + 10)
        assert time.time() >= ends_at - 1.5
        ask(state, {"do": "clear"})
        assert said(capsys, site, "node", "retry", NODE)[0] == 0
        wait_until("the node is back", lambda: colour(site) == "green")
    finally:
        apply.interrupted()
    records = site.records()
    verdicts = [
        each.statement["predicate"] for each in records if each.kind == "gate" and each.statement["predicate"]["gate"] == "firmware"
    ]
    told = [each["verdict"] for each in verdicts if each["verdict"] != "undetermined"]
    assert told == ["red", "waived", "red", "green"]
    (waiver,) = [each for each in records if each.kind == "waiver"]
    cited = [found["waiver"] for each in verdicts for found in each["findings"] if "waiver" in found]
    assert cited == [waiver.statement["predicate"]["digest"]]
    assert waiver.says == f"{CHECK} waived by ops-lead@example.org: spare is ordered"
    assert site.verified().is_valid

"""The log key in an SSH agent, and its rotation: the next trust file and the next key become valid together."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalwright.cli.main import main
from metalwright.drivers.signing import rotation
from metalwright.drivers.signing.file_signer import TRUST, FileSigner, open_log
from metalwright.drivers.signing.log_keys import KEY, KEY_PLACE
from metalwright.evidence.bundle import export_bundle
from metalwright.evidence.roots import ssh_root
from metalwright.evidence.sequence import LogState, sequence
from metalwright.evidence.trust import read_trust
from metalwright.evidence.verify import verify_bundle
from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.evidence import LogEntry
from tests.fast.evidence.people import Person, has_ssh_keygen, person
from tests.fast.evidence.small_log import NOW, SPEC, statement

needs_agent = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="needs ssh-agent (Debian package openssh-client)")


class Agent:
    """A real ssh-agent on a socket of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "agent"
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", str(self.socket)], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()  # it says its socket once it listens

    def do(self, *words: str) -> None:
        """ssh-add with these words."""
        subprocess.run(["ssh-add", "-q", *words], env={"SSH_AUTH_SOCK": str(self.socket), "PATH": "/usr/bin:/bin"}, check=True)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    (tmp_path / "a").mkdir()
    agent = Agent(tmp_path / "a")
    try:
        yield agent
    finally:
        agent.process.terminate()
        agent.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def opened(folder: Path) -> FileSigner:
    return open_log(folder, "atlas", simulated=True, now=NOW)


def place(key: Person, agent: Agent) -> bytes:
    return json.dumps({"kind": "ssh-agent", "public": key.public, "socket": str(agent.socket)}).encode()


def grow(signer: FileSigner, number: int) -> tuple[LogEntry, ...]:
    batch = sequence([statement(number)], signer.last_signed().after, signer, NOW + number)
    assert signer.remember(batch)
    return batch.entries


def assert_verifies(folder: Path, signer: FileSigner, *entries: LogEntry) -> None:
    data = export_bundle(spec=SPEC, entries=entries, checkpoint=signer.last_signed().checkpoint, signer=signer, now=NOW + 100)
    assert verify_bundle(data, (folder / TRUST).read_bytes(), NOW + 200).faults == ()


@has_ssh_keygen
@needs_agent
def test_a_key_in_an_ssh_agent_signs_the_log(folder: Path, agent: Agent, tmp_path: Path) -> None:
    """Made with the agent's key from the start; no private key in the state folder; without the agent it waits, and goes on later."""
    key = person(tmp_path, "log")
    agent.do(str(key.key))
    (folder / KEY_PLACE).write_bytes(place(key, agent))
    signer = opened(folder)
    entries = grow(signer, 1) + grow(opened(folder), 2)
    assert_verifies(folder, signer, *entries)
    assert not (folder / KEY).exists()
    agent.do("-D")
    with pytest.raises(TemporaryError) as refused:
        grow(signer, 3)
    assert "ssh-add" in refused.value.hint and signer.last_signed().after.size == 2
    agent.do(str(key.key))
    assert_verifies(folder, signer, *entries, *grow(signer, 3))


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"kind": "cloud"}', '{"kind": "ssh-agent"}', '{"kind": "ssh-agent", "public": "ssh-rsa AAAA"}', '{"kind": "pkcs11"}'],
)
def test_a_key_place_that_is_none_is_refused(folder: Path, text: str) -> None:
    """With words; no other key is made in its stead."""
    (folder / KEY_PLACE).write_text(text)
    with pytest.raises(InputError):
        opened(folder)
    assert not (folder / KEY).exists() and not (folder / TRUST).exists()


def test_an_agent_that_is_away(folder: Path) -> None:
    """No socket at all: said, and tried again by the loop."""
    public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDnT68N1+aPhXIQhFQ0X6jekt0UsUk/iyE8dWHb3g9GN"
    (folder / KEY_PLACE).write_text(json.dumps({"kind": "ssh-agent", "public": public, "socket": str(folder / "none")}))
    with pytest.raises(TemporaryError, match="no answer of the SSH agent"):
        opened(folder)


# -- rotation ------------------------------------------------------------------------------------------------------------------


def test_the_key_is_rotated(folder: Path) -> None:
    """Old records by the old key, new ones by the new; a process that still holds the old key signs nothing more."""
    old = opened(folder)
    entries = grow(old, 1) + grow(old, 2)
    payload = rotation.draft(folder, NOW + 10, new_key=True)
    rotation.install(folder, payload, [], NOW + 10)
    new = opened(folder)
    assert new.public_key != old.public_key and new.trust.version == 2
    assert_verifies(folder, new, *entries)
    with pytest.raises(InputError, match="rotated"):
        old.remember(sequence([statement(3)], old.last_signed().after, old, NOW + 11))
    entries += grow(new, 4)
    assert_verifies(folder, new, *entries)
    assert (folder / f"{KEY}.retired").exists()


def test_a_log_that_grew_since_the_draft(folder: Path) -> None:
    """The new key would be in force from a record that the old one signed: refused, and nothing changed."""
    signer = opened(folder)
    with pytest.raises(InputError, match="has signed no record yet"):
        rotation.draft(folder, NOW, new_key=True)
    grow(signer, 1)
    payload = rotation.draft(folder, NOW, new_key=True)
    grow(signer, 2)
    with pytest.raises(InputError, match="the draft was made at 1"):
        rotation.install(folder, payload, [], NOW)
    grow(opened(folder), 3)


@has_ssh_keygen
def test_peoples_roots_and_a_key_in_an_agent(folder: Path, agent: Agent, tmp_path: Path) -> None:
    """First the roots go to people, then they move the log key into an agent; the site alone can do neither any more."""
    people = [person(tmp_path, name) for name in ("a", "b", "c")]
    entries = grow(opened(folder), 1)
    payload = rotation.draft(folder, NOW, roots=tuple(ssh_root(each.public) for each in people), threshold=2)
    with pytest.raises(InputError, match="0 of its own root keys, 2 are needed"):
        rotation.install(folder, payload, [], NOW)
    rotation.install(folder, payload, [each.sign(payload, "metalwright-trust") for each in people[:2]], NOW)
    key = person(tmp_path, "log")
    agent.do(str(key.key))
    payload = rotation.draft(folder, NOW, key_place=place(key, agent))
    with pytest.raises(InputError) as refused:
        rotation.install(folder, payload, [people[2].sign(payload, "metalwright-trust")], NOW)
    assert "ssh-keygen -Y sign" in refused.value.hint
    rotation.install(folder, payload, [each.sign(payload, "metalwright-trust") for each in people[1:]], NOW)
    assert_verifies(folder, opened(folder), *entries, *grow(opened(folder), 2))
    assert not (folder / KEY).exists()


def test_a_crash_in_the_middle_of_a_rotation(folder: Path, tmp_path: Path) -> None:
    """From the moment of decision on, opening the log carries it on; before it, the old key goes on."""
    entries = grow(opened(folder), 1)
    payload = rotation.draft(folder, NOW, new_key=True)
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    decided = rotation.install(folder, payload, [], NOW)
    new_key = (folder / KEY).read_bytes()
    for at in range(4):
        state = tmp_path / f"crash-{at}"
        shutil.copytree(before, state)
        if at > 0:
            (state / f"{TRUST}.next").write_bytes(decided)
        if at > 1:
            (state / KEY).rename(state / f"{KEY}.retired")
        if at > 2:
            (state / f"{KEY}.next").rename(state / KEY)
        signer = opened(state)
        assert signer.trust.version == (2 if at else 1)
        assert ((state / KEY).read_bytes() == new_key) is bool(at)
        assert_verifies(state, signer, *entries, *grow(signer, 5))
        assert not list(state.glob("*.next")) or not at


@pytest.mark.parametrize("changes", [{"threshold": 2}, {"witness_threshold": 1}, {"roots": (), "threshold": 1}])
def test_a_rotation_that_makes_no_sense_is_refused(folder: Path, changes: dict[str, object]) -> None:
    """Nothing is written for a trust file that could not be used."""
    opened(folder)
    with pytest.raises(InputError):
        rotation.draft(folder, NOW, **changes)
    assert read_trust((folder / TRUST).read_bytes(), NOW).version == 1 and not list(folder.glob("*.next"))
    assert opened(folder).last_signed().after == LogState()


def test_rotation_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Draft, install, show; a site without a log, and a draft of a log without records, are answered in words."""
    assert main(["evidence", "trust", "show", "--site", str(tmp_path)]) == 3
    (tmp_path / ".metalwright").mkdir()
    grow(opened(tmp_path / ".metalwright"), 1)
    words = ("--site", str(tmp_path))
    assert main(["evidence", "trust", "draft", "--new-key", "--out", str(tmp_path / "next"), *words]) == 0
    assert main(["evidence", "trust", "install", str(tmp_path / "next"), *words]) == 0
    assert main(["evidence", "trust", "show", "--json", *words]) == 0
    told = json.loads(capsys.readouterr().out.partition("version 2 is in force")[2].partition("\n")[2])
    assert told["version"] == 2 and [key["from_record"] for key in told["log_keys"]] == [0, 1]
    assert main(["evidence", "trust", "install", str(tmp_path / "none"), *words]) == 3

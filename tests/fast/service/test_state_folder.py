"""The state folder's keys are private, whole, and the same for everyone; BMC memory survives concurrent writers."""

import multiprocessing
import ssl
import stat
from pathlib import Path

import pytest

from metalwright.model.errors import InputError
from metalwright.service.bmc_memory import BmcMemory
from metalwright.service.state_folder import open_state


def _open(site: str) -> tuple[bytes, str]:
    state = open_state(Path(site))
    return state.boot_key, state.pin


def test_two_processes_make_one_set_of_keys(tmp_path: Path) -> None:
    """Opened by several at once for the first time, all get the same keys, readable by their owner alone."""
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        seen = pool.map(_open, [str(tmp_path)] * 6)
    assert len(set(seen)) == 1 and len(seen[0][0]) == 32
    state = open_state(tmp_path)
    for file in state.path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(state.certificate, state.certificate_key)


def _remember(arguments: tuple[str, int]) -> None:
    memory = BmcMemory(Path(arguments[0]))
    memory.put(f"https://bmc{arguments[1]}", f"sha256:{arguments[1]}")
    memory.opened(f"https://bmc{arguments[1]}", "/s/1")
    memory.opened(f"https://bmc{arguments[1]}", "/s/2")
    memory.closed(f"https://bmc{arguments[1]}", "/s/1")


def test_bmc_memory_loses_nothing_between_processes(tmp_path: Path) -> None:
    """Pins and left-over sessions of twelve BMCs, written by four processes at once."""
    file = tmp_path / "bmcs"
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(_remember, [(str(file), number) for number in range(12)])
    memory = BmcMemory(file)
    assert [memory.get(f"https://bmc{number}") for number in range(12)] == [f"sha256:{number}" for number in range(12)]
    assert all(memory.left_over(f"https://bmc{number}") == ("/s/2",) for number in range(12))


def test_a_damaged_bmc_memory_is_not_overwritten(tmp_path: Path) -> None:
    """A pin that cannot be read is never silently forgotten, and harms no other BMC."""
    memory = BmcMemory(tmp_path / "bmcs")
    memory.put("https://bmc1", "sha256:1")
    (damaged,) = (tmp_path / "bmcs").glob("*.json")
    damaged.write_text("{")
    with pytest.raises(InputError, match="memory of https://bmc1, cannot be read"):
        memory.get("https://bmc1")
    with pytest.raises(InputError):
        memory.put("https://bmc1", "sha256:2")
    assert damaged.read_text() == "{"
    memory.put("https://bmc2", "sha256:2")
    assert memory.get("https://bmc2") == "sha256:2"


@pytest.mark.parametrize("name", ["boot.key", "agent-tls.pem", "agent-tls.crt", "agent-tls.key"])
@pytest.mark.parametrize("content", [b"", b"\xdc\x00 not a key"])
def test_a_damaged_key_is_named_and_never_used(tmp_path: Path, name: str, content: bytes) -> None:
    """An empty boot key would make tokens that anyone can guess; a torn certificate is words, not a crash."""
    open_state(tmp_path)
    (tmp_path / ".metalwright" / name).write_bytes(content)
    with pytest.raises(InputError, match="is damaged") as raised:
        open_state(tmp_path)
    assert raised.value.hint

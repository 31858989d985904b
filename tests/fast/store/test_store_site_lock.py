"""One writer per embedded site."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalwright.model.errors import InputError
from metalwright.store import SiteLock

HOLDER = """
import sys
from metalwright.store.site_lock import SiteLock
SiteLock(sys.argv[1]).take()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock of `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_told_who_is_at_work(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    """InputError with the other's process id and what to do; the first is not disturbed."""
    with pytest.raises(InputError, match=f"process {holder.pid} is already at work") as caught:
        SiteLock(tmp_path).take()
    assert "metalwright status" in caught.value.hint
    assert holder.poll() is None


def test_a_killed_holder_leaves_no_lock_behind(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    """Whatever way a process ends, the next one gets the lock at once."""
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with SiteLock(tmp_path) as lock:
        assert lock.is_held


def test_a_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    """A tool that was started while the lock was held does not hold it after the parent let go."""
    with SiteLock(tmp_path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with SiteLock(tmp_path) as lock:
            assert lock.is_held
    finally:
        child.kill()
        child.wait()


def test_the_lock_is_taken_once_and_given_back(tmp_path: Path) -> None:
    """Twice in one process is refused, by one object or by two; after release it is free; releasing twice is no error."""
    first, second = SiteLock(tmp_path / "new" / "folder"), SiteLock(tmp_path / "new" / "folder")
    first.take()
    for lock in (first, second):
        with pytest.raises(InputError):
            lock.take()
    first.release()
    first.release()
    with second:
        assert second.is_held and not first.is_held


def test_a_folder_that_cannot_be_used_is_the_operators_to_correct(tmp_path: Path) -> None:
    """A file where the state folder should be."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="state folder"):
        SiteLock(tmp_path / "file").take()

"""The recorded trees as wholes: a DGX H100 of 5,051 documents, a GB200 tray, an iDRAC9 server of 2,649, a Supermicro host."""

from pathlib import Path

import pytest

from tests.kit.capturing import captured_and_served, nothing_survives, served_as_recorded

pytestmark = pytest.mark.real
TREES = ("nvidia_viking", "nvidia_gb200", "dell", "supermicro")


@pytest.mark.parametrize("name", TREES)
def test_served_again_it_is_inspected_as_the_original(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate serve --capture` on the recorded archive: `node inspect` says word for word what it says of the original."""
    served_as_recorded(name, tmp_path, capsys)


@pytest.mark.parametrize("name", ["nvidia_viking", "nvidia_gb200"])
def test_a_capture_served_again_is_the_same_machine_under_other_names(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`node capture`, then `simulate serve --capture` on what it wrote: the report differs in names only, one stand-in for each."""
    captured_and_served(name, tmp_path, capsys)


@pytest.mark.parametrize("name", TREES)
def test_nothing_that_names_the_machine_survives_in_an_archive(name: str, tmp_path: Path) -> None:
    """No serial, UUID, MAC (also inside UEFI device paths), host name, account or password hash, however it is written."""
    nothing_survives(name, tmp_path)

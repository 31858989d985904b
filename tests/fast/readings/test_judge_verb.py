"""`metalwright judge`: from a file to words, JSON and an exit code."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from metalwright.cli.main import main
from tests.kit.nvidia_smi import document, node
from tests.kit.simulated_site import METALWRIGHT


def _file(folder: Path, raw: bytes) -> str:
    path = folder / "node.txt"
    path.write_bytes(raw)
    return str(path)


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["judge", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def test_exit_codes_say_green_red_undetermined_and_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0, 1, 2, 3 as everywhere; two files are one verdict."""
    bad = node()
    bad[1]["remapped_rows/remapped_row_failure"] = "Yes"
    for raw, code in ((document(node()), 0), (document(bad), 1), (b"hello world\n", 2), (b"", 2), (document(node())[:-900], 2)):
        assert main(["judge", _file(tmp_path, raw)]) == code, capsys.readouterr().out
    assert main(["judge", str(tmp_path / "none")]) == 3
    assert main(["judge", "--profile", "hgx-x9", _file(tmp_path, b"")]) == 3
    good, other = tmp_path / "good.xml", tmp_path / "other.txt"
    good.write_bytes(document(node()))
    other.write_bytes(b"no tool prints this\n")
    assert main(["judge", str(good), str(other)]) == 2


def test_words_name_what_was_seen_what_was_not_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Format, GPUs, driver, platform, the fault with its part and step, and what the file does not hold."""
    gpus = node()
    gpus[6]["pci/pci_gpu_link_info/link_widths/current_link_width"] = "4x"
    gpus[6]["utilization/gpu_util"] = gpus[6]["clocks/sm_clock"] = "0"
    gpus[6]["clocks_event_reasons/clocks_event_reason_gpu_idle"] = "Active"
    main(["judge", _file(tmp_path, document(gpus))])
    said = capsys.readouterr().out
    for words in ("nvidia-smi -q -x", "8 × NVIDIA H100 80GB HBM3, driver 580.105.08", "hgx-h100-8 (by the GPU's name"):
        assert words in said
    assert "lower while nothing runs" in said
    assert "os.gpu-clocks (needs a capture in which every GPU works)" in said
    assert "undetermined: " in said.splitlines()[-1]


def test_standard_input_is_read() -> None:
    """`nvidia-smi -q -x | metalwright judge -`."""
    command = [*METALWRIGHT, "judge", "--json", "--profile", "hgx-h100", "-"]
    done = subprocess.run(command, input=document(node()), capture_output=True, check=False)
    code, told = done.returncode, json.loads(done.stdout)
    assert (code, told["verdict"], told["profile"], told["profile_from"]) == (0, "green", "hgx-h100-8", "--profile")
    assert told["readings"] == [
        {
            "where": "standard input",
            "format": "nvidia-smi -q -x",
            "seen": "8 × NVIDIA H100 80GB HBM3, driver 580.105.08",
            "not_read": [],
        }
    ]
    assert all(finding["result"] == "pass" for finding in told["findings"])


def test_what_is_not_asked_for_is_not_in_this_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A query of three columns is judged on these alone, and is green."""
    raw = b"index, name, uuid, memory.total [MiB]\n" + b"".join(
        f"{n}, NVIDIA H100 80GB HBM3, GPU-0000000{n}-aaaa-bbbb-cccc-dddddddddddd, 81559 MiB\n".encode() for n in range(8)
    )
    code, told = _json(capsys, _file(tmp_path, raw))
    assert code == 0, told
    assert {finding["check"] for finding in told["findings"]} == {
        f"os.gpu-{each}" for each in ("reach", "count", "model", "uuid", "memory")
    }
    assert "os.gpu-ecc" in {each["check"] for each in told["not_in_this_file"]}

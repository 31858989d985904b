"""The log key in a PKCS#11 module: SoftHSM stands for any hardware module."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("softhsm2-util") is None or not MODULE.exists(), reason="needs SoftHSM (Debian package softhsm2)"),
    pytest.mark.skipif(importlib.util.find_spec("pkcs11") is None, reason="needs python-pkcs11 (pip install metalwright[hsm])"),
]
PIN = "4711"
MAKE_KEY = f"""
import pkcs11
token = pkcs11.lib({str(MODULE)!r}).get_token(token_label="metalwright")
with token.open(rw=True, user_pin={PIN!r}) as session:
    oid = bytes.fromhex("06032b6570")  # 1.3.101.112, Ed25519 (RFC 8410)
    curve = session.create_domain_parameters(pkcs11.KeyType.EC_EDWARDS, {{pkcs11.Attribute.EC_PARAMS: oid}}, local=True)
    curve.generate_keypair(mechanism=pkcs11.Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label="log")
"""
SIGN_AND_VERIFY = """
import sys
from pathlib import Path
from metalwright.drivers.signing.file_signer import TRUST, open_log
from metalwright.evidence.bundle import export_bundle
from metalwright.evidence.sequence import sequence
from metalwright.evidence.verify import verify_bundle
from tests.fast.evidence.small_log import NOW, SPEC, statements

folder = Path(sys.argv[1])
entries = ()
for number in range(2):
    signer = open_log(folder, "atlas", simulated=True, now=NOW)
    batch = sequence(statements(4)[2 * number : 2 * number + 2], signer.last_signed().after, signer, NOW)
    assert signer.remember(batch)
    entries += batch.entries
data = export_bundle(spec=SPEC, entries=entries, checkpoint=batch.checkpoint, signer=signer, now=NOW)
assert verify_bundle(data, (folder / TRUST).read_bytes(), NOW).faults == ()
print(sorted(path.name for path in folder.iterdir() if path.name.startswith("log.key")))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A token of its own with an Ed25519 key pair; SoftHSM reads its configuration once per process."""
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\nlog.level = ERROR\n")
    root = Path(__file__).resolve().parents[3]
    found = os.environ | {"SOFTHSM2_CONF": str(tmp_path / "softhsm2.conf"), "PYTHONPATH": f"{root / 'src'}:{root}"}
    words = ["--init-token", "--free", "--label", "metalwright", "--pin", PIN, "--so-pin", PIN]
    subprocess.run(["softhsm2-util", *words], env=found, check=True, capture_output=True)
    subprocess.run([sys.executable, "-c", MAKE_KEY], env=found, check=True)
    return found


def placed(folder: Path, **changed: str) -> Path:
    """A state folder whose key is in the module."""
    folder.mkdir()
    place = {"kind": "pkcs11", "module": str(MODULE), "token": "metalwright", "label": "log", "pin": "env:HSM_PIN"}
    (folder / "log.key.json").write_text(json.dumps(place | changed))
    return folder


def run(folder: Path, environment: dict[str, str], pin: str = PIN) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", SIGN_AND_VERIFY, str(folder)]
    return subprocess.run(command, env=environment | {"HSM_PIN": pin}, capture_output=True, text=True, check=False)


def test_a_key_in_a_module_signs_the_log(tmp_path: Path, environment: dict[str, str]) -> None:
    """The bundle verifies like any other, and the state folder holds no private key."""
    done = run(placed(tmp_path / "state"), environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['log.key.json']\n"


@pytest.mark.parametrize(
    ("changed", "pin"),
    [({}, "0000"), ({"label": "other"}, PIN), ({"token": "other"}, PIN), ({"module": "/none.so"}, PIN), ({"pin": "4711"}, PIN)],
    ids=["wrong pin", "no such key", "no such token", "no such module", "pin written down"],
)
def test_a_module_that_does_not_fit_is_refused(tmp_path: Path, environment: dict[str, str], changed: dict[str, str], pin: str) -> None:
    """With words that say what to look at; the PIN is in none of them."""
    done = run(placed(tmp_path / "state", **changed), environment, pin)
    assert done.returncode != 0 and "metalwright.model.errors.InputError" in done.stderr
    assert pin not in done.stderr

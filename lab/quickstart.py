"""`./quickstart --machines`: from power-off QEMU machines to verified evidence, in the folder quickstart-site."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.site import clean, only_lab
from metalwright.model.errors import InputError, MetalwrightError, TemporaryError

SITE = Path("quickstart-site")
STATE = SITE / ".lab"
PACKAGES = Path(__file__).with_name("packages.txt")
METALWRIGHT = (sys.executable, "-m", "metalwright.cli.main")
LAB = (sys.executable, "-m", "lab")
READY_WITHIN_S = 180.0
JOURNEY_WITHIN_S = 1800
PATIENCE = 3
"""Emulated machines are slower than servers at everything but power-on."""

COULD_NOT_RUN = 4


def main(arguments: Sequence[str]) -> int:
    """The exit code of the first step that fails, 0 when the evidence is verified."""
    parser = argparse.ArgumentParser(prog="./quickstart --machines", description=__doc__)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="leave the machines running")
    chosen = parser.parse_args(arguments)
    try:
        if os.geteuid() != 0:
            raise InputError("real machines need root: a network namespace, taps, packages", hint="run it as root, or without --machines")
        install_packages()
        make_room()
        return journey(chosen.nodes, keep=chosen.keep)
    except MetalwrightError as error:
        print(f"quickstart: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return COULD_NOT_RUN


def install_packages() -> None:
    """The Debian packages that are not there yet."""
    wanted = [line.split("#")[0].strip() for line in PACKAGES.read_text().splitlines()]
    missing = [name for name in wanted if name and not is_installed(name)]
    if not missing:
        return
    print(f"installing {' '.join(missing)} …", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]):
        try:
            done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=900, check=False)
        except (OSError, subprocess.TimeoutExpired) as failed:
            raise InputError(f"{' '.join(command[:2])}: {failed}", hint=f"install by hand: {' '.join(missing)}") from failed
        if done.returncode != 0:
            raise InputError(f"{' '.join(command[:2])} failed: {done.stderr[-500:]}", hint=f"install by hand: {' '.join(missing)}")


def is_installed(package: str) -> bool:
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True, timeout=30, check=False)
    except OSError as failed:
        raise InputError("this needs Debian or Ubuntu: there is no dpkg-query", hint=f"install what {PACKAGES} lists") from failed
    return "ok installed" in done.stdout


def make_room() -> None:
    """Remove the site of an earlier quickstart; nothing else is ever removed."""
    if not SITE.exists():
        return
    if not (SITE / "site.yaml").is_file():
        raise InputError(f"{SITE} exists and is not a site folder", hint="move it away")
    if STATE.exists():
        with only_lab(STATE):
            clean(STATE)
    shutil.rmtree(SITE)


def journey(nodes: int, *, keep: bool) -> int:
    """Every step shown as a command that one can type."""
    before = [
        (*METALWRIGHT, "init", str(SITE), "--kind", "lab", "--nodes", str(nodes), "--name", "atlas"),
        (*LAB, "prepare", str(SITE)),
        (*METALWRIGHT, "check", str(SITE)),
    ]
    bundle, trust = str(SITE / "evidence.bundle"), str(SITE / "trust.json")
    inside = (*LAB, "exec", "--state", str(STATE), "--")
    apply = (*METALWRIGHT, "apply", str(SITE), "--patience", str(PATIENCE), "--timeout", str(JOURNEY_WITHIN_S))
    after = [
        (*inside, *apply),
        (*METALWRIGHT, "evidence", "export", str(SITE), "--out", bundle, "--trust-out", trust),
        (*METALWRIGHT, "evidence", "verify", bundle, "--trust", trust),
    ]
    if failed := _run_all(before):
        return failed
    with served(keep=keep):
        return _run_all(after)


@contextmanager
def served(*, keep: bool) -> Iterator[None]:
    """BMCs and machines while the block runs; with `keep` also afterwards, with a word on how to go on."""
    STATE.mkdir(parents=True, exist_ok=True)
    output = STATE / "output.txt"
    command = [*LAB, "serve", str(SITE), "--state", str(STATE)]
    print(f"\n$ {_shown(command)} &", flush=True)
    with output.open("w") as written:
        # Without --keep it ends with us, and cleans up, however we end.
        leash = [] if keep else ["setpriv", "--pdeathsig=TERM"]
        serving = subprocess.Popen([*leash, *command], stdin=subprocess.DEVNULL, stdout=written, stderr=written, start_new_session=True)
    try:
        _wait_until_ready(serving, output)
        yield
    except BaseException:
        keep = False
        raise
    finally:
        if keep:
            print(f"\nThe machines go on. Look at {STATE}/nodes/*/console.log; end them with: kill {serving.pid}", flush=True)
        else:
            serving.terminate()
            serving.wait()


def _wait_until_ready(serving: "subprocess.Popen[bytes]", output: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while "ready:" not in output.read_text():
        if serving.poll() is not None or time.monotonic() > deadline:
            raise TemporaryError(f"the lab did not start: {output.read_text()[-1000:].strip()}")
        time.sleep(0.1)
    print(output.read_text().strip(), flush=True)


def _run_all(commands: Sequence[Sequence[str]]) -> int:
    for command in commands:
        print(f"\n$ {_shown(command)}", flush=True)
        if code := subprocess.run(command, check=False).returncode:
            return code
    return 0


def _shown(command: Sequence[str]) -> str:
    """As one would type it."""
    return " ".join(command).replace(" ".join(METALWRIGHT), ".venv/bin/metalwright").replace(sys.executable, ".venv/bin/python")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

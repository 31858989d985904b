"""A Debian file tree from packages: mmdebstrap in, tar members out. No loop device, no second package manager.

`build_tree` runs mmdebstrap once; the RAM disk and the system image are both made from its tar, so ownership, time stamps and order
are decided here and not by the host. mmdebstrap is reproducible when SOURCE_DATE_EPOCH is set (reproducible-builds.org, "mmdebstrap").
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalwright.model.errors import InputError, TemporaryError

SOURCE_DATE_EPOCH = 1_700_000_000
"""Every time stamp of what is built here. Any fixed value serves; this one is later than the packages of Debian 12.0."""

BUILD_TIMEOUT_S = 900.0
MERGED_USR_HOOKS = Path("/usr/share/mmdebstrap/hooks/merged-usr")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRecipe:
    """`variant` as mmdebstrap names it: `extract` unpacks without running package scripts, `minbase` installs.

    `hooks` are shell texts that get the tree's path as $1, run in order after the packages.
    """

    suite: str
    variant: str
    packages: tuple[str, ...]
    hooks: tuple[str, ...] = ()


def build_tree(recipe: TreeRecipe, tar: Path, *, timeout_s: float = BUILD_TIMEOUT_S) -> None:
    """Build the tree into `tar`. InputError: a tool is missing or a package does not exist; TemporaryError: the mirror failed.

    mmdebstrap ends with us and is asked to end, never killed: it has mounts of its own to take down.
    """
    require_tools("mmdebstrap", "setpriv")
    command = ["setpriv", "--pdeathsig=TERM", *mmdebstrap_arguments(recipe, tar)]
    with subprocess.Popen(command, env=build_environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        try:
            _, said = running.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as late:
            message = f"mmdebstrap did not finish within {timeout_s:.0f} s"
            raise TemporaryError(message, retry_after_s=60, hint="is the mirror slow?") from late
        finally:
            if running.poll() is None:
                running.terminate()
    if running.returncode != 0:
        raise _failure(said)


def mmdebstrap_arguments(recipe: TreeRecipe, tar: Path) -> list[str]:
    """The command line. The architecture is fixed: a build host of another kind would need emulation nobody has tested."""
    arguments = ["mmdebstrap", f"--variant={recipe.variant}", "--architectures=amd64", f"--include={','.join(recipe.packages)}"]
    arguments += ["--format=tar", f"--hook-dir={MERGED_USR_HOOKS}"]
    arguments += [f"--keyring={KEYRING}"] if KEYRING.exists() else []
    arguments += [f"--{_hook_kind(recipe.variant)}-hook={hook}" for hook in recipe.hooks]
    return [*arguments, recipe.suite, str(tar)]


def _hook_kind(variant: str) -> str:
    """mmdebstrap(1): the extract variant ends after the extract hooks."""
    return "extract" if variant == "extract" else "customize"


def build_environment() -> dict[str, str]:
    """A fixed environment: locale, hash seed and time must not reach the result; proxies must reach apt."""
    passed = {name: value for name, value in os.environ.items() if name.lower() in ("http_proxy", "https_proxy", "no_proxy", "tmpdir")}
    return {
        **passed,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
    }


def require_tools(*names: str) -> None:
    """InputError that names every missing program at once."""
    missing = [name for name in names if shutil.which(name, path=build_environment()["PATH"]) is None]
    if missing:
        raise InputError(f"not installed: {', '.join(missing)}", hint="install the Debian packages listed in lab/packages.txt")


def inputs_digest(parts: Iterable[bytes | str]) -> str:
    """Hex sha256 over length-prefixed parts: the cache key of a build."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file of any size."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def run_tool(arguments: Sequence[str], *, timeout_s: float = 300.0, stdin: bytes | None = None) -> bytes:
    """Run one build tool in the fixed environment and return its output; InputError with its last words when it fails."""
    require_tools(arguments[0])
    try:
        done = subprocess.run(arguments, env=build_environment(), input=stdin, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as late:
        raise TemporaryError(f"{arguments[0]} did not finish within {timeout_s:.0f} s", retry_after_s=60) from late
    if done.returncode != 0:
        raise InputError(f"{arguments[0]} failed ({done.returncode}): {last_words(done.stderr.decode(errors='replace'))}")
    return done.stdout


def last_words(text: str, lines: int = 6) -> str:
    """The end of a tool's output, bounded: enough to see the cause, never a flood."""
    return " / ".join(line.strip() for line in text.strip().splitlines()[-lines:])[-1500:]


def _failure(stderr: str) -> InputError | TemporaryError:
    message = f"mmdebstrap failed: {last_words(stderr)}"
    if "Unable to locate package" in stderr or "no installation candidate" in stderr:
        return InputError(message, hint="the suite has no such package: check the names in the recipe")
    return TemporaryError(message, retry_after_s=60, hint="is the Debian mirror reachable from here?")

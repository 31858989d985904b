"""References → secrets, at the moment of use. What is read goes into `Secret`, never into a message.

`env:NAME` an environment variable · `file:path` a file of the site folder that only its owner can read · `vault:path` not yet.
"""

import os
import stat
from pathlib import Path

from metalwright.codec.markers import is_secret_reference
from metalwright.codec.site_files import FileRefused, SiteFiles
from metalwright.model.errors import InputError
from metalwright.model.secret import Secret

MOST_BYTES = 64 << 10


def resolve(ref: str, folder: Path) -> Secret:
    """The secret that `ref` names; InputError with what to do when it cannot be had. `file:` paths are relative to `folder`."""
    if not is_secret_reference(ref):
        # The text may be the secret itself: it is never shown.
        raise InputError("a secret is not given by reference", hint="write env:NAME, file:path/in/the/folder or vault:path")
    kind, _, rest = ref.partition(":")
    match kind:
        case "env":
            return _whole(ref, os.environ.get(rest), f"set the environment variable {rest}")
        case "file":
            return _whole(ref, _read(rest, folder), f"write the secret into {folder / rest}")
        case _:
            raise InputError(f"{ref}: secrets from a vault are not available yet", hint="use env: or file: for now")


def _whole(ref: str, text: str | None, hint: str) -> Secret:
    if text is None:
        raise InputError(f"{ref} is not set", hint=hint)
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise InputError(f"{ref} is empty", hint=hint)
    if "\x00" in text:
        raise InputError(f"{ref} holds a NUL character", hint=hint)
    return Secret(text)


def _read(name: str, folder: Path) -> str:
    try:
        data = SiteFiles(folder).read(name, MOST_BYTES, check=_refuse_open_to_others)
    except FileRefused as refused:
        raise InputError(f"file:{refused.message}", hint=refused.hint) from refused
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"file:{name} is not UTF-8 text", hint="a secret is one line of text") from None


def _refuse_open_to_others(name: str, facts: os.stat_result) -> None:
    mode = stat.S_IMODE(facts.st_mode)
    if mode & 0o077:
        raise FileRefused(f"{name} can be read by others (mode {mode:04o})", f"chmod 600 {name}")

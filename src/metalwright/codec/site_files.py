"""Bytes of the site folder, safely: bounded, regular files inside the folder only. Every refusal says what to do."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

YAML_LIMIT = 1 << 20
"""A declared site of 10,000 nodes with its nodes in CSV is under 300 kB; the YAML scanner reads about 0.3 MB a second."""
TABLE_LIMIT = 48 << 20
"""A packing list with every part of 10,000 servers is about 25 MB."""


class FileRefused(Exception):
    """This file is not read; caught by the reader of the folder, who knows which line named it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The folder as the operator named it."""

    folder: Path

    def shown(self, name: str) -> str:
        """The file as messages call it: under the folder's name as given."""
        return str(self.folder / name)

    def read(self, name: str, limit: int, check: Callable[[str, os.stat_result], None] | None = None) -> bytes:
        """All bytes of a file; FileRefused when it is missing, outside, not a regular file, empty or over `limit` bytes.

        `check` may refuse by the facts of the very file that is then read.
        """
        self._refuse_outside(name)
        try:
            with open(self.folder / name, "rb", opener=_open_at_once) as file:
                facts = os.fstat(file.fileno())
                _refuse_unless_regular(name, facts, limit)
                if check is not None:
                    check(name, facts)
                data = file.read(limit + 1)
        except OSError as error:
            raise FileRefused(
                f"{name}: {_reason(error)}", "check the name and the permissions; names are relative to the site folder"
            ) from error
        if len(data) > limit:
            raise FileRefused(f"{name} is larger than {_size(limit)}", _TOO_LARGE)
        if not data.strip():
            raise FileRefused(f"{name} is empty", "start from a scaffold: `metalwright init DIR`")
        return data

    def matching(self, pattern: str) -> list[str]:
        """Names that a pattern such as `images/*.yaml` names, sorted; one star, in the last part only."""
        folder, _, last = pattern.rpartition("/")
        if "*" in folder or last.count("*") != 1 or not last.endswith(".yaml"):
            raise FileRefused(f"{pattern} is no pattern that is read", "use one star in the file name, such as images/*.yaml")
        self._refuse_outside(folder or ".")
        head, tail = last.split("*")
        try:
            names = sorted(os.listdir(self.folder / folder))
        except OSError as error:
            raise FileRefused(f"{folder}: {_reason(error)}", "make the folder, or remove the key that names it") from error
        prefix = f"{folder}/" if folder else ""
        return [prefix + name for name in names if name.startswith(head) and name.endswith(tail) and not name.startswith(".")]

    def _refuse_outside(self, name: str) -> None:
        if re.search(r"[\x00-\x1f\x7f]", name) or len(name) > 240:
            raise FileRefused("the file name holds control characters or is too long", "use a plain relative file name")
        if name.startswith(("/", "~")) or ".." in Path(name).parts:
            raise FileRefused(f"{name} leads outside the site folder", "copy the file into the folder and name it relative to site.yaml")
        try:
            inside = (self.folder / name).resolve().is_relative_to(self.folder.resolve())
        except (OSError, RuntimeError, ValueError) as error:
            raise FileRefused(f"{name} cannot be resolved", "use a plain relative file name") from error
        if not inside:
            raise FileRefused(f"{name} is a link that leads outside the site folder", "copy the file into the folder")


_TOO_LARGE = "a declared site is small: nodes and parts belong into CSV files, images and captures elsewhere"


def _open_at_once(path: str, flags: int) -> int:
    """A pipe without a writer would keep us for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _refuse_unless_regular(name: str, facts: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise FileRefused(f"{name} is not a regular file", "pipes, sockets and devices are not read")
    if facts.st_size > limit:
        raise FileRefused(f"{name} is {_size(facts.st_size)}, larger than {_size(limit)}", _TOO_LARGE)


def _reason(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()


def _size(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def decode_text(name: str, data: bytes, *, byte_order_mark: bool) -> str:
    """UTF-8 text. A byte order mark is dropped when allowed (spreadsheets write one into CSV), else refused with the reason."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileRefused(f"{name} is UTF-16 text", "save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        if not byte_order_mark:
            raise FileRefused(f"{name} starts with a byte order mark (BOM)", "save it as UTF-8 without BOM")
        data = data[3:]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileRefused(f"{name} is not UTF-8 text: byte {data[error.start]:#04x} in line {line}", "save it as UTF-8") from error

"""Reads a recorded tree from a folder, a tar archive or a zip file: `…/redfish/v1/…/index.json`, wherever it begins.

`metalwright node capture` writes such archives; DMTF's mockup creator writes such folders, and a short form whose top is the service
root itself. Files come from anywhere, so their number and sizes are bounded and nothing is unpacked to disk.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from metalwright.model.errors import InputError

ROOT = "/redfish/v1"
_MOST_FILES = 100_000
_MOST_BYTES = 512 * 1024 * 1024
_LARGEST = 64 * 1024 * 1024
"""The largest honest documents are registries of a few MiB."""
_HINT = "give an archive of `metalwright node capture`, or a folder, tar or zip with …/redfish/v1/index.json in it"
File = tuple[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTree:
    """`documents` by path without trailing slash, later pages with their query; `answers` are recorded errors: status and body."""

    documents: dict[str, bytes]
    answers: dict[str, tuple[int, bytes]]


def load_tree(source: Path) -> RecordedTree:
    """InputError when it cannot be read, is too large, or holds no service root."""
    try:
        files = dict(_bounded(_files(source)))
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{source} cannot be read: {error}", hint=_HINT) from error
    top = _top(files)
    if top is None:
        raise InputError(f"{source} holds no recorded service root", hint=_HINT)
    documents: dict[str, bytes] = {}
    answers: dict[str, tuple[int, bytes]] = {}
    for name, body in files.items():
        folder, _, kind = name.rpartition("/")
        path = ROOT + folder[len(top) :] if f"{folder}/".startswith(f"{top}/") else None
        if path is not None and kind == "index.json":
            documents[path] = body
        elif path is not None and kind == "answer.json" and (answer := _answer(body)) is not None:
            answers[path] = answer
    return RecordedTree(documents=documents, answers=answers)


def _top(files: dict[str, bytes]) -> str | None:
    """The folder of the service root: the least deep one; a short form has it at the very top."""
    roots = [name.removesuffix("/index.json") for name in files if name.endswith("redfish/v1/index.json")]
    if roots:
        return min(roots, key=lambda name: (name.count("/"), name))
    short = [name.removesuffix("/index.json") for name in files if name.endswith("/index.json") and _is_root(files[name])]
    return min(short, key=lambda name: name.count("/"), default=None)


def _is_root(body: bytes) -> bool:
    document = _object(body)
    return "RedfishVersion" in document and isinstance(document.get("Systems"), dict)


def _answer(body: bytes) -> tuple[int, bytes] | None:
    recorded = _object(body)
    status = recorded.get("status")
    if not isinstance(status, int) or not 200 <= status < 600:
        return None
    return status, orjson.dumps(recorded.get("document"))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _bounded(files: Iterable[File]) -> Iterator[File]:
    total = 0
    for number, (name, body) in enumerate(files):
        total += len(body)
        if number >= _MOST_FILES or total > _MOST_BYTES:
            raise ValueError("it is larger than any BMC's tree")
        yield name, body


def _files(source: Path) -> Iterator[File]:
    """JSON files with their paths; a leading `/` stands for the top of the source."""
    if source.is_dir():
        yield from _of_folder(source)
    elif zipfile.is_zipfile(source):
        yield from _of_zip(source)
    else:
        yield from _of_tar(source)


def _of_folder(source: Path) -> Iterator[File]:
    for file in sorted(source.rglob("*.json")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                yield "/" + file.relative_to(source).as_posix(), _content(stream)


def _of_zip(source: Path) -> Iterator[File]:
    with zipfile.ZipFile(source) as archive:
        for entry in archive.infolist():
            if not entry.is_dir() and entry.filename.endswith(".json"):
                with archive.open(entry) as stream:
                    yield _name(entry.filename), _content(stream)


def _of_tar(source: Path) -> Iterator[File]:
    with tarfile.open(source) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".json"):
                yield _name(member.name), _content(archive.extractfile(member) or io.BytesIO())


def _name(name: str) -> str:
    return "/" + name.removeprefix("./").lstrip("/")


def _content(stream: IO[bytes]) -> bytes:
    """At most `_LARGEST` bytes, whatever the archive promises (ValueError beyond)."""
    body = stream.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise ValueError("a document in it is larger than any BMC's")
    return body

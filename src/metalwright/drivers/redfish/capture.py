"""The whole tree of one BMC as a scrubbed archive: a bug report that becomes a test, and that the simulator serves.

Shape, as the recorded trees in the tests have it: `capture/redfish/v1/…/index.json` in a tar.xz. Where the BMC answered with an
error, `answer.json` beside it holds `{"status": 503, "document": {…}}`; `capture/UNREAD` lists what gave no answer at all. Logs,
sessions, accounts, keys and schemas are left out: they hold what people wrote, or nothing about the machine.
"""

import io
import re
import secrets
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from metalwright.drivers.redfish.client import Answer, RedfishClient
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable
from metalwright.drivers.redfish.limits import Limits
from metalwright.drivers.redfish.scrub import Scrubber
from metalwright.drivers.redfish.work_list import WorkList

_LEFT_OUT = re.compile(
    r"/(Sessions|Accounts|LogServices|EventService/Subscriptions|JsonSchemas|Schemas|Certificates|Keys|SecureBootDatabases|"
    r"ExternalAccountProviders|MetricReports|Tasks|Jobs)(/|$|\?)|/Registries/(?!.*(BIOS|Bios|Attribute))"
)
"""Of the registries only those of BIOS attributes are a machine's own."""
_LINKS = frozenset({"@odata.id", "Members@odata.nextLink", "@Redfish.ActionInfo", "Uri"})
_REFUSALS = 3
"""A resource may be closed to an account; a BMC that refuses again and again has closed itself."""


@dataclass(slots=True)
class Capture:
    """What was read, before scrubbing, by path. `answers` are errors as the BMC sent them, `unread` has the reason for no answer."""

    documents: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


async def capture_bmc(client: RedfishClient, limits: Limits, say: Callable[[int], None] = lambda count: None) -> Capture:
    """Follow every link below the service root, one after the other: a capture is in no hurry, and some BMCs suffer.

    `say` gets the number of documents after each. BmcFault when the BMC refuses the account.
    """
    capture, todo, refusals = Capture(), WorkList(limits.documents), 0
    todo.push("/redfish/v1", "any")
    while (item := await todo.take()) is not None:
        path, _ = item
        try:
            answer = await client.ask("GET", path)
        except BmcFault as fault:
            refusals += 1
            if refusals > _REFUSALS or not capture.documents:
                raise
            capture.unread[path] = fault.message
        except BmcUnavailable as failure:
            capture.unread[path] = failure.message
        else:
            _keep(capture, path, answer, is_too_much=client.http.received_bytes > limits.total_bytes)
            for link in _links(answer.document) if path in capture.documents else ():
                todo.push(link, "any")
        say(len(capture.documents))
        todo.done(item)
    return capture


def _keep(capture: Capture, path: str, answer: Answer, *, is_too_much: bool) -> None:
    if is_too_much:
        capture.unread[path] = "not read: this BMC has more to say than an archive may hold"
    elif answer.is_ok:
        capture.documents[path] = orjson.dumps(answer.document)
    else:
        capture.answers[path] = orjson.dumps({"status": answer.status, "document": answer.document})


def write_archive(capture: Capture, file: Path, words: Iterable[str] = ()) -> int:
    """Write the scrubbed archive; the number of documents in it. `words` are names to replace that the tree may hold too.

    The key of the stand-ins is made here and kept nowhere.
    """
    scrubber = Scrubber(secrets.token_bytes(32), words=words)
    bodies = {(path, "index.json"): body for path, body in capture.documents.items()}
    bodies |= {(path, "answer.json"): body for path, body in capture.answers.items()}
    scrubber.learn(orjson.loads(body) for body in bodies.values())
    with tarfile.open(file, "w:xz") as archive:
        for (path, kind), body in sorted(bodies.items()):
            _add(archive, f"capture{scrubber.rewrite(path)}/{kind}", orjson.dumps(scrubber.rewrite_document(orjson.loads(body))))
        unread = "".join(f"{scrubber.rewrite(path)}  {scrubber.rewrite(why)}\n" for path, why in sorted(capture.unread.items()))
        _add(archive, "capture/UNREAD", unread.encode())
    return len(capture.documents)


def _add(archive: tarfile.TarFile, name: str, body: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(body)
    entry.mode = 0o644
    archive.addfile(entry, io.BytesIO(body))


def _links(document: Mapping[str, Any]) -> Iterator[str]:
    """Paths below /redfish/v1 that a document names, without fragments; without recursion, since a BMC decides the depth."""
    waiting: list[Any] = [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for name, value in item.items():
                if name in _LINKS and isinstance(value, str):
                    path = value.partition("#")[0].rstrip("/")
                    if path.startswith("/redfish/v1/") and ".." not in path and not _LEFT_OUT.search(path):
                        yield path
                else:
                    waiting.append(value)
        elif isinstance(item, list):
            waiting.extend(item)

"""The whole tree of one BMC as a scrubbed archive: a bug report that becomes a test.

Shape: `<name>/redfish/v1/…/index.json` in a tar.xz, as the recorded trees in the tests are. Logs, sessions, accounts, keys and
schemas are left out: they hold what people wrote, or nothing about the machine.
"""

import io
import re
import secrets
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from metalwright.drivers.redfish.client import RedfishClient
from metalwright.drivers.redfish.failures import BmcUnavailable
from metalwright.drivers.redfish.limits import Limits
from metalwright.drivers.redfish.scrub import Scrubber
from metalwright.drivers.redfish.work_list import WorkList

_LEFT_OUT = re.compile(
    r"/(Sessions|Accounts|LogServices|EventService/Subscriptions|JsonSchemas|Schemas|Registries|Certificates|Keys|"
    r"SecureBootDatabases|ExternalAccountProviders|MetricReports|Tasks|Jobs)(/|$|\?)"
)


@dataclass(slots=True)
class Capture:
    """What was read, before scrubbing: bytes as received, by path; `unread` with the reason."""

    documents: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


async def capture_bmc(client: RedfishClient, limits: Limits) -> Capture:
    """Follow every link below the service root, one after the other: a capture is in no hurry, and some BMCs suffer."""
    capture, todo = Capture(), WorkList(limits.documents)
    todo.push("/redfish/v1", "any")
    while (item := await todo.take()) is not None:
        path, _ = item
        try:
            answer = await client.ask("GET", path)
        except BmcUnavailable as failure:
            capture.unread[path] = failure.message
        else:
            if answer.is_ok and client.http.received_bytes < limits.total_bytes:
                capture.documents[path] = orjson.dumps(answer.document)
                for link in _links(answer.document):
                    todo.push(link, "any")
            else:
                capture.unread[path] = answer.why
        todo.done(item)
    return capture


def write_archive(capture: Capture, name: str, file: Path) -> int:
    """Write the scrubbed archive; the number of documents in it. The key of the stand-ins is made here and kept nowhere."""
    scrubber = Scrubber(secrets.token_bytes(32))
    scrubber.learn(orjson.loads(body) for body in capture.documents.values())
    with tarfile.open(file, "w:xz") as archive:
        for path, body in sorted(capture.documents.items()):
            _add(archive, f"{name}{scrubber.rewrite(path)}/index.json", scrubber.rewrite(body.decode()).encode())
        unread = "".join(f"{scrubber.rewrite(path)}  {scrubber.rewrite(why)}\n" for path, why in sorted(capture.unread.items()))
        _add(archive, f"{name}/UNREAD", unread.encode())
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
                if name in ("@odata.id", "Members@odata.nextLink", "@Redfish.ActionInfo") and isinstance(value, str):
                    path = value.partition("#")[0].rstrip("/")
                    if path.startswith("/redfish/v1/") and ".." not in path and not _LEFT_OUT.search(path):
                        yield path
                else:
                    waiting.append(value)
        elif isinstance(item, list):
            waiting.extend(item)

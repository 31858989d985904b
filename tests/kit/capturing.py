"""Captures, for fast tests on small trees and for slower ones on whole machines."""

import argparse
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from metalwright.cli import node_inspect
from metalwright.drivers.redfish.capture import Capture, write_archive
from metalwright.model.errors import InputError
from metalwright.simulator.recorded.serve import open_recorded
from tests.fast.redfish.listening import listening
from tests.fast.redfish.tree_bmc import TreeBmc, captures, recorded
from tests.fast.simulator.simulated_sites import free_port

Report = dict[str, Any]
USER, PASSWORD, HOST = "operator07", "correct horse", "rack-host-17.example.org"


def node_verb(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    node_inspect.add_parser(parser.add_subparsers())
    args = parser.parse_args(arguments)
    return int(args.run(args))


def report_of(url: str, capsys: pytest.CaptureFixture[str]) -> Report:
    """What `node inspect --json` says, without what differs between any two runs."""
    capsys.readouterr()
    assert node_verb("inspect", url, "--json") == 0
    report: Report = json.loads(capsys.readouterr().out)
    for name in ("url", "requests", "seconds", "certificate"):
        del report["bmc"][name]
    return report


def served_report(source: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    """The same of the tree that `simulate serve --capture` serves over HTTPS."""
    url = f"https://127.0.0.1:{free_port()}"
    with listening(open_recorded(source, url, folder)):
        return report_of(url, capsys)


def served_as_recorded(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recorded archive, served over HTTPS, is inspected as its tree is by a server that shares no code with ours."""
    with listening(TreeBmc(recorded(name))) as bmc:
        original = report_of(bmc.url, capsys)
    assert original["identity"]["system_serial"]
    assert served_report(captures() / "redfish" / f"{name}.tar.xz", folder, capsys) == original


def captured_and_served(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Capture a recorded machine with the command, serve the archive: the report differs in names only, one stand-in for each."""
    file = tmp_path / "bug.tar.xz"
    with listening(TreeBmc(recorded(name))) as bmc:
        original = report_of(bmc.url, capsys)
        assert node_verb("capture", bmc.url, "--output", str(file)) == 0
        with pytest.raises(InputError, match="exists"):
            node_verb("capture", bmc.url, "--output", str(file))
    stand_ins: dict[str, str] = {}
    for where, before, after in pairs(original, served_report(file, tmp_path, capsys)):
        is_name = re.search(r"serial|uuid|macs", where)
        assert before == after or is_name, (where, before, after)
        if isinstance(before, str) and is_name:
            assert before != after, (where, before)
            assert len(before) == len(after)
            assert stand_ins.setdefault(before.upper(), after.upper()) == after.upper()
    assert len(set(stand_ins.values())) == len(stand_ins) > 10


def nothing_survives(name: str, folder: Path) -> None:
    """Write the recorded tree as an archive and look for every telling text of the original in it."""
    tree = {path: body for path, body in recorded(name).items() if not LEFT_OUT.search(path)}
    tree["/redfish/v1/Echo"] = orjson.dumps({"Note": f"login of {USER} with {PASSWORD} from {HOST}"})
    write_archive(Capture(documents=tree), folder / "c.tar.xz", (USER, PASSWORD, HOST))
    text = "\n".join(archived(folder / "c.tar.xz")).lower()
    telling = set(telling_texts(tree)) | {USER, PASSWORD, "rack-host-17"}
    assert len(telling) > 50
    assert sorted(word for word in telling if word.lower() in text) == []


LEFT_OUT = re.compile(r"/(JsonSchemas|Schemas|Registries|LogServices|Sessions|Accounts|Certificates|SecureBootDatabases)(/|$)")


def pairs(before: Any, after: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Leaves of two reports of one shape."""
    assert type(before) is type(after), where
    if isinstance(before, dict):
        assert before.keys() == after.keys(), where
        for name in before:
            yield from pairs(before[name], after[name], f"{where}/{name}")
    elif isinstance(before, list):
        assert len(before) == len(after), where
        for one, other in zip(before, after, strict=True):
            yield from pairs(one, other, where)
    else:
        yield where, before, after


def archived(file: Path) -> Iterator[str]:
    """Names and texts of all members."""
    with tarfile.open(file) as archive:
        for member in archive:
            yield member.name
            yield archive.extractfile(member).read().decode()  # type: ignore[union-attr]


NAMING = re.compile(
    r"serial(number)?$|uuid$|guid$|mac(addr(ess)?)?\d?$|hostname$|fqdn$|servicetag$|racname$|sha\w*password$|salt$|ipmikey$|v3key$|"
    r"duid$|engineid$|nodeid$|entitlementid$|commonname$",
    re.IGNORECASE,
)
NOTHING = re.compile(r"0x0+|[0:.-]+|x+|f[f:-]+f|n/?a|none|null|unknown|not \w+|no \w+|default string|to be filled.*|163X+", re.IGNORECASE)


def telling_texts(tree: Mapping[str, bytes]) -> Iterator[str]:
    """By this test's own rules, not the scrubber's: values of naming properties, MACs (compact too) and UUIDs anywhere."""
    for body in tree.values():
        text = body.decode()
        for mac in re.findall(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])", text):
            if not NOTHING.fullmatch(mac):
                yield from (mac, mac.replace(":", ""))
        yield from (each for each in re.findall(r"\b\w{8}-\w{4}-\w{4}-\w{4}-\w{12}\b", text) if not NOTHING.fullmatch(each))
        try:
            waiting: list[Any] = [orjson.loads(body)]
        except orjson.JSONDecodeError:
            continue
        while waiting:
            item = waiting.pop()
            waiting.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            for key, value in item.items() if isinstance(item, dict) else ():
                text = value.strip() if isinstance(value, str) and NAMING.search(key) else ""
                if len(text) >= 6 and re.search(r"\d", text) and not NOTHING.fullmatch(text):
                    yield text

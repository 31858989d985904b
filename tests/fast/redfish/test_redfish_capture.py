"""A capture names no machine and no person, and is still a BMC: its inventory has the same shape as the real one."""

import argparse
import asyncio
import re
import tarfile
from pathlib import Path

import orjson
import pytest
from conftest import factory, node
from hypothesis import given
from hypothesis import strategies as st
from test_node_inspect import listening
from tree_bmc import TreeBmc, recorded

from metalwright.cli import node_inspect
from metalwright.drivers.redfish.scrub import Scrubber
from metalwright.model.errors import InputError
from metalwright.model.hardware import HardwareFacts
from metalwright.model.observation import HardwareSeen, Kind


def capture(tree: dict[str, bytes], file: Path) -> dict[str, bytes]:
    """Run the command against the tree and load what it wrote."""
    parser = argparse.ArgumentParser()
    node_inspect.add_parser(parser.add_subparsers())
    with listening(TreeBmc(tree)) as bmc:
        args = parser.parse_args(["capture", bmc.url, "--output", str(file)])
        assert args.run(args) == 0
        with pytest.raises(InputError, match="exists"):
            args.run(args)
    found = {}
    with tarfile.open(file) as archive:
        for member in archive:
            path = "/" + member.name.partition("/")[2].removesuffix("/index.json")
            found[path] = archive.extractfile(member).read()  # type: ignore[union-attr]
    assert b"refused" not in found.pop("/UNREAD")
    return found


def facts(tree: dict[str, bytes]) -> HardwareFacts:
    async def run() -> HardwareFacts:
        async with TreeBmc(tree) as bmc:
            driver = factory().open(node(bmc.url))
            body = (await driver.read(Kind.BMC_HARDWARE)).body
            await driver.close()
            assert isinstance(body, HardwareSeen)
            return body.facts

    return asyncio.run(run())


@pytest.mark.parametrize(("name", "gpus"), [("supermicro", 8), ("nvidia_gb200", 4)])
def test_a_capture_is_the_same_machine_without_its_names(name: str, gpus: int, tmp_path: Path) -> None:
    """Every serial, UUID, MAC and address is gone from every file and path; counts, models, versions and joins are kept."""
    tree = dict(recorded(name))
    scrubbed = capture(tree, tmp_path / "bug.tar.xz")
    before, after = facts(tree), facts(scrubbed)
    parts = ("gpus", "drives", "nics", "psus", "cpus", "dimms", "firmware", "nvswitches")
    assert {part: len(getattr(after, part)) for part in parts} == {part: len(getattr(before, part)) for part in parts}
    assert len(after.gpus) == gpus
    assert [gpu.model for gpu in after.gpus] == [gpu.model for gpu in before.gpus]
    assert [firmware.version for firmware in after.firmware] == [firmware.version for firmware in before.firmware]
    named = {part.serial for kind in ("gpus", "drives", "nics", "psus", "dimms") for part in getattr(before, kind) if part.serial}
    named |= {mac for nic in before.nics for mac in nic.macs} | {before.identity.system_serial, before.identity.uuid}
    everything = "\n".join([*scrubbed, *(body.decode() for body in scrubbed.values())]).lower()
    assert [name for name in named if name and name.lower() in everything] == []
    for path in scrubbed:
        assert not re.search(r"/(Sessions|Accounts|LogServices|Certificates)(/|$)", path)


def test_one_value_has_one_stand_in_and_keys_differ() -> None:
    """The same serial is the same stand-in in every document, another archive has another, and lengths stay."""
    documents = [{"SerialNumber": "AB12-x9"}, {"Links": [{"SerialNumber": "AB12-x9"}], "Name": "board AB12-x9"}]
    texts = []
    for key in (b"one", b"two"):
        scrubber = Scrubber(key)
        scrubber.learn(documents)
        first, second = (orjson.loads(scrubber.rewrite(orjson.dumps(document).decode())) for document in documents)
        assert first["SerialNumber"] == second["Links"][0]["SerialNumber"]
        assert second["Name"] == f"board {first['SerialNumber']}"
        assert re.fullmatch(r"[A-Z]{2}\d{2}-[a-z]\d", first["SerialNumber"])
        texts.append(first["SerialNumber"])
    assert texts[0] != texts[1]


def test_addresses_go_and_versions_stay() -> None:
    """IP addresses become documentation addresses; a firmware version that looks like one is kept."""
    scrubber = Scrubber(b"key")
    text = '{"Address": "10.20.0.11", "FirmwareVersion": "1.2.3.4", "SubnetMask": "255.255.255.0", "IPv6": "fe80::5eff:35ff:fefe:4b1"}'
    document = orjson.loads(scrubber.rewrite(text))
    assert document["Address"].startswith("192.0.2.")
    assert document["FirmwareVersion"] == "1.2.3.4"
    assert document["SubnetMask"] == "255.255.255.0"
    assert document["IPv6"].startswith("2001:db8:")


@given(st.text(alphabet="ABCDEFabcdef0123456789-:", min_size=6, max_size=40), st.text(max_size=20))
def test_scrubbed_json_is_json(serial: str, other: str) -> None:
    """Whatever the values are, the result parses and keeps its keys and the lengths of serials."""
    document = {"SerialNumber": serial, "Name": f"x {serial} y", "Other": other}
    scrubber = Scrubber(b"key")
    scrubber.learn([document])
    rewritten = orjson.loads(scrubber.rewrite(orjson.dumps(document).decode()))
    assert list(rewritten) == list(document)
    assert len(rewritten["SerialNumber"]) == len(serial) or ":" in serial

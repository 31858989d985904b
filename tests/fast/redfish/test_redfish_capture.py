"""A capture names no machine and no person, and is still a BMC: served again, it shows what the real one showed."""

import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.drivers.redfish.scrub import Scrubber
from tests.fast.redfish.listening import listening
from tests.fast.redfish.tree_bmc import TreeBmc, recorded
from tests.kit.capturing import captured_and_served, node_verb, nothing_survives, report_of, served_report

# -- round trips ---------------------------------------------------------------------------------------------------------------


def test_a_capture_served_again_is_the_same_machine_under_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Captured by the command and served: the same report but for names, and each name has one stand-in throughout."""
    captured_and_served("supermicro", tmp_path, capsys)


def test_errors_are_captured_as_the_bmc_sent_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A resource that answers 500 and one with an error body under 200 leave the same gaps when served again."""
    tree: dict[str, Any] = dict(recorded("supermicro"))
    error = {"error": {"code": "Base.1.4.InternalError", "message": "internal", "@Message.ExtendedInfo": []}}
    dimms = [path for path in tree if re.search(r"/Systems/1/Memory/[^/]+$", path)]
    tree[dimms[0]] = error

    async def fail(_: TreeBmc, asked: Any) -> Any:
        return (500, {}, orjson.dumps(error)) if asked.path == dimms[1] else None

    with listening(TreeBmc(tree, handlers=[fail])) as bmc:
        original = report_of(bmc.url, capsys)
        assert node_verb("capture", bmc.url, "--output", str(tmp_path / "c.tar.xz")) == 0
    again = served_report(tmp_path / "c.tar.xz", tmp_path, capsys)
    assert [gap["why"] for gap in again["gaps"]] == [gap["why"] for gap in original["gaps"]]
    assert any("status 500 internal" in gap["why"] for gap in original["gaps"])


# -- nothing that names anybody ----------------------------------------------------------------------------------------------------


def test_no_serial_address_name_or_password_survives(tmp_path: Path) -> None:
    """Every serial, UUID, MAC, host name, account, password hash and address of the tree, however written, is gone from the archive."""
    nothing_survives("supermicro", tmp_path)


def test_logs_sessions_and_accounts_are_left_out(tmp_path: Path) -> None:
    """What people wrote, and who they are, is not even read."""
    with listening(TreeBmc(recorded("supermicro"))) as bmc:
        assert node_verb("capture", bmc.url, "--output", str(tmp_path / "c.tar.xz")) == 0
        asked = [request.path for request in bmc.asked]
    assert not [path for path in asked if re.search(r"/(Sessions|Accounts|LogServices|Certificates)(/|$)", path)]
    assert any("Bios" in path for path in asked if "/Registries/" in path), "what BIOS settings there are belongs to the machine"


# -- the scrubber ----------------------------------------------------------------------------------------------------------------


def scrubbed(key: bytes, *documents: dict[str, Any], words: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    scrubber = Scrubber(key, words=words)
    scrubber.learn(documents)
    return [scrubber.rewrite_document(orjson.loads(orjson.dumps(document))) for document in documents]


def test_one_value_has_one_stand_in_and_keys_differ() -> None:
    """The same serial is the same stand-in in every document, another archive has another, and lengths stay."""
    texts = []
    for key in (b"one", b"two"):
        first, second = scrubbed(key, {"SerialNumber": "AB12-x9"}, {"Links": [{"SerialNumber": "AB12-x9"}], "Name": "board AB12-x9"})
        assert first["SerialNumber"] == second["Links"][0]["SerialNumber"]
        assert second["Name"] == f"board {first['SerialNumber']}"
        assert re.fullmatch(r"[A-Z]{2}\d{2}-[a-z]\d", first["SerialNumber"])
        texts.append(first["SerialNumber"])
    assert texts[0] != texts[1]


def test_one_mac_has_one_stand_in_however_it_is_written() -> None:
    """With colons, with dashes, in a list, and run together inside a host name."""
    port, name = scrubbed(
        b"key",
        {"MACAddress": "5C:FF:35:FB:E6:E9", "AssociatedMACAddresses": ["5c-ff-35-fb-e6-e9"]},
        {"Description": "host spr5cff35fbe6e9x is up"},
    )
    plain = port["MACAddress"].replace(":", "").lower()
    assert plain.startswith("02")
    assert port["AssociatedMACAddresses"] == ["-".join(plain[place : place + 2] for place in range(0, 12, 2))]
    assert name["Description"] == f"host spr{plain}x is up"


def test_addresses_go_and_versions_stay() -> None:
    """IP addresses become documentation addresses; a firmware version that looks like one is kept."""
    (document,) = scrubbed(
        b"key",
        {"Address": "10.20.0.11", "FirmwareVersion": "1.2.3.4", "SubnetMask": "255.255.255.0", "IPv6": "fe80::5eff:35ff:fefe:4b1"},
    )
    assert document["Address"].startswith("192.0.2.")
    assert document["FirmwareVersion"] == "1.2.3.4"
    assert document["SubnetMask"] == "255.255.255.0"
    assert document["IPv6"].startswith("2001:db8:")


def test_words_of_the_schema_stay() -> None:
    """A value that every tree has, or that is a property's name somewhere, is no name: the tree would no longer be Redfish."""
    document = {"UserName": "admin", "HostName": "PowerState", "SKU": "Standard", "PowerState": "On", "RoleId": "admin"}
    (after,) = scrubbed(b"key", document, words=("PowerState", "root"))
    assert after["PowerState"] == "On"
    assert after["RoleId"] == "admin"


@pytest.mark.parametrize("text", ["a", "a.", "a@", "0", "ab:", "1.", "0:", "fe80::", "x-"])
def test_a_long_text_takes_no_long_time(text: str) -> None:
    """A BMC chooses its texts: 400 kB of what patterns begin with is scrubbed in time that grows with its length only."""
    began = time.process_time()
    scrubbed(b"key", {"Description": text * (400_000 // len(text)), "SerialNumber": "AAAA1111"})
    assert time.process_time() - began < 2


@settings(max_examples=40)
@given(st.text(alphabet="ABCDEFabcdef0123456789-:", min_size=6, max_size=40), st.text(max_size=20), st.integers(0, 2**63 - 1))
def test_scrubbed_json_is_json(serial: str, other: str, number: int) -> None:
    """Whatever the values are, keys, kinds and lengths stay."""
    (after,) = scrubbed(b"key", {"SerialNumber": serial, "Name": f"x {serial} y", "Other": other, "AssetTag": number})
    assert list(after) == ["SerialNumber", "Name", "Other", "AssetTag"]
    assert len(after["SerialNumber"]) == len(serial)
    assert type(after["AssetTag"]) is int

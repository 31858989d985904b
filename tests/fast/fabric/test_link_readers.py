"""What ibnetdiscover and lldpcli print, read whole; anything else is unreadable, never an empty fabric."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.model.cabling import UNNAMED, End, LinkSight, SeenLink
from metalwright.model.reading import Unreadable
from metalwright.readers import ibnetdiscover, lldp
from tests.kit.captures import capture


def read_fabric(raw: bytes) -> LinkSight:
    found = ibnetdiscover.read(raw)
    assert isinstance(found, LinkSight), found
    return found


def test_a_real_ndr_fabric_is_read_whole() -> None:
    """40 switches and 542 adapters (40 more are end points inside switch chips): every link from both ends, all of 400 Gb/s."""
    sight = read_fabric(capture("infiniband/ibnetdiscover-ndr.out"))
    far = {link.near: link.far for link in sight.links}
    assert len(sight.links) == len(far) == 2148 and not sight.unread
    assert all(other is not None and far[other] == near for near, other in far.items())
    assert {(link.rate_gbps, link.lanes) for link in sight.links} == {(400.0, 4)}
    switches = {near.device for near in far if "ibleaf" in near.device or "ibspine" in near.device}
    assert len(switches) == 40
    adapters = [near for near in far if near.device not in switches]
    assert len(adapters) == 542 and sum(near.device.startswith(UNNAMED) for near in adapters) == 69
    assert far[End(device="a09-p1-ibleaf-04-04", port="1")] == End(device="a08-p1-dgx-04-c01", port="mlx5_5")


def test_the_flat_form_is_read() -> None:
    """Ports that are down, or whose far end nobody knows, are no links."""
    sight = read_fabric(capture("infiniband/ibnetdiscover-flat.out"))
    assert Counter(link.rate_gbps for link in sight.links) == {100.0: 7}
    assert (
        SeenLink(near=End(device="o0001", port="hca-1"), far=End(device="ib-i1l1s01", port="10"), rate_gbps=100.0, lanes=4) in sight.links
    )
    assert "ib-i7l2s01" not in sight.spoke


BLOCK = b"""Switch\t41 "S-01"\t# "leaf01" enhanced port 0 lid 1 lmc 0
[1]\t"H-02"[1](02) \t# "node01 mlx5_0" lid 2 2xHDR
[2]\t"H-02"[2](03) \t# "node01 mlx5_0" lid 3 4xQQQ
[3]\tgarbage
[4]\t"H-99"[1](99)\t# "who" lid 4 4xHDR
Ca\t2 "H-02"\t# "node01 mlx5_0"
"""


def test_oddities_are_told() -> None:
    """Half the lanes, a speed nobody knows, a second port, a line that is none, an adapter that is nowhere."""
    sight = read_fabric(BLOCK)
    leaf = [link for link in sight.links if link.near.device == "leaf01"]
    assert [(link.far and link.far.port, link.rate_gbps, link.lanes) for link in leaf] == [("mlx5_0", 100.0, 2), ("mlx5_0/2", None, 4)]
    assert len(sight.unread) == 2


@pytest.mark.parametrize("raw", [b"", b"hello", b'Ca\t1 "H-1"\t# "node01 mlx5_0"\n', b"{}", b"\xff\xfe\x00"])
def test_what_is_no_fabric_is_unreadable(raw: bytes) -> None:
    """A dump of one adapter alone included: the subnet manager was not reached."""
    assert isinstance(ibnetdiscover.read(raw), Unreadable)


@given(st.binary(max_size=400), st.integers(0, len(BLOCK)))
def test_damage_never_crashes_the_fabric_reader(noise: bytes, at: int) -> None:
    """Bytes lost or put in anywhere."""
    for raw in (noise, BLOCK[:at] + noise + BLOCK[at:], BLOCK[:at]):
        assert isinstance(ibnetdiscover.read(raw), LinkSight | Unreadable)


def neighbour(name: str, port: str) -> dict[str, object]:
    """One interface's body in the shape `json`."""
    return {"via": "LLDP", "chassis": {name: {"id": {"type": "mac", "value": "x"}}}, "port": {"id": {"type": "ifname", "value": port}}}


ONE = {"lldp": {"interface": {"eth0": neighbour("leaf01", "swp1")}}}
MANY = {"lldp": {"interface": [{"eth0": neighbour("leaf01", "swp1")}, {"eth1": neighbour("leaf02", "swp1")}]}}
ZERO = {
    "lldp": [
        {
            "interface": [
                {
                    "name": "eth0",
                    "chassis": [{"id": [{"type": "mac", "value": "x"}], "name": [{"value": "Leaf01"}]}],
                    "port": [{"id": [{"type": "mac", "value": "y"}], "descr": [{"value": "swp1"}]}],
                }
            ]
        }
    ]
}
LEAF01 = SeenLink(near=End(device="node01", port="eth0"), far=End(device="leaf01", port="swp1"))


@pytest.mark.parametrize(("shape", "links"), [(ONE, 1), (MANY, 2), (ZERO, 1)], ids=["one", "many", "json0"])
def test_neighbours_in_every_shape(shape: dict[str, object], links: int) -> None:
    """One interface is an object, several are a list, json0 always lists; a MAC as port id leaves the description."""
    sight = lldp.read(json.dumps(shape).encode(), "node01")
    assert isinstance(sight, LinkSight) and sight.links[0] == LEAF01 and len(sight.links) == links


def test_a_neighbour_without_a_name_is_told() -> None:
    """It is a link, and nobody knows whose."""
    sight = lldp.read(json.dumps({"lldp": {"interface": {"eth0": {"chassis": {"id": {"value": "x"}}, "port": {}}}}}).encode(), "n")
    assert isinstance(sight, LinkSight) and not sight.links and len(sight.unread) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["lldp", "interface", "name", "chassis", "port", "id", "value", "descr", "type", "eth0"]), inner, max_size=4
        )
    ),
)


@given(JSON)
def test_any_json_is_read_or_unreadable(value: object) -> None:
    """No shape crashes."""
    for shape in (value, {"lldp": value}, {"lldp": {"interface": value}}, {"lldp": {"interface": {"eth0": value}}}):
        assert isinstance(lldp.read(json.dumps(shape).encode(), "n"), LinkSight | Unreadable)

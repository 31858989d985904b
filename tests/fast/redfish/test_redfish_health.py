"""What a BMC watches is read with its own words and times: consoles that really answer, XIDs, leaks; what cannot be read is a gap."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from editable_bmc import EditableBmc, link, members
from plain_host import SYSTEM
from tree_bmc import TreeBmc, recorded

from conftest import factory, node
from metalwright.drivers.ipmi.parsing import sol_is_enabled
from metalwright.model.observation import ConsoleWay, CoolantSeen, HealthSeen, Kind, LeakSeen

GPU = "/redfish/v1/Chassis/GPU_3"
BASE = "/redfish/v1/Chassis/Base"


def health(bmc: TreeBmc, port_of: Callable[[int], None] | None = None, speak: bytes | None = None) -> HealthSeen:
    """Read while a TCP server on loopback says `speak` at the port that `port_of` is told."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(speak or b"")
        writer.close()

    async def run() -> HealthSeen:
        async with await asyncio.start_server(say, "127.0.0.1", 0) as server, bmc:
            if port_of is not None:
                port_of(server.sockets[0].getsockname()[1])
            driver = factory().open(node(bmc.url, "SN-1"))
            try:
                seen = await driver.read(Kind.BMC_HEALTH)
            finally:
                await driver.close()
            assert isinstance(seen.body, HealthSeen), seen.failure
            assert seen.gaps == seen.body.gaps
            return seen.body

    return asyncio.run(run())


def with_console(speak: bytes, logs: tuple[str, ...] = ()) -> HealthSeen:
    documents = {f"{SYSTEM}/LogServices": members(*(f"{SYSTEM}/LogServices/{name}" for name in logs))}
    documents |= {f"{SYSTEM}/LogServices/{name}": {"Id": name} for name in logs}
    bmc = EditableBmc(documents, {"LogServices": link(f"{SYSTEM}/LogServices")})

    def listens(port: int) -> None:
        bmc.documents[SYSTEM]["SerialConsole"] = {"SSH": {"ServiceEnabled": True, "Port": port}, "IPMI": {"ServiceEnabled": False}}

    return health(bmc.listening(), listens, speak)


@pytest.mark.parametrize(
    ("speak", "answers"), [(b"SSH-2.0-x\r\n", True), (b"HTTP/1.1 400\r\n", False), (b"", False), (b"S" * 4_000_000, False)]
)
def test_a_console_counts_when_it_answers_as_one(speak: bytes, answers: bool) -> None:
    """An open port is not yet a console, and whatever speaks there is heard for a kilobyte."""
    console = with_console(speak, ("SEL", "HostLogger"))
    assert [(way.way, way.answers) for way in console.consoles] == [("ssh", answers)]
    assert console.console_logs == ("HostLogger",)


def test_a_console_that_is_off_is_none() -> None:
    """A service that is off is not listed, whatever its port."""
    bmc = EditableBmc({}, {"SerialConsole": {"SSH": {"ServiceEnabled": False, "Port": 22}}})
    assert health(bmc.listening()).consoles == ()


def test_a_manager_that_is_down_hides_no_console_of_the_host() -> None:
    """Its consoles matter only where the host lists none: then not knowing them is a gap."""
    documents = {"/redfish/v1/Managers": members("/redfish/v1/Managers/gone")}
    for is_on in (True, False):
        bmc = EditableBmc(documents, {"SerialConsole": {"SSH": {"ServiceEnabled": is_on, "Port": 1}}})
        seen = health(bmc.root(Managers=link("/redfish/v1/Managers")).listening())
        assert len(seen.consoles) == is_on
        assert any(gap.what.startswith("console") for gap in seen.gaps) is not is_on


def test_serial_over_lan_is_on_only_when_ipmitool_says_so() -> None:
    """Unknown words are no console."""
    assert sol_is_enabled("Set in progress : set-complete\nEnabled                         : true\n")
    assert not sol_is_enabled("Enabled                         : false\n")
    assert not sol_is_enabled("")


def test_xids_of_a_dgx_h100_have_the_drivers_times() -> None:
    """The BMC of the recorded machine thinks that it is 2020; the driver's words say when it happened."""
    seen = health(TreeBmc(recorded("nvidia_viking")))
    first = {xid.part: xid for xid in seen.xids}
    assert {xid.code for xid in seen.xids if xid.part == "gpu:1"} >= {62}
    assert first["gpu:2"].at == datetime(2023, 12, 6, 22, 43, 44, tzinfo=UTC).timestamp()
    assert all(xid.part.startswith(("gpu:", "HGX_NVSwitch")) for xid in seen.xids)
    assert {way.way for way in seen.consoles} == {"ipmi", "ssh"}


def water(**detector: Any) -> EditableBmc:
    thermal = f"{BASE}/ThermalSubsystem"
    documents = {
        "/redfish/v1/Chassis": members(BASE, GPU),
        BASE: {"Id": "Base", "ThermalSubsystem": link(thermal)},
        thermal: {"LeakDetection": link(f"{thermal}/Leak"), "CoolantConnectors": link(f"{thermal}/Coolant")},
        f"{thermal}/Leak": {"LeakDetectors": link(f"{thermal}/Leak/All")},
        f"{thermal}/Leak/All": members(f"{thermal}/Leak/1"),
        f"{thermal}/Leak/1": {"Id": "Manifold", **detector},
        f"{thermal}/Coolant": members(f"{thermal}/Coolant/1"),
        f"{thermal}/Coolant/1": {"Id": "In", "SupplyTemperatureCelsius": {"Reading": "31.5"}, "FlowLitersPerMinute": {"Reading": None}},
        GPU: {"Id": "GPU_3", "LogServices": link(f"{GPU}/LogServices")},
        f"{GPU}/LogServices": members(f"{GPU}/LogServices/XID"),
        f"{GPU}/LogServices/XID": {"Id": "XID", "Entries": link(f"{GPU}/LogServices/XID/Entries")},
        f"{GPU}/LogServices/XID/Entries": {
            "Members": [{"Message": "type '[Thu Feb 31 02:27:24 UTC 2023][1] XID 79'"}, {"Message": "nothing"}, None, {}]
        },
    }
    return EditableBmc(documents).root(Chassis=link("/redfish/v1/Chassis"))


def test_leaks_and_coolant() -> None:
    """States are the detector's; a number as text is a number, null is unknown; a time that no calendar has is no time."""
    seen = health(water(DetectorState="Critical").listening())
    assert seen.leaks == (LeakSeen(name="Manifold", state="critical"),)
    assert seen.coolant == (CoolantSeen(name="In", supply_celsius=31.5),)
    assert [(xid.part, xid.code, xid.at) for xid in seen.xids] == [("gpu:3", 79, None)]
    assert health(water(DetectorState="Sulking").listening()).leaks[0].state == "unknown"


def test_a_log_that_cannot_be_read_is_a_gap() -> None:
    """A baseboard that is down hides XIDs: unknown, not none; so does a second page."""
    entries = f"{GPU}/LogServices/XID/Entries"
    for change in (lambda documents: documents.pop(entries), lambda documents: documents.pop(GPU)):
        bmc = water(DetectorState="OK")
        change(bmc.documents)
        assert "xids" in {gap.what.partition("/")[0] for gap in health(bmc.listening()).gaps}
    bmc = water(DetectorState="OK")
    bmc.documents[entries]["Members@odata.nextLink"] = f"{entries}?$skip=2"
    assert "xids" in {gap.what for gap in health(bmc.listening()).gaps}


def test_ipmi_consoles_answer_a_presence_ping() -> None:
    """A BMC that lists IPMI and answers the ping is reachable over it."""

    class Pong(asyncio.DatagramProtocol):
        transport: asyncio.DatagramTransport

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: Any) -> None:
            self.transport.sendto(b"\x06\x00\xff\x06\x00\x00\x11\xbe\x40\x00\x00\x10" + bytes(16), addr)

    async def run() -> tuple[ConsoleWay, ...]:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Pong, local_addr=("127.0.0.1", 0))
        port = transport.get_extra_info("sockname")[1]
        bmc = EditableBmc({}, {"SerialConsole": {"IPMI": {"ServiceEnabled": True, "Port": port}}})
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, "SN-1"))
            seen = await driver.read(Kind.BMC_HEALTH)
            await driver.close()
        transport.close()
        assert isinstance(seen.body, HealthSeen)
        return seen.body.consoles

    assert [(way.way, way.answers) for way in asyncio.run(run())] == [("ipmi", True)]

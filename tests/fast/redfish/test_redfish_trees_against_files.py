"""The inventory of every recorded machine against its files, read by this test in the simplest way; and with its documents broken."""

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metalwright.cli.inspect_notes import standing_out
from metalwright.cli.inspect_view import print_report
from metalwright.drivers.redfish.documents import Documents
from metalwright.drivers.redfish.expand import ExpandTrust
from metalwright.drivers.redfish.factory import make_client
from metalwright.drivers.redfish.inspection import report_of
from metalwright.drivers.redfish.inventory.assemble import assemble
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.trust import CertificateTrust, MemoryPins
from metalwright.drivers.redfish.walk import Walk
from metalwright.model.hardware import HardwareFacts
from tests.fast.redfish.tree_bmc import TreeBmc, recorded

TREES = ("nvidia_viking", "nvidia_gb200", "dell", "supermicro")
Files = dict[str, Any]


def walked(tree: Any) -> Documents:
    """All documents of one inventory, read over real HTTP."""

    async def run() -> Documents:
        async with TreeBmc(tree) as bmc:
            client = make_client(bmc.url, None, CertificateTrust(bmc.url, MemoryPins()), Bounds())
            try:
                return await Walk(client, Bounds().limits, ExpandTrust(), counters=True).run()
            finally:
                await client.close()

    return asyncio.run(run())


@cache
def documents_of(name: str) -> Documents:
    return walked(recorded(name))


@cache
def facts_of(name: str) -> HardwareFacts:
    return assemble(documents_of(name))


def files(name: str, pattern: str) -> Files:
    """Path → document of the recorded files whose path matches."""
    return {path: orjson.loads(body) for path, body in recorded(name).items() if re.search(pattern, path)}


def serials(found: Files) -> list[str]:
    """Those that say something, stripped and sorted."""
    texts = (str(document.get("SerialNumber") or "").strip() for document in found.values())
    return sorted(text for text in texts if text and text not in {"NA", "N/A", "NO DIMM", "Not Available"})


# -- against the files -------------------------------------------------------------------------------------------------------------


def test_every_nvlink_of_the_dgx_is_the_one_that_both_files_name() -> None:
    """144 edges: GPU port, switch port, speed and state as in the GPU port's file, and the switch port's file names it back."""
    port_files = files("nvidia_viking", r"/Processors/GPU_SXM_\d/Ports/NVLink_\d+$")
    edges = set()
    for path, port in port_files.items():
        (peer,) = (each["@odata.id"] for each in port["Links"]["ConnectedSwitchPorts"])
        far = orjson.loads(recorded("nvidia_viking")[peer])
        assert [each["@odata.id"] for each in far["Links"]["ConnectedPorts"]] == [path]
        gpu, number = re.findall(r"GPU_SXM_(\d)/Ports/NVLink_(\d+)$", path)[0]
        switch, far_number = re.findall(r"(NVSwitch_\d)/Ports/NVLink_(\d+)$", peer)[0]
        edges.add((int(gpu), int(number), f"{switch}:{far_number}", port["CurrentSpeedGbps"], port["LinkStatus"] == "LinkUp"))
    facts = facts_of("nvidia_viking")
    assert len(edges) == 144
    assert {(link.gpu, link.port, link.peer, link.gbps, link.state == "up") for link in facts.nvlinks} == edges
    assert all(link.peer_agrees for link in facts.nvlinks)


@pytest.mark.parametrize(
    ("name", "kind", "pattern"),
    [
        ("nvidia_viking", "gpus", r"/HGX_Baseboard_0/Processors/GPU_SXM_\d$"),
        ("nvidia_viking", "dimms", r"/Systems/DGX/Memory/[^/]+$"),
        ("nvidia_viking", "psus", r"/PowerSubsystem/PowerSupplies/[^/]+$"),
        ("nvidia_gb200", "drives", r"/Chassis/[^/]+/Drives/[^/]+$"),
        ("nvidia_gb200", "cpus", r"/Systems/HGX_Baseboard_0/Processors/CPU_\d$"),
        ("dell", "dimms", r"/Systems/System.Embedded.1/Memory/[^/]+$"),
        ("dell", "drives", r"/Storage/[^/]+/Drives/[^/]+$"),
        ("dell", "psus", r"/PowerSubsystem/PowerSupplies/[^/]+$"),
        ("supermicro", "gpus", r"/PCIeDevices/GPU\d$"),
        ("supermicro", "dimms", r"/Systems/1/Memory/[^/]+$"),
        ("supermicro", "nics", r"/Chassis/1/NetworkAdapters/[^/]+$"),
        ("supermicro", "drives", r"/Drives/Disk.Bay.\d+$"),
    ],
)
def test_serials_are_those_of_the_files(name: str, kind: str, pattern: str) -> None:
    """As many as the files have, each once, none invented."""
    wanted = serials(files(name, pattern))
    assert wanted
    assert sorted(part.serial for part in getattr(facts_of(name), kind) if part.serial) == sorted(set(wanted))


@pytest.mark.parametrize("name", TREES)
def test_firmware_is_that_of_the_files(name: str) -> None:
    """Component and version of every installed entry of FirmwareInventory."""
    found = files(name, r"/UpdateService/FirmwareInventory/[^/?]+$")
    installed = {
        document["Id"].partition("__")[2] or document["Id"]: str(document.get("Version")).strip()
        for document in found.values()
        if not document["Id"].startswith(("Previous", "Available"))
    }
    facts = {firmware.component: firmware.version for firmware in facts_of(name).firmware}
    nothing = {"N/A", "None", "", "Not Present"}
    assert facts.items() <= {component: text if text not in nothing else None for component, text in installed.items()}.items()
    assert len(facts) >= 0.75 * len(installed), "iDRAC lists some components twice: as current and as installed"


@pytest.mark.parametrize("name", ["nvidia_viking", "supermicro"])
def test_pcie_links_are_those_of_the_files(name: str) -> None:
    """Generation and lanes, now and at best, of every GPU: from its processor or from its PCIe device."""
    pattern = {"nvidia_viking": r"/HGX_Baseboard_0/Processors/GPU_SXM_\d$", "supermicro": r"/PCIeDevices/GPU\d$"}[name]
    wanted = {}
    for document in files(name, pattern).values():
        link = document.get("PCIeInterface") or document["SystemInterface"]["PCIe"]
        generations = (int(link[key].removeprefix("Gen")) for key in ("PCIeType", "MaxPCIeType"))
        wanted[document["SerialNumber"]] = (*generations, link["LanesInUse"], link["MaxLanes"])
    links = {gpu.serial: gpu.pcie for gpu in facts_of(name).gpus}
    assert {serial: (p.generation, p.max_generation, p.width, p.max_width) for serial, p in links.items() if p} == wanted
    assert len(wanted) == 8


# -- with broken documents ----------------------------------------------------------------------------------------------------------

ERROR = {"error": {"code": "Base.1.4.InternalError", "message": "internal", "@Message.ExtendedInfo": [{"MessageId": "x"}]}}
JUNK = st.sampled_from(
    [None, {}, [], "", "N/A", "  12 ", "-", "9" * 400, "\x00\x1b[2J", -1, 0, 1.5, 1e300, 2**63, True, [None], [[]], {"@odata.id": None},
     {"@odata.id": "/redfish/v1"}, {"@odata.id": "//evil/x"}, [{"@odata.id": 7}], {"Members": None}, ERROR]
)  # fmt: skip


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of a document."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list) and holder[key]:
                waiting.append(holder[key])


def copied(documents: Documents) -> Documents:
    """Changes to it do not reach the original."""
    other = Documents()
    other.found, other.pages = dict(documents.found), {path: dict(members) for path, members in documents.pages.items()}
    other.failed, other.cut, other.warnings = dict(documents.failed), dict(documents.cut), documents.warnings
    return other


@pytest.mark.parametrize("name", TREES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_broken_document_ends_an_inventory(name: str, data: st.DataObject) -> None:
    """Nulls, other types, texts for numbers, placeholders, saved errors anywhere in up to 20 documents, and others gone: still a report."""
    documents = copied(documents_of(name))
    paths = sorted(documents.found)
    for path in data.draw(st.lists(st.sampled_from(paths), max_size=20)):
        if data.draw(st.booleans()):
            documents.found.pop(path, None)
            documents.failed[path] = "status 500"
            continue
        document = orjson.loads(orjson.dumps(documents.found.get(path, ERROR)))
        spots = list(places(document))
        for number in data.draw(st.lists(st.integers(0, 10**6), max_size=5)):
            if spots:
                holder, key = spots[number % len(spots)]
                if isinstance(holder, dict) or key < len(holder):
                    holder[key] = data.draw(JUNK)
        documents.found[path] = document
    report = report_of(documents, assemble(documents))
    assert json.loads(json.dumps(report, allow_nan=False)).keys() == report.keys()


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_broken_body_ends_a_walk(data: st.DataObject) -> None:
    """Over HTTP: bodies that are cut, empty, no object, collections without Members or with nulls in them; people can still read it."""
    tree: Files = dict(recorded("supermicro"))
    broken = [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'{"Members": null}',
        b'{"Members": [null, 7, {}]}',
        b'{"Members": {"@odata.id": 1}}',
        orjson.dumps(ERROR),
    ]
    inventoried = sorted(path for path in documents_of("supermicro").found if path != "/redfish/v1")
    for path in data.draw(st.lists(st.sampled_from(inventoried), min_size=5, max_size=40, unique=True)):
        tree[path] = data.draw(st.sampled_from(broken))
    documents = walked(tree)
    facts = assemble(documents)
    report = report_of(documents, facts)
    assert documents.failed or documents.warnings or facts.gaps
    print_report({**report, "stands_out": list(standing_out(report)), "bmc": {**report["bmc"], "requests": 1, "seconds": 0.1}})

"""One BMC, no site: everything it shows, as one JSON-ready object with stable keys. See docs/node-inspect.md for each key."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from metalwright.drivers.redfish.boot import override_of
from metalwright.drivers.redfish.client import RedfishClient
from metalwright.drivers.redfish.documents import Documents, identifier, inner, text_of
from metalwright.drivers.redfish.expand import ExpandTrust
from metalwright.drivers.redfish.host import boot_of
from metalwright.drivers.redfish.inventory.assemble import assemble
from metalwright.drivers.redfish.inventory.integrity import read_integrity
from metalwright.drivers.redfish.inventory.sight import Sight, pcie_link, sight_of
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.power import power_of
from metalwright.drivers.redfish.walk import Walk
from metalwright.model.hardware import HardwareFacts, NvLink, PcieLink
from metalwright.model.observation import IntegritySeen

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """`facts` as gates see them, `report` as users and scripts see them."""

    facts: HardwareFacts
    report: Json


async def inspect_bmc(client: RedfishClient, bounds: Bounds) -> Inspection:
    """Read everything, link error counters included. BmcFault or BmcUnavailable when the BMC itself cannot be read."""
    began = time.monotonic()
    documents = await Walk(client, bounds.limits, ExpandTrust(), counters=True).run()
    facts = assemble(documents)
    report = report_of(documents, facts)
    report["bmc"]["url"] = str(client.http.origin)
    report["bmc"]["requests"] = client.http.requests
    report["bmc"]["seconds"] = round(time.monotonic() - began, 3)
    return Inspection(facts=facts, report=report)


def report_of(documents: Documents, facts: HardwareFacts) -> Json:
    """Pure: the same documents give the same report."""
    sight = sight_of(documents)
    target, once = override_of(dict(boot_of(dict(sight.host))))
    names = {gpu.index: gpu.name for gpu in facts.gpus}
    return {
        "bmc": _bmc(sight),
        "identity": asdict(facts.identity),
        "power": power_of(dict(sight.host)).value,
        "boot": {"target": target.value, "once": once},
        "bios_version": facts.bios_version,
        "tpm": facts.tpm,
        "cpus": [asdict(cpu) for cpu in facts.cpus],
        "memory_mib": facts.memory_mib,
        "dimms": [asdict(dimm) for dimm in facts.dimms],
        "gpus": [_without(asdict(gpu), "address", "numa_node") for gpu in facts.gpus],
        "nvswitches": [_without(asdict(switch), "address") for switch in facts.nvswitches],
        "nvlink_edges": [_edge(link, names) for link in facts.nvlinks],
        "nics": [_without(asdict(nic), "address", "numa_node") for nic in facts.nics],
        "drives": [_without(asdict(drive), "device", "numa_node") for drive in facts.drives],
        "power_supplies": [asdict(psu) for psu in facts.psus],
        "pcie_devices": _pcie_devices(sight),
        "firmware": [asdict(firmware) for firmware in facts.firmware],
        "console": _console(sight),
        "component_integrity": [_integrity(seen) for seen in read_integrity(sight)],
        "gaps": [asdict(gap) for gap in facts.gaps],
        "lenient_readings": facts.warnings,
    }


def _bmc(sight: Sight) -> Json:
    managers = []
    for path, manager in sight.members(sight.root.get("Managers")):
        managers.append({"name": identifier(path, manager), "firmware": text_of(manager.get("FirmwareVersion"))})
    return {
        "url": "",
        "vendor": text_of(sight.root.get("Vendor")) or sight.vendor.name,
        "product": text_of(sight.root.get("Product")),
        "redfish_version": text_of(sight.root.get("RedfishVersion")),
        "managers": managers,
    }


def _edge(link: NvLink, names: Mapping[int, str]) -> Json:
    peer, _, peer_port = (link.peer or "").rpartition(":")
    return {
        "gpu": link.gpu,
        "gpu_name": names.get(link.gpu),
        "gpu_port": link.port,
        "peer": peer or None,
        "peer_port": int(peer_port) if peer_port.lstrip("-").isdigit() else None,
        "state": link.state,
        "gbps": link.gbps,
        "width": link.width,
        "both_ends_agree": link.peer_agrees,
        "errors": link.errors,
    }


def _pcie_devices(sight: Sight) -> list[Json]:
    """Every PCIe device, also those listed by a system; one entry per name and serial."""
    found: dict[tuple[str, str | None], Json] = {}
    for path, document in sight.documents.found.items():
        if not str(document.get("@odata.type", "")).startswith("#PCIeDevice."):
            continue
        name, serial = identifier(path, document), text_of(document.get("SerialNumber"))
        link = pcie_link(sight.documents, inner(document, "PCIeInterface")) or PcieLink()
        found[(name, serial)] = {
            "name": name,
            "model": text_of(document.get("Model")) or text_of(document.get("Name")),
            "manufacturer": text_of(document.get("Manufacturer")),
            "serial": serial,
            "part_number": text_of(document.get("PartNumber")),
            "firmware": text_of(document.get("FirmwareVersion")),
            **asdict(link),
        }
    return [found[key] for key in sorted(found, key=str)]


def _integrity(seen: IntegritySeen) -> Json:
    fields = asdict(seen)
    enabled, verification = fields.pop("is_enabled"), fields.pop("verification")
    return {**fields, "enabled": enabled, "verification": verification}


def _console(sight: Sight) -> Json:
    """How the serial console is reached: `ssh` and `ipmi` with their ports where they are on; both null when there is none."""
    holders = [inner(sight.host, "SerialConsole")]
    holders += [inner(manager, "SerialConsole") for _, manager in sight.members(sight.root.get("Managers"))]
    found: Json = {"ssh": None, "ipmi": None}
    for holder in holders:
        for protocol, default in (("SSH", 22), ("IPMI", 623)):
            way = inner(holder, protocol)
            listed = holder.get("ConnectTypesSupported")
            is_listed = holder.get("ServiceEnabled") is True and isinstance(listed, list) and protocol in listed
            if found[protocol.lower()] is None and (way.get("ServiceEnabled") is True or is_listed):
                found[protocol.lower()] = {"port": sight.documents.whole(way, "Port") or default}
    return found


def _without(fields: Json, *names: str) -> Json:
    """Drop what only the running system can know."""
    return {name: value for name, value in fields.items() if name not in names}

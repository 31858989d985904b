"""What a BMC watches: consoles, XIDs that the GPUs' driver reported to the baseboard, leak detectors, coolant. One short walk.

XIDs: DGX and HGX baseboards keep one log per GPU, `Chassis/HGX_GPU_SXM_n/LogServices/XID`, with the driver's own words and time.
Consoles: `SerialConsole` of the host (since 2020) or of its managers; OpenBMC keeps the console's text in the host's `HostLogger`.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from metalwright.drivers.redfish.console import answers
from metalwright.drivers.redfish.documents import Document, Documents, identifier, inner, link_of, objects, text_of, trailing_number
from metalwright.drivers.redfish.inventory.integrity import read_integrity
from metalwright.drivers.redfish.inventory.sight import Sight, sight_of
from metalwright.model.observation import ConsoleWay, CoolantSeen, HealthSeen, LeakSeen, XidSeen

_XID = re.compile(r"(?:\[\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) UTC (\d{4})\].{0,40}?)?XID:? ?(\d{1,4})\b", re.IGNORECASE | re.DOTALL)
_STATES = {"OK": "ok", "Warning": "warning", "Critical": "critical"}
_KEEPERS = ("hostlogger", "consolelog", "console", "sol")
"""Ids of log services that keep the host console's text, lower case: OpenBMC's obmc-console shows `HostLogger`."""
_DEFAULTS = {"SSH": 22, "IPMI": 623}
_MOST_XIDS = 512
"""Of one machine. A GPU that repeats itself fills its log; the newest are kept."""


def health_links(route: str, document: Document) -> Iterator[tuple[str, str]]:
    """Where the walk goes (see `routes`)."""
    match route:
        case "root":
            yield from _lists(document, Systems="system", Managers="manager", Chassis="chassis", ComponentIntegrity="integrity")
        case "system":
            yield from _lists(document, LogServices="log")
        case "chassis":
            yield from _lists(document, LogServices="part-log")
            yield from _ones(document, ThermalSubsystem="thermal")
        case "part-log" if identifier("", document).upper() == "XID":
            yield from _ones(document, Entries="entries")
        case "thermal":
            yield from _ones(document, LeakDetection="leak-detection")
            yield from _lists(document, CoolantConnectors="coolant")
        case "leak-detection":
            yield from _lists(document, LeakDetectors="leak-detector")
        case _:
            return


async def read_health(documents: Documents, host: str) -> HealthSeen:
    """The documents of that walk → what is known; `host` is where consoles are tried."""
    sight = sight_of(documents)
    listed = list(_consoles(sight))
    consoles = [ConsoleWay(way=way, port=port, answers=await answers(host, port, way)) for way, port in listed]
    logs = [identifier(path, log) for path, log in sight.members(sight.host.get("LogServices"), "console")]
    xids = [xid for _, chassis in sight.members(sight.root.get("Chassis"), "xids", "leaks") for xid in _xids(sight, chassis)]
    thermal = [documents.get(link_of(chassis.get("ThermalSubsystem"))) for _, chassis in sight.chassis]
    return HealthSeen(
        consoles=tuple(consoles),
        console_logs=tuple(name for name in logs if name.lower() in _KEEPERS),
        xids=tuple(sorted(xids, key=lambda xid: xid.at or 0.0)[-_MOST_XIDS:]),
        leaks=tuple(leak for subsystem in thermal for leak in _leaks(sight, subsystem)),
        coolant=tuple(seen for subsystem in thermal for seen in _coolant(sight, subsystem)),
        integrity=tuple(read_integrity(sight)),
        gaps=tuple(dict.fromkeys(sight.gaps)),
    )


def _lists(document: Document, **routes: str) -> Iterator[tuple[str, str]]:
    yield from ((target, f"list:{route}") for name, route in routes.items() if (target := link_of(document.get(name))))


def _ones(document: Document, **routes: str) -> Iterator[tuple[str, str]]:
    yield from ((target, route) for name, route in routes.items() if (target := link_of(document.get(name))))


def _consoles(sight: Sight) -> Iterator[tuple[str, int]]:
    """The host's own ways; where it lists none, those of its managers, each once. A manager that is down hides none of the host's."""
    own = dict(_ways(sight, inner(sight.host, "SerialConsole")))
    if not own:
        for _, manager in sight.members(sight.root.get("Managers"), "console"):
            own = dict(_ways(sight, inner(manager, "SerialConsole"))) | own
    yield from own.items()


def _ways(sight: Sight, console: Document) -> Iterator[tuple[str, int]]:
    listed = console.get("ConnectTypesSupported")
    for protocol, default in _DEFAULTS.items():
        way = inner(console, protocol)
        is_listed = console.get("ServiceEnabled") is True and isinstance(listed, list) and protocol in listed
        port = sight.documents.whole(way, "Port") or default
        if (way.get("ServiceEnabled") is True or is_listed) and 0 < port < 65536:
            yield protocol.lower(), port


def _xids(sight: Sight, chassis: Document) -> Iterator[XidSeen]:
    name = identifier("", chassis) or "unknown"
    number = trailing_number(name)
    part = f"gpu:{number}" if "GPU" in name.upper() and number is not None else name
    for path, log in sight.members(chassis.get("LogServices"), "xids"):
        entries = link_of(log.get("Entries"))
        if identifier(path, log).upper() != "XID" or entries is None:
            continue
        page = sight.documents.get(entries)
        if not page:
            sight.gap("xids", f"{name}: {sight.documents.failed.get(entries, 'its log was not read')}")
        elif page.get("Members@odata.nextLink"):
            sight.gap("xids", f"{name}: its log has more than one page")
        for entry in objects(page.get("Members")):
            yield from _xid(part, entry)


def _xid(part: str, entry: Document) -> Iterator[XidSeen]:
    """One entry; words that name no XID are none."""
    text = text_of(entry.get("Message")) or ""
    match = _XID.search(text)
    if match is not None:
        yield XidSeen(part=part, code=int(match[5]), at=_driver_time(match), text=text[-200:])


def _driver_time(match: re.Match[str]) -> float | None:
    """The driver's UTC time; the BMC's own `Created` is years off on real machines."""
    month, day, clock, year = match[1], match[2], match[3], match[4]
    try:
        return datetime.strptime(f"{month} {day} {clock} {year}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp() if month else None
    except ValueError:
        return None


def _leaks(sight: Sight, thermal: Document) -> Iterator[LeakSeen]:
    detection = sight.documents.get(link_of(thermal.get("LeakDetection")))
    for path, detector in sight.members(detection.get("LeakDetectors"), "leaks"):
        if inner(detector, "Status").get("State") != "Absent":
            yield LeakSeen(name=identifier(path, detector), state=_STATES.get(str(detector.get("DetectorState")), "unknown"))


def _coolant(sight: Sight, thermal: Document) -> Iterator[CoolantSeen]:
    for path, connector in sight.members(thermal.get("CoolantConnectors"), "coolant"):
        number = sight.documents.number
        yield CoolantSeen(
            name=identifier(path, connector),
            supply_celsius=number(inner(connector, "SupplyTemperatureCelsius"), "Reading"),
            return_celsius=number(inner(connector, "ReturnTemperatureCelsius"), "Reading"),
            flow_lpm=number(inner(connector, "FlowLitersPerMinute"), "Reading"),
        )

"""Logs of a simulated BMC: the host console's (OpenBMC's `HostLogger`), and one of XIDs per GPU, as HGX baseboards keep them."""

from datetime import UTC, datetime

from metalwright.simulator.parts import LoggedXid
from metalwright.simulator.redfish.documents import HOST, PRESENT, ROOT, Document, Renderer, View, children, collection, link, resource
from metalwright.simulator.redfish.systems import timestamp

_CONSOLE = f"{HOST}/LogServices/HostLogger"


def host_logs(view: View) -> Document:
    return collection(f"{HOST}/LogServices", "LogService", "Log Services", [_CONSOLE] if view.is_console_logged else [])


def console_log(view: View) -> Document | None:
    if not view.is_console_logged:
        return None
    return resource(_CONSOLE, "LogService", "Host Logger Service", ServiceEnabled=True, OverWritePolicy="WrapsWhenFull", Status=PRESENT)


def part_logs(view: View, chassis: str) -> Document | None:
    path = f"{ROOT}/Chassis/{chassis}/LogServices"
    return collection(path, "LogService", "Log Services", [f"{path}/XID"]) if _is_gpu(view, chassis) else None


def xid_log(view: View, chassis: str) -> Document | None:
    if not _is_gpu(view, chassis):
        return None
    path = f"{ROOT}/Chassis/{chassis}/LogServices/XID"
    return resource(path, "LogService", "XID Log Service", OverWritePolicy="WrapsWhenFull", Status=PRESENT, **children(path, "Entries"))


def xid_entries(view: View, chassis: str) -> Document | None:
    """Entries come whole, as they do on real baseboards."""
    if not _is_gpu(view, chassis):
        return None
    path = f"{ROOT}/Chassis/{chassis}/LogServices/XID/Entries"
    entries = [entry for key, logged in enumerate(_logged(view, chassis)) if (entry := _entry(f"{path}/{key}", chassis, logged))]
    return collection(path, "LogEntry", "XID Log Entries", []) | {"Members": entries, "Members@odata.count": len(entries)}


def xid_entry(view: View, chassis: str, key: str) -> Document | None:
    logged = _logged(view, chassis) if _is_gpu(view, chassis) else []
    if not key.isdigit() or int(key) >= len(logged):
        return None
    return _entry(f"{ROOT}/Chassis/{chassis}/LogServices/XID/Entries/{int(key)}", chassis, logged[int(key)])


def _entry(path: str, chassis: str, logged: LoggedXid) -> Document:
    words = f"{datetime.fromtimestamp(logged.at, tz=UTC):%a %b %d %H:%M:%S UTC %Y}"
    name = chassis.removeprefix("HGX_")
    return resource(
        path,
        "LogEntry",
        "XID Log Entry",
        EntryType="Event",
        Severity="Critical",
        Created=timestamp(logged.at),
        Message=f"The resource property {name} Driver Event Message has detected errors of type '[{words}][1][00] XID {logged.code}'.",
        Links={"OriginOfCondition": link(f"{ROOT}/Chassis/{chassis}")},
    )


def _is_gpu(view: View, chassis: str) -> bool:
    return any(f"HGX_{gpu.name}" == chassis for gpu in view.parts.gpus)


def _logged(view: View, chassis: str) -> list[LoggedXid]:
    return [logged for logged in view.parts.xids if f"HGX_{logged.gpu}" == chassis]


ROUTES: dict[str, Renderer] = {
    f"{HOST}/LogServices": host_logs,
    _CONSOLE: console_log,
    f"{ROOT}/Chassis/*/LogServices": part_logs,
    f"{ROOT}/Chassis/*/LogServices/XID": xid_log,
    f"{ROOT}/Chassis/*/LogServices/XID/Entries": xid_entries,
    f"{ROOT}/Chassis/*/LogServices/XID/Entries/*": xid_entry,
}

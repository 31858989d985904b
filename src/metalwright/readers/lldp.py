"""`lldpcli show neighbors -f json` and `-f json0` of one host or switch → its links.

The file does not name the device that it comes from; the caller does. In `json` one interface is an object and several are a list; a
chassis with a name is an object keyed by it; `json0` always has lists. Source: lldpd (lldpcli(8)).
"""

import json
from collections.abc import Iterator
from typing import Any

from metalwright.model.cabling import End, LinkSight, SeenLink
from metalwright.model.reading import Unreadable
from metalwright.readers.words import decoded

FORMAT = "lldpcli"


def looks_like(text: str) -> bool:
    """JSON with a key `lldp`."""
    return text.lstrip()[:1] == "{" and '"lldp"' in text[:2000]


def read(raw: bytes, device: str) -> LinkSight | Unreadable:
    """The neighbours of `device`; Unreadable for anything but lldpcli's JSON."""
    try:
        found = json.loads(decoded(raw))
    except (ValueError, RecursionError):
        return Unreadable(reason="not JSON: take lldpcli -f json0 show neighbors")
    if not isinstance(found, dict) or "lldp" not in found:
        return Unreadable(reason="JSON without the key lldp: take lldpcli -f json0 show neighbors")
    here, links, unread = device.lower(), [], []
    for name, interface in _interfaces(found["lldp"]):
        far = _far(interface)
        if far is None:
            unread.append(f"{name}: neighbour without a system name or port")
        else:
            links.append(SeenLink(near=End(device=here, port=name.lower()), far=far))
    return LinkSight(format=FORMAT, links=tuple(links), spoke=frozenset({here}), unread=tuple(unread))


def _interfaces(lldp: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, body) of each, in both shapes."""
    for block in lldp if isinstance(lldp, list) else [lldp]:
        for interface in _list(block.get("interface") if isinstance(block, dict) else None):
            if not isinstance(interface, dict):
                continue
            if isinstance(interface.get("name"), str) and "port" in interface:
                yield interface["name"], interface
            else:
                yield from ((name, body) for name, body in interface.items() if isinstance(body, dict))


def _far(interface: dict[str, Any]) -> End | None:
    chassis = next(iter(_list(interface.get("chassis"))), None)
    port = next(iter(_list(interface.get("port"))), None)
    name = _system_name(chassis)
    port_name = _port_name(port)
    return End(device=name.lower(), port=port_name.lower()) if name and port_name else None


def _system_name(chassis: Any) -> str:
    if not isinstance(chassis, dict):
        return ""
    if "name" in chassis:
        return _value(chassis["name"])
    named = [key for key, body in chassis.items() if isinstance(body, dict) and key != "id"]
    return named[0] if len(named) == 1 else ""


def _port_name(port: Any) -> str:
    """The interface's name: the id if it is one, else the description."""
    if not isinstance(port, dict):
        return ""
    identity = next(iter(_list(port.get("id"))), None)
    if isinstance(identity, dict) and identity.get("type") in ("ifname", "ifalias", "local"):
        return _value(identity)
    return _value(port.get("descr"))


def _value(of: Any) -> str:
    """A text, `{"value": text}`, or a list with one of these."""
    first = next(iter(_list(of)), None)
    found = first.get("value") if isinstance(first, dict) else first
    return found if isinstance(found, str) else ""


def _list(of: Any) -> list[Any]:
    return of if isinstance(of, list) else [] if of is None else [of]

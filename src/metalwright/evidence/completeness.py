"""Every serial of the spec has exactly one current state: what its newest records say.

A machine's serial is a subject of its records (`node:<serial>`). A part of the packing list has its own records (`part:<serial>`), or
shares the state of the machine that the list puts it in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from metalwright.evidence.canonical import read_json, to_base64
from metalwright.evidence.errors import Refused
from metalwright.evidence.statement import Statement

MAX_SPEC_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Serials:
    """Of one spec: serial of a machine → node name ("" for a machine that the spec does not place); serial of a part → its machine's."""

    digest: str
    simulated: bool
    machines: Mapping[str, str]
    parts: Mapping[str, str]

    def all(self) -> list[str]:
        """Every serial, in the order of the bundle."""
        return sorted({*self.machines, *self.parts}, key=lambda serial: to_base64(serial.encode()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The one current state of a serial. `gates`: gate → verdict of its newest record. `index`: the newest record; None: there is none."""

    serial: str
    node: str
    part_of: str
    index: int | None
    gates: Mapping[str, str] = field(default_factory=dict)


def read_serials(spec: bytes, where: str = "spec") -> Serials:
    """The serials of a StoredSpec's JSON. Refused when it is none, or names a serial twice."""
    found = read_json(spec, where, floats=True, limit=MAX_SPEC_BYTES)
    machines: dict[str, str] = {}
    parts: dict[str, str] = {}
    try:
        for node in found["spec"]["nodes"]:
            if machines.setdefault(_serial(node["serial"]), str(node["name"])) != node["name"]:
                raise Refused(where, f"serial {node['serial']} is of two nodes")
        for line in found["spec"]["purchase"]:
            serial, holder = line.get("serial"), line.get("node_serial")
            if serial is None or serial in machines:
                continue
            if holder is None or holder == serial:
                machines[_serial(serial)] = ""
            elif parts.setdefault(_serial(serial), _serial(holder)) != holder:
                raise Refused(where, f"serial {serial} is in two machines")
        simulated = found["spec"]["site"]["simulated"]
        digest = str(found["digest"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Refused(where, "not the spec of a site") from error
    for holder in parts.values():
        machines.setdefault(holder, "")
    if parts.keys() & machines.keys() or not isinstance(simulated, bool):
        raise Refused(where, "a serial is both a machine's and a part's")
    return Serials(digest=digest, simulated=simulated, machines=machines, parts=parts)


class NewestRecords:
    """Takes records in order; knows the newest one of each serial, and each serial's verdict per gate."""

    def __init__(self, serials: Serials) -> None:
        self._serials = serials
        self._index: dict[str, int] = {}
        self._gates: dict[str, dict[str, str]] = {}

    def see(self, index: int, statement: Statement) -> None:
        """One more record."""
        for name, _ in statement.subjects:
            kind, _, serial = name.partition(":")
            if kind not in ("node", "part"):
                continue
            self._index[serial] = index
            gate, verdict = statement.predicate.get("gate"), statement.predicate.get("verdict")
            if statement.kind == "gate" and isinstance(gate, str) and isinstance(verdict, str):
                self._gates.setdefault(serial, {})[gate] = verdict

    def current(self) -> Iterator[Current]:
        """Exactly one state for every serial of the spec."""
        for serial in self._serials.all():
            holder = self._serials.parts.get(serial, "")
            indices = [self._index[name] for name in (serial, holder) if name in self._index]
            yield Current(
                serial=serial,
                node=self._serials.machines.get(holder or serial, ""),
                part_of=holder,
                index=max(indices) if indices else None,
                gates=self._gates.get(serial) or self._gates.get(holder, {}),
            )

    def lines(self) -> Iterator[str]:
        """The `serial` lines of a bundle."""
        for state in self.current():
            yield f"serial {to_base64(state.serial.encode())} {'-' if state.index is None else state.index}"


def _serial(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value

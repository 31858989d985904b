"""Which faults hold on which node: injected and cleared live, remembered in the state folder."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.simulator.fault_changes import Arguments
from metalwright.simulator.faults import FAULTS, find_fault
from metalwright.simulator.machine import MachineFaults, SimulatedMachine
from metalwright.simulator.parts import ServerParts
from metalwright.simulator.redfish.face import FaceFaults
from metalwright.simulator.standing import write_whole
from metalwright.simulator.world import Change, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One fault that holds. `number` is how it is cleared."""

    number: int
    fault: str
    node: NodeName
    arguments: Mapping[str, str]


class FaultDesk:
    """Injects and clears. Faces are there for every node; machines only where they are simulated ones."""

    def __init__(
        self,
        world: World,
        faces: Mapping[NodeName, FaceFaults],
        machines: Mapping[NodeName, SimulatedMachine],
        file: Path | None = None,
    ) -> None:
        self._world = world
        self._faces = faces
        self._machines = machines
        self._file = file
        self._held: list[Held] = self._load()
        for node in {held.node for held in self._held}:
            self._recompute(node)

    def held(self) -> tuple[Held, ...]:
        """Every fault that holds, oldest first."""
        return tuple(self._held)

    def inject(self, name: str, node: NodeName, arguments: Mapping[str, str]) -> Held:
        """From now on. InputError for an unknown fault, node or argument, or a part that is not there: then nothing changes."""
        fault = find_fault(name)
        self._world.node(node)
        if fault.machine is not None and node not in self._machines:
            raise InputError(f"fault {name} is for simulated machines; {node} is a real one behind a simulated BMC")
        number = max((held.number for held in self._held), default=0) + 1
        held = Held(number=number, fault=name, node=node, arguments=fault.arguments(arguments))
        before = self._held
        self._held = [*before, held]
        try:
            self._recompute(node)
        except InputError:
            self._held = before
            self._recompute(node)
            raise
        self._save()
        return held

    def clear(self, *, number: int | None = None, node: NodeName | None = None, fault: str | None = None) -> tuple[Held, ...]:
        """End the faults that fit every given word; with none, all. Returns what ended."""
        ended = tuple(
            held
            for held in self._held
            if (number is None or held.number == number) and (node is None or held.node == node) and (fault is None or held.fault == fault)
        )
        self._held = [held for held in self._held if held not in ended]
        for name in {held.node for held in ended}:
            self._recompute(name)
        self._save()
        return ended

    def _recompute(self, node: NodeName) -> None:
        """The node's parts and manners, from the faults that hold on it."""
        mine = [(FAULTS[held.fault], held.arguments) for held in self._held if held.node == node]
        face, machine = FaceFaults(), MachineFaults()
        changes: list[Change] = []
        for fault, arguments in mine:
            if fault.world is not None:
                changes.append(_bound(fault.world, arguments))
            if fault.face is not None:
                fault.face(face, arguments)
            if fault.machine is not None:
                fault.machine(machine, arguments)
        self._world.change(node, tuple(changes))
        self._world.parts(node)  # a change that does not fit this server is refused here
        _copy(face, self._faces[node])
        if node in self._machines:
            _copy(machine, self._machines[node].faults)

    def _load(self) -> list[Held]:
        """Faults of an earlier run; a file that cannot be read, or names what is gone, is left out."""
        try:
            stored: Any = json.loads(self._file.read_bytes()) if self._file else []
            held = [
                Held(number=int(each["number"]), fault=each["fault"], node=NodeName(each["node"]), arguments=dict(each["arguments"]))
                for each in stored
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [each for each in held if each.fault in FAULTS and each.node in self._faces]

    def _save(self) -> None:
        if self._file is not None:
            rows = [
                {"number": held.number, "fault": held.fault, "node": held.node, "arguments": dict(held.arguments)} for held in self._held
            ]
            write_whole(self._file, json.dumps(rows, indent=1).encode())


def _bound(world: Callable[[ServerParts, Arguments], ServerParts], arguments: Arguments) -> Change:
    return lambda parts: world(parts, arguments)


def _copy(source: FaceFaults | MachineFaults, target: FaceFaults | MachineFaults) -> None:
    """Field by field: faces and machines keep the object they were given."""
    for each in fields(source):
        setattr(target, each.name, getattr(source, each.name))

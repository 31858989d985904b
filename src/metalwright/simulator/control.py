"""The control socket: JSON lines over a Unix socket (mode 0600) in the state folder, for `metalwright simulate` and for tests.

Requests: `{"do": "list"}`, `{"do": "state"}`, `{"do": "fault", "name", "node", "arguments"}`, `{"do": "clear", "number"|"node"|"fault"}`,
`{"do": "act", "name", "node", "arguments"}`. Answers: `{"ok": true, …}` or `{"ok": false, "error", "hint"}`.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metalwright.model.errors import InputError
from metalwright.model.ids import NodeName
from metalwright.simulator.acts import ACTS, act
from metalwright.simulator.fault_desk import FaultDesk, Held
from metalwright.simulator.faults import FAULTS
from metalwright.simulator.machine import SimulatedMachine

_MAX_LINE = 64 * 1024
_TIMEOUT_S = 30.0
Answer = dict[str, Any]


class Control:
    """Answers requests about one site."""

    def __init__(
        self, desk: FaultDesk, machines: Mapping[NodeName, SimulatedMachine], asked: Callable[[NodeName], Mapping[str, int]]
    ) -> None:
        self._desk, self._asked = desk, asked
        self._machines = machines

    async def answer(self, request: Any) -> Answer:
        """The answer to one request; InputError for one that makes no sense."""
        match request:
            case {"do": "list"}:
                return {"faults": [_described(name) for name in FAULTS], "acts": dict(ACTS), "nodes": list(self._machines)}
            case {"do": "state"}:
                return {"nodes": self._nodes(), "faults": [_shown(held) for held in self._desk.held()]}
            case {"do": "fault", "name": str(name), "node": str(node), **rest}:
                return {"fault": _shown(self._desk.inject(name, NodeName(node), _texts(rest.get("arguments", {}))))}
            case {"do": "clear"}:
                return {"cleared": [_shown(held) for held in self._clear(request)]}
            case {"do": "act", "name": str(name), "node": str(node), **rest}:
                return {"done": await act(self._machine(NodeName(node)), name, _texts(rest.get("arguments", {})))}
            case _:
                raise InputError("this request is not understood", hint="do: list, state, fault, clear or act")

    def _clear(self, words: Mapping[str, Any]) -> tuple[Held, ...]:
        number, node, fault = words.get("number"), words.get("node"), words.get("fault")
        if not isinstance(number, int | None) or not isinstance(node, str | None) or not isinstance(fault, str | None):
            raise InputError("clear takes a number, a node and a fault", hint="metalwright simulate fault clear [NUMBER|NODE|FAULT]")
        return self._desk.clear(number=number, node=NodeName(node) if node else None, fault=fault)

    def _machine(self, node: NodeName) -> SimulatedMachine:
        if node not in self._machines:
            raise InputError(f"there is no node {node}", hint=f"nodes: {', '.join(list(self._machines)[:20])}")
        return self._machines[node]

    def _nodes(self) -> list[Answer]:
        return [
            {"node": name, "power": machine.standing.power, "happening": machine.happening, "boots": machine.standing.boots}
            | {"requests": dict(self._asked(name))}
            for name, machine in self._machines.items()
        ]


def _described(name: str) -> Answer:
    fault = FAULTS[name]
    return {
        "name": name,
        "summary": fault.summary,
        "arguments": dict(fault.defaults),
        "turns_red": sorted(fault.turns_red),
        "turns_undetermined": sorted(fault.turns_undetermined),
    }


def _shown(held: Held) -> Answer:
    return {"number": held.number, "fault": held.fault, "node": held.node, "arguments": dict(held.arguments)}


def _texts(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise InputError("arguments are a map of names to texts", hint="name=value")
    return {str(name): str(value) for name, value in given.items()}


# -- the socket ----------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def serve_control(control: Control, state_dir: Path) -> AsyncIterator[None]:
    """Listen while the block runs. InputError when another simulator serves this state folder."""
    path = socket_path(state_dir)
    await asyncio.to_thread(_remove_dead_socket, path)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, ValueError):  # a client that left, a line too long
            while line := await reader.readline():
                writer.write(json.dumps(await _reply(control, line)).encode() + b"\n")
                await writer.drain()

    with _short_address(path) as address:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        old_mask = os.umask(0o177)
        try:
            listener.bind(address)
        finally:
            os.umask(old_mask)
    server = await asyncio.start_unix_server(talk, sock=listener, limit=_MAX_LINE)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _reply(control: Control, line: bytes) -> Answer:
    try:
        return {"ok": True} | await control.answer(json.loads(line))
    except InputError as error:
        return {"ok": False, "error": error.message, "hint": error.hint}
    except ValueError:
        return {"ok": False, "error": "this request is not JSON", "hint": "one JSON object per line"}


def ask(state_dir: Path, request: Mapping[str, Any]) -> Answer:
    """One request, from the command line or a test. InputError when no simulator serves the folder, or it refuses."""
    path = socket_path(state_dir)
    try:
        with _short_address(path) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(address)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer = json.loads(answers.readline())
    except (OSError, ValueError) as error:
        hint = f"start one: metalwright simulate serve SITE --state {state_dir}"
        raise InputError(f"no simulator answers at {path}", hint=hint) from error
    if not isinstance(answer, dict) or not answer.get("ok"):
        raise InputError(str(answer.get("error", "refused")), hint=str(answer.get("hint", "")))
    return answer


def socket_path(state_dir: Path) -> Path:
    """Where the control socket is."""
    return state_dir / "control.sock"


def _remove_dead_socket(path: Path) -> None:
    """A socket that nobody listens on is left over from a killed simulator."""
    if not path.exists():
        return
    with _short_address(path) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address)
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise InputError(f"a simulator already serves {path.parent}", hint="stop it, or give another --state")


@contextlib.contextmanager
def _short_address(path: Path) -> Iterator[str]:
    """Unix socket addresses end at 107 bytes: reach the folder through its descriptor, however deep it is."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)

"""QEMU's control socket: one command at a time, events in order. Source: QEMU docs/interop/qmp-spec."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metalwright.model.errors import TemporaryError

COMMAND_TIMEOUT_S = 10.0
LINE_LIMIT = 1 << 20


class Qmp:
    """A connection to one QEMU. Any failure is a TemporaryError: the process is gone or stuck, and its owner looks again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()
        self.shutdown_reason = ""
        """Why the guest ended, from the SHUTDOWN event: `guest-reset`, `guest-shutdown`, `host-qmp-quit` …"""

    @classmethod
    async def connect(cls, path: Path, timeout_s: float) -> "Qmp":
        """Wait for the socket, shake hands."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        streams = await asyncio.open_unix_connection(str(path), limit=LINE_LIMIT)
                        break
                    except (FileNotFoundError, ConnectionRefusedError):
                        await asyncio.sleep(0.05)
                qmp = cls(*streams)
                await qmp._read()
                await qmp.run("qmp_capabilities")
                return qmp
        except TimeoutError as late:
            raise TemporaryError(f"no QMP answer at {path} within {timeout_s:.0f} s") from late

    async def run(self, command: str, arguments: Mapping[str, object] | None = None) -> object:
        """The command's return value."""
        request: dict[str, object] = {"execute": command, **({"arguments": dict(arguments)} if arguments else {})}
        async with self._turn:
            try:
                async with asyncio.timeout(COMMAND_TIMEOUT_S):
                    self._writer.write(json.dumps(request).encode() + b"\n")
                    await self._writer.drain()
                    while True:
                        answer = await self._read()
                        if "return" in answer:
                            return answer["return"]
                        if "error" in answer:
                            raise TemporaryError(f"QMP {command}: {answer['error']}")
            except TimeoutError as late:
                raise TemporaryError(f"QMP {command} took more than {COMMAND_TIMEOUT_S:.0f} s") from late
            except OSError as broken:
                raise TemporaryError(f"QMP {command}: {broken}") from broken

    async def drain_events(self) -> None:
        """Read what is left after the process has ended, for the reason of its end."""
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                while True:
                    await self._read()
        except (TemporaryError, TimeoutError):
            self._writer.close()

    async def _read(self) -> dict[str, Any]:
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as broken:
            raise TemporaryError(f"QMP connection: {broken}") from broken
        if not line:
            raise TemporaryError("QMP connection closed")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("event") == "SHUTDOWN":
            self.shutdown_reason = str(answer.get("data", {}).get("reason", ""))
        return answer

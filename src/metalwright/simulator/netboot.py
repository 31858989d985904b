"""What a machine's firmware does on the network: fetch the iPXE script of its MAC and read what it says."""

import asyncio
import re
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit

from metalwright.model.agent_messages import BootArguments
from metalwright.model.errors import TemporaryError

_MAX_SCRIPT = 64 * 1024
_TIMEOUT_S = 5.0
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRamDisk:
    """The script starts a kernel with the agent's arguments."""

    arguments: BootArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class GoToDisk:
    """The script leaves the network (`exit`, `sanboot`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """The script says why nothing is booted, and the machine waits; `again` when it says to ask again."""

    why: str
    again: bool


ScriptEnd = StartRamDisk | GoToDisk | Stay


def script_url(boot_url: str, mac: str) -> str:
    """`http://…/boot/52-54-00-aa-bb-cc.ipxe`."""
    return f"{boot_url.rstrip('/')}/boot/{mac.lower().replace(':', '-')}.ipxe"


async def fetch_script(url: str) -> str:
    """The script's text; TemporaryError when the server is away, slow, or has none."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await _get(url)
    except TimeoutError as error:
        raise TemporaryError(f"{url} did not answer within {_TIMEOUT_S:g} s") from error
    except OSError as error:
        raise TemporaryError(f"{url}: {error.strerror or error}") from error


async def _get(url: str) -> str:
    """HTTP/1.0, so that the answer ends with the connection and is never chunked."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        writer.write(f"GET {target} HTTP/1.0\r\nHost: {parts.netloc}\r\nUser-Agent: iPXE/1.21.1 (metalwright simulated)\r\n\r\n".encode())
        await writer.drain()
        answer = await _read_at_most(reader, _MAX_SCRIPT)
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        raise TemporaryError(f"{url} answered {status[0].decode(errors='replace') if status else 'nothing'}")
    return body.decode(errors="replace")


async def _read_at_most(reader: asyncio.StreamReader, limit: int) -> bytes:
    answer = b""
    while chunk := await reader.read(16384):
        answer += chunk
        if len(answer) > limit:
            raise TemporaryError(f"the boot script is longer than {limit} bytes")
    return answer


def read_script(text: str, mac: str) -> ScriptEnd:
    """What an iPXE script comes to. Understands `set`, `${…}`, `kernel`, `exit`, `sanboot`, `chain`, `reboot` and `echo`."""
    variables = {"net0/mac": mac, "mac": mac, "net0/mac:hexhyp": mac.replace(":", "-")}
    said = ""
    for line in text.splitlines():
        words = _words(_VARIABLE.sub(lambda match: variables.get(match[1], ""), line))
        match words:
            case ["set", name, *value]:
                variables[name] = " ".join(value)
            case ["kernel", *rest] if (arguments := _agent_arguments(rest)) is not None:
                return StartRamDisk(arguments=arguments)
            case ["exit" | "sanboot", *_]:
                return GoToDisk()
            case ["reboot" | "chain", *_]:
                return Stay(why=said or "the script asks to come back", again=True)
            case ["echo", *rest]:
                said = " ".join(rest)
    return Stay(why=said or "the script boots nothing", again=False)


def _words(line: str) -> list[str]:
    line = line.strip()
    if not line or line.startswith("#"):
        return []
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _agent_arguments(words: list[str]) -> BootArguments | None:
    """The `mw.` words of a kernel command line; None when one is missing: such a kernel is not the agent's."""
    given = dict(word.partition("=")[::2] for word in words if word.startswith("mw."))
    wanted = ("mw.agent_url", "mw.pin", "mw.token", "mw.images")
    if not all(given.get(name) for name in wanted):
        return None
    agent_url, pin, token, images_url = (given[name] for name in wanted)
    return BootArguments(agent_url=agent_url, pin=pin, token=token, images_url=images_url, stage="ram")

"""Whether a serial console can be reached: who answers at its port. Nobody logs in; the console stays free for people."""

import asyncio

_WAIT_S = 5.0
_MOST_BANNER = 1024
_PRESENCE_PING = bytes.fromhex("0600ff06000011be80000000")
"""RMCP presence ping of ASF 2.0 (DMTF DSP0136, 3.2.4.2), which IPMI 2.0 demands of every LAN channel (13.2)."""


async def answers(host: str, port: int, way: str) -> bool:
    """An SSH server says its version first (RFC 4253, 4.2); an IPMI service answers a presence ping. Silence is False."""
    try:
        async with asyncio.timeout(_WAIT_S):
            return await (_ssh_speaks(host, port) if way == "ssh" else _ipmi_speaks(host, port))
    except (TimeoutError, OSError):
        return False


async def _ssh_speaks(host: str, port: int) -> bool:
    reader, writer = await asyncio.open_connection(host, port, limit=_MOST_BANNER)
    try:
        banner = await reader.read(_MOST_BANNER)
        return banner.startswith(b"SSH-")
    finally:
        writer.close()


async def _ipmi_speaks(host: str, port: int) -> bool:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: _Ear(heard), remote_addr=(host, port))
    try:
        transport.sendto(_PRESENCE_PING)
        return (await heard)[:4] == b"\x06\x00\xff\x06"
    finally:
        transport.close()


class _Ear(asyncio.DatagramProtocol):
    """Keeps the first answer."""

    def __init__(self, heard: asyncio.Future[bytes]) -> None:
        self._heard = heard

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if not self._heard.done():
            self._heard.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self._heard.done():
            self._heard.set_result(b"")

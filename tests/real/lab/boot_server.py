"""The two listeners of a provisioning network, as small as a test can have them: boot files over HTTP, the probe's report over TLS."""

import asyncio
import contextlib
import hashlib
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from lab.network import ADDRESS
from metalwright.model.spec import ImageRecipe

CACHE = Path(__file__).parents[3] / ".cache"
TAPS = ("lab0", "lab1")
RECIPE = ImageRecipe(name="trainer", version="1", builder="mmdebstrap", kernel_command_line="console=ttyS0")
BOOT_URL = f"http://{ADDRESS}:8480"
AGENT_URL = f"https://{ADDRESS}:8443"


@dataclass
class Heard:
    """Paths asked for, and what probes reported."""

    pin: str
    paths: list[str] = field(default_factory=list)
    reports: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)


@contextlib.asynccontextmanager
async def boot_server(files: Mapping[str, bytes], folder: Path) -> AsyncIterator[Heard]:
    """`files`: path → body; `{pin}` in a script becomes the agent listener's pin."""
    certificate, pin = make_certificate(folder)
    heard = Heard(pin=pin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            method, path, body = await read_request(reader)
            heard.paths.append(path)
            if method == "POST":
                heard.reports.put_nowait(json.loads(body))
            content = files.get(path, b"" if method == "POST" else None)
            found = b"404 Not Found" if content is None else b"200 OK"
            content = (content or b"").replace(b"{pin}", pin.encode()) if path.endswith(".ipxe") else content or b""
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (found, len(content)))
            writer.write(content if method != "HEAD" else b"")
            await writer.drain()
        writer.close()

    plain = await asyncio.start_server(answer, ADDRESS, 8480)
    secure = await asyncio.start_server(answer, ADDRESS, 8443, ssl=context)
    async with plain, secure:
        yield heard


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    lengths = [line.partition(":")[2] for line in head if line.lower().startswith("content-length:")]
    return method, path, await reader.readexactly(int(lengths[0])) if lengths else b""


def make_certificate(folder: Path) -> tuple[Path, str]:
    """A fresh key and self-signed certificate in one PEM file, and `sha256:<hex>` of the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    start = datetime(2020, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + timedelta(days=36500))
    certificate = builder.sign(key, SHA256())
    path = folder / "listener.pem"
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate.public_bytes(Encoding.PEM),
    )
    return path, f"sha256:{hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()}"

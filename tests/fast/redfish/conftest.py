"""Shared parts of the Redfish tests: a node, a clock, a factory, certificates made on the spot."""

import asyncio
import datetime
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.trust import MemoryPins
from metalwright.model.ids import NodeName, RackName
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec

ACCOUNT = ("operator", "correct horse")


class WallClock:
    """The real time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def node(bmc: str, serial: str = "", fingerprint: str | None = None, uuid: str | None = None) -> NodeSpec:
    return NodeSpec(
        name=NodeName("n1"),
        rack=RackName("r1"),
        unit=1,
        profile="compute",
        serial=serial,
        bmc=bmc,
        boot_mac="02:00:00:00:00:01",
        bmc_fingerprint=fingerprint,
        uuid=uuid,
    )


def factory(bounds: Bounds | None = None, pins: MemoryPins | None = None, **more: object) -> RedfishFactory:
    def account(_: NodeSpec) -> tuple[Secret, Secret]:
        return Secret(ACCOUNT[0]), Secret(ACCOUNT[1])

    return RedfishFactory(account, pins or MemoryPins(), WallClock(), bounds=bounds, **more)  # type: ignore[arg-type]


@pytest.fixture
def make_tls(tmp_path: Path) -> Callable[[], ssl.SSLContext]:
    """Server contexts, each with a new self-signed certificate."""

    def make() -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bmc")])
        long_ago = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)  # BMC clocks are wrong: pinning ignores dates
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(long_ago)
            .not_valid_after(long_ago + datetime.timedelta(days=1))
            .sign(key, hashes.SHA256())
        )
        path = tmp_path / f"{certificate.serial_number}.pem"
        path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    return make

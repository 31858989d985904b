"""Trust in a BMC's certificate: pinned by the sha256 of its DER bytes, never by a CA or by dates (BMC clocks are wrong, Q08).

The check runs right after the TLS handshake and before the first byte of a request, so a changed certificate never sees
credentials.
"""

import asyncio.sslproto
import hashlib
import ssl
from dataclasses import dataclass, field
from typing import Protocol

from metalwright.drivers.redfish.failures import certificate_changed

# An idle TLS connection holds asyncio's read buffer of 256 KiB for its whole life; answers of a BMC are a few kB.
# At 256 BMCs with two connections each that is 128 MiB for nothing.
asyncio.sslproto.SSLProtocol.max_size = 16 * 1024


class PinStore(Protocol):
    """Where pins are kept. Keys are BMC URLs, pins `sha256:<hex>`."""

    def get(self, bmc: str) -> str | None:
        """The pin of this BMC, or None before the first contact."""
        ...

    def put(self, bmc: str, pin: str) -> None:
        """Remember the first certificate seen."""
        ...


@dataclass(slots=True)
class MemoryPins:
    """Pins for one process: `node inspect` and tests. Not for a site: a restart would trust anyone again."""

    pins: dict[str, str] = field(default_factory=dict)

    def get(self, bmc: str) -> str | None:
        return self.pins.get(bmc)

    def put(self, bmc: str, pin: str) -> None:
        self.pins[bmc] = pin


def pin_of(certificate: bytes) -> str:
    """`sha256:<hex>` of a certificate's DER bytes: what `openssl x509 -fingerprint -sha256` shows, without colons."""
    return "sha256:" + hashlib.sha256(certificate).hexdigest()


def normal_pin(text: str) -> str:
    """`SHA256:AB:CD…` and `abcd…` as the pins here are written."""
    return "sha256:" + text.lower().removeprefix("sha256:").replace(":", "").strip()


def bare_context(*, legacy: bool = False) -> ssl.SSLContext:
    """A client context that loads no CAs (which cost 50 ms each): trust is the pin. TLS 1.2 at least.

    `legacy` is for BMCs that only offer RSA key exchange (Q07); it is chosen per BMC, never for all.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if legacy:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


@dataclass(slots=True)
class CertificateTrust:
    """The pin of one BMC: given by the operator, else the stored one, else the first one seen."""

    bmc: str
    pins: PinStore
    given: str | None = None

    def check(self, certificate: bytes | None) -> None:
        """Raises BmcFault(`certificate`) unless this certificate is the pinned one or the first."""
        seen = pin_of(certificate or b"")
        pinned = normal_pin(self.given) if self.given else self.pins.get(self.bmc)
        if pinned is None:
            self.pins.put(self.bmc, seen)
        elif pinned != seen:
            raise certificate_changed(self.bmc, pinned, seen)

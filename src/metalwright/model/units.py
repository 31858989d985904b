"""Units and forms of the spec's values. Markers only: `codec.markers` teaches pydantic to read what users write for them."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class DurationText:
    """Marks an integer number of seconds that users write as `30s`, `20min`, `12h` or `7d`."""


@dataclass(frozen=True, slots=True)
class SecretText:
    """Marks a reference to a secret: `env:NAME`, `file:relative/path` or `vault:path`; a bare secret is refused."""


@dataclass(frozen=True, slots=True)
class Form:
    """Marks a text that must match `pattern` as a whole; `words` says so to a person, with an example."""

    pattern: str
    words: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """Marks a number between two numbers, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MacText:
    """Marks a unicast MAC, read in any common form and kept as lower-case hex with colons."""


@dataclass(frozen=True, slots=True)
class SerialText:
    """Marks a serial number: one word, and none of the placeholders that firmware shows when nobody set it."""


@dataclass(frozen=True, slots=True)
class BmcUrl:
    """Marks the URL of a BMC: https, or ipmi without Redfish; no path, no password; plain http only on loopback."""


Seconds = Annotated[int, DurationText()]
SecretRef = Annotated[str, SecretText()]
Mac = Annotated[str, MacText()]
Serial = Annotated[str, SerialText()]
Url = Annotated[str, Form(r"https?://[A-Za-z0-9.:\[\]-]{1,253}(/[^\s]*)?", "a URL such as https://10.20.0.5:8443")]
Words = Annotated[str, Form(r"\S(.*\S)?", "text that is not empty")]
Label = Annotated[str, Form(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "a host name label: lower-case letters, digits and hyphens")]
"""Names of nodes, racks, sites, profiles and fabrics: they become host names, file names and subjects of evidence."""
Principal = Annotated[str, Form(r"[^\s,*!\x22]{1,128}", "one principal of keys/allowed_signers, such as ops-lead@example.org")]
Count = Annotated[int, Bounds(0, 100_000)]
AtLeastOne = Annotated[int, Bounds(1, 1_000_000)]
Kilowatts = Annotated[float, Bounds(0.001, 10_000)]

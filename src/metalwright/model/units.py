"""Units of the spec. The codec teaches pydantic to read the texts users write (`12h`, `17.3 kW`, `env:NAME`)."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class DurationText:
    """Marks an integer number of seconds that users write as `30s`, `20min`, `12h` or `7d`."""


@dataclass(frozen=True, slots=True)
class SecretText:
    """Marks a reference to a secret: `env:NAME`, `file:relative/path` or `vault:path`; a bare secret is refused."""


Seconds = Annotated[int, DurationText()]
SecretRef = Annotated[str, SecretText()]

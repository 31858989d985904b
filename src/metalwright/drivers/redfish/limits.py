"""How much a BMC may take of us: bytes, depth, pages, time. A hostile or broken BMC is normal input."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what one BMC may send.

    The largest honest documents are a few hundred kB (message registries; iDRAC expanded collections); 8 MiB leaves an order of
    magnitude. JSON nesting is bounded by the parser itself (orjson refuses more than 1,024 levels) and nothing here recurses.
    """

    body_bytes: int = 8 * 1024 * 1024
    header_bytes: int = 64 * 1024
    redirects: int = 3
    documents: int = 20_000
    """Documents of one sweep: a DGX H100 has 5,051 in all, of which an inventory reads about 900."""
    pages: int = 200
    """Pages of one collection: the largest honest one seen has four."""
    total_bytes: int = 256 * 1024 * 1024
    connections: int = 2
    """BMCs serve one or two requests at a time; more connections cost sockets and bring nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Total time of each call in seconds; nothing inside can make it longer. Slow resource classes have their own."""

    connect_s: float = 10.0
    request_s: float = 20.0
    slow_request_s: float = 180.0
    """FirmwareInventory of a DGX H100 takes 2 to 3 minutes with some NIC firmwares (quirk Q11)."""
    write_s: float = 75.0
    """Some BMCs hold a PATCH for more than 60 s (quirk Q11)."""
    upload_s: float = 1800.0
    read_power_s: float = 30.0
    read_hardware_s: float = 600.0
    act_s: float = 120.0
    close_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits and deadlines of one driver."""

    limits: Limits = field(default_factory=Limits)
    deadlines: Deadlines = field(default_factory=Deadlines)

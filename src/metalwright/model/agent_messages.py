"""What agents and endpoints say to each other. JSON over HTTPS; agents pull, nothing calls into a node.

| call | body → answer |
|---|---|
| `POST /agent/v1/claim` | `Claim` → 200 `Session`, 401 unknown or expired token, 409 second claim (both are revoked) |
| `POST /agent/v1/report` | `Report` with `Authorization: Bearer <session>` → 204, 401 revoked, 413 too large |
| `GET /agent/v1/order?wait_s=20` | → 200 `AgentOrder`, 204 nothing to do, 401 revoked |
| `GET /images/<digest hex>/manifest.json`, `/images/<digest hex>/frames.zst` | the image, with HTTP ranges, on the boot listener |

The boot listener (plain HTTP: a node has no keys yet): `GET /boot/<mac>.ipxe` → the iPXE script for that node now; `/ramdisk/vmlinuz`,
`/ramdisk/initrd`. The kernel command line carries `mw.agent_url=`, `mw.pin=sha256:<hex of the server certificate's DER>`, `mw.token=` and
`mw.images=<boot url>`.

Standard library only: this module also runs inside the RAM disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class BootArguments:
    """What the kernel command line (RAM disk) or the node-data slot (installed system) told the agent."""

    agent_url: str
    pin: str
    token: str
    images_url: str
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """First words of an agent: the boot token, and what it is. `stage`: `ram` or `installed`.

    `session` is a secret that the agent made for this claim: 64 hex digits. Asking again with the same token and session is the same
    claim (an answer was lost); with another session it is a second claim.
    """

    token: str
    session: str
    boot_id: str
    stage: str
    agent_version: str
    system_serial: str
    uuid: str
    kernel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A claimed boot: the agent's own session secret is the bearer for everything else. `node` is the node's name."""

    node: str
    poll_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RawInventory:
    """Raw bytes of what was read; the server parses. `files`: path → text; `commands`: name → output and exit code."""

    files: Mapping[str, str]
    commands: Mapping[str, "CommandOutput"] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Path or command → why it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """One command's result; text is at most 1 MiB."""

    exit_code: int
    stdout: str
    stderr: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where an operation stands. `state`: running, done, failed or cancelled. Units are bytes flushed to the disk."""

    operation: str
    generation: int
    state: str
    units_done: int
    units_total: int
    checkpoint: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenImage:
    """Result of a write: see `model.observation.DiskImageSeen`."""

    operation: str
    image_digest: str
    disk_serial: str
    frames_total: int
    frames_verified: int
    mismatches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSystem:
    """Result of a measurement: see `model.observation.SystemImageSeen`."""

    image_digest: str
    root_disk_serial: str
    frames_measured: int
    mismatches: int
    kernel: str
    hostname: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One message from an agent; any part may be absent. An empty one is a heartbeat."""

    boot_id: str
    inventory: RawInventory | None = None
    progress: Progress | None = None
    written: WrittenImage | None = None
    measured: MeasuredSystem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrder:
    """What the agent is to do next. `kind`: `inventory`, `write-image`, `measure` or `cancel`."""

    kind: str
    operation: str = ""
    generation: int = 0
    serial: str = ""
    """Identity rule: the agent compares with the serial it reads in-band and refuses on a difference."""
    disk_serial: str = ""
    image_digest: str = ""
    images_url: str = ""
    verify_percent: int = 100
    checkpoint: str = ""
    node_data: str = ""
    """JSON text for the node-data slot: name, next boot token, agent URL, pin, image digest."""

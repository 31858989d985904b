"""What was seen: by which witness, when, with what missing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from metalwright.model.hardware import BootTarget, Gap, HardwareFacts, PowerState
from metalwright.model.ids import Digest, Instant, Subject


class Witness(StrEnum):
    """Classes of witnesses. A running system's word alone never proves identity, wipe or return."""

    OUT_OF_BAND = "out-of-band"
    RAM_DISK = "ram-disk"
    RUNNING_SYSTEM = "running-system"
    ENDPOINT = "endpoint"
    """metalwright's own listener: what it served, to whom, and which tokens were claimed."""
    PERSON = "person"


class Kind(StrEnum):
    """Kinds of observations, each with one body type below."""

    BMC_POWER = "bmc-power"
    BMC_HARDWARE = "bmc-hardware"
    BMC_SETTINGS = "bmc-settings"
    BMC_HEALTH = "bmc-health"
    AGENT_BOOT = "agent-boot"
    AGENT_HARDWARE = "agent-hardware"
    DISK_IMAGE = "disk-image"
    SYSTEM_IMAGE = "system-image"
    BOOT_CLAIMS = "boot-claims"


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSeen:
    """Power and boot override, read from the BMC. `identity_serial` is re-read in the same session."""

    power: PowerState
    boot_target: BootTarget
    boot_once: bool
    identity_serial: str | None
    last_reset_at: str | None = None
    """LastResetTime as the BMC gives it: a claim, used only to see that it changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSeen:
    """A full inventory by one witness."""

    facts: HardwareFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLimit:
    """`part` is `system` or `gpu:<index>`; `watts` None when no limit is set."""

    part: str
    watts: int | None
    min_watts: int | None = None
    max_watts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSlot:
    """One virtual CD drive."""

    name: str
    image: str | None
    is_inserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSeen:
    """What a BMC is set to. `bios` may show wanted values before they apply: they count only while `is_apply_pending` is False."""

    identity_serial: str | None
    bios: Mapping[str, str]
    bios_pending: Mapping[str, str]
    """Attributes whose value at the next start differs from the present one."""
    is_apply_pending: bool
    """A job that will change BIOS settings is scheduled or running."""
    boot_order: tuple[str, ...] = ()
    http_boot_uri: str | None = None
    media: tuple[MediaSlot, ...] = ()
    power_limits: tuple[PowerLimit, ...] = ()
    bmc_started_at: str | None = None
    """LastResetTime of the BMC as it gives it: a claim, used only to see that it changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleWay:
    """One way to the host's serial console that the BMC says is on. `answers`: something spoke that protocol at `port`."""

    way: str
    """`ssh` or `ipmi`."""
    port: int
    answers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class XidSeen:
    """One XID in the BMC's log of a part (`gpu:3`, else the part's own name). `at` is the driver's time, None when it says none."""

    part: str
    code: int
    at: Instant | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakSeen:
    """One leak detector: `ok`, `warning`, `critical`, or `unknown` where the BMC gives no state."""

    name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolantSeen:
    """One coolant connector. °C and litres per minute; None where it is not measured."""

    name: str
    supply_celsius: float | None = None
    return_celsius: float | None = None
    flow_lpm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegritySeen:
    """One part that can prove its firmware (`protocol` SPDM or TPM), and what its last verification said. Not the proof itself."""

    name: str
    protocol: str | None
    version: str | None
    part: str | None
    is_enabled: bool | None
    verification: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSeen:
    """What a BMC watches while the machine runs: the way in when all else fails, what the GPUs logged, and water."""

    consoles: tuple[ConsoleWay, ...] = ()
    console_logs: tuple[str, ...] = ()
    """Log services of the BMC that keep the console's text."""
    xids: tuple[XidSeen, ...] = ()
    leaks: tuple[LeakSeen, ...] = ()
    coolant: tuple[CoolantSeen, ...] = ()
    integrity: tuple[IntegritySeen, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BootSeen:
    """An agent checked in. `stage` is `ram` or `installed`; `token_order` is the work order whose boot token it claimed."""

    boot_id: str
    stage: str
    token_order: int
    claimed_at: Instant
    last_contact_at: Instant
    system_serial: str | None
    uuid: str | None = None
    kernel: str | None = None
    agent_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskImageSeen:
    """What the RAM disk's agent wrote and then read back from the medium."""

    image_digest: Digest
    disk_serial: str
    frames_total: int
    frames_verified: int
    """Read back from the disk after a flush and compared with the manifest."""
    mismatches: int
    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemImageSeen:
    """What the installed system's agent measured of the disk it runs from. A self-measured digest: marked so in the evidence."""

    image_digest: Digest
    """Digest of the manifest whose every system frame was read from the root disk and matched; empty when it did not match."""
    root_disk_serial: str | None
    frames_measured: int
    mismatches: int
    kernel: str
    hostname: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BootClaimsSeen:
    """Every claim of this node's boot tokens. `conflicts` counts second claims: both are revoked and the node is red."""

    claims: int
    conflicts: int
    detail: str = ""


Body = PowerSeen | HardwareSeen | SettingsSeen | HealthSeen | BootSeen | DiskImageSeen | SystemImageSeen | BootClaimsSeen

BODY_OF: dict[Kind, type[Body]] = {
    Kind.BMC_POWER: PowerSeen,
    Kind.BMC_HARDWARE: HardwareSeen,
    Kind.BMC_SETTINGS: SettingsSeen,
    Kind.BMC_HEALTH: HealthSeen,
    Kind.AGENT_BOOT: BootSeen,
    Kind.AGENT_HARDWARE: HardwareSeen,
    Kind.DISK_IMAGE: DiskImageSeen,
    Kind.SYSTEM_IMAGE: SystemImageSeen,
    Kind.BOOT_CLAIMS: BootClaimsSeen,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look. `body` is None when nothing could be read: then `failure` says why, and the last good body is *not* repeated.

    Identity is (subject, kind, witness): a newer look replaces an older one.
    """

    subject: Subject
    kind: Kind
    witness: Witness
    seen_at: Instant
    body: Body | None
    failure: str = ""
    failure_class: str = ""
    """`timeout`, `refused`, `unauthorized`, `certificate`, `malformed`, `error`: told apart so that the hint fits."""
    gaps: tuple[Gap, ...] = ()
    digest: Digest | None = None
    """Digest of the stored body bytes; set by the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a check or a proof must have: a kind by a witness, at most `max_age_s` old. The union is the observer's due list."""

    kind: Kind
    witness: Witness
    max_age_s: float

"""What survives a restart of the simulator: power and boot order per machine, in small files of the state folder."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from metalwright.model.hardware import BootTarget, PowerState


@dataclass(slots=True)
class Standing:
    """The lasting state of one machine. `boots` counts starts, so that a boot id is never used twice."""

    power: PowerState = PowerState.OFF
    boot_target: BootTarget = BootTarget.NONE
    boot_once: bool = False
    boots: int = 0
    last_reset_at: float = 0.0
    """Seconds since 1970 of the last start or reset; 0 for a machine that was never on."""


def load(path: Path) -> Standing:
    """The stored state; a missing or unreadable file is a machine that was just delivered: off."""
    try:
        stored = json.loads(path.read_bytes())
        return Standing(
            power=PowerState(stored["power"]),
            boot_target=BootTarget(stored["boot_target"]),
            boot_once=bool(stored["boot_once"]),
            boots=int(stored["boots"]),
            last_reset_at=float(stored["last_reset_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Standing()


def save(path: Path, standing: Standing) -> None:
    """Replaced as a whole, so that a killed simulator leaves the old state or the new one."""
    write_whole(path, json.dumps(asdict(standing)).encode())


def write_whole(path: Path, content: bytes) -> None:
    """The file's content is the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)

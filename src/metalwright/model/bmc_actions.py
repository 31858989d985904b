"""Changes a BMC can be asked for beside power and boot override. Each says everything; the driver chooses nothing but words."""

from collections.abc import Mapping
from dataclasses import dataclass

from metalwright.model.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBios:
    """BIOS attributes by their registry names; texts as the spec has them. They take effect at the next start."""

    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBootOrder:
    """The whole order, by boot option references such as `Boot0019`."""

    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertMedia:
    """Virtual CD from a URL that the BMC can reach."""

    image_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EjectMedia:
    """Every virtual CD that is inserted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPowerLimit:
    """`part` is `system` or `gpu:<index>`."""

    part: str
    watts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseDrive:
    """Sanitize one drive, named by its serial. `methods` in order of preference, as Redfish names them. Not to be undone."""

    serial: str
    methods: tuple[str, ...] = ("CryptographicErase", "BlockErase", "Overwrite")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePassword:
    """New password of an account on the BMC."""

    user: str
    password: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFirmware:
    """The BMC fetches an image itself and updates `components` (ids of its firmware inventory; all that fit when empty)."""

    image_url: str
    components: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcCycle:
    """Cut and restore all power of the machine, standby included, as pulling the cords does. Always acts; the BMC restarts too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryReset:
    """Return the BMC to what it was delivered with. `keep_access` keeps network settings and accounts, or nothing is done."""

    keep_access: bool = True


BmcSetting = (
    SetBios | SetBootOrder | InsertMedia | EjectMedia | SetPowerLimit | EraseDrive | ChangePassword | PullFirmware | AcCycle | FactoryReset
)

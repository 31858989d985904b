"""The Bmc port over Redfish: `read` for observations, `act` for changes, one session, closed on every way out."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import assert_never

from metalwright.drivers.redfish.actions.account import change_password
from metalwright.drivers.redfish.actions.bios import set_bios
from metalwright.drivers.redfish.actions.boot_order import set_boot_order
from metalwright.drivers.redfish.actions.context import Context
from metalwright.drivers.redfish.actions.erase import erase_drive
from metalwright.drivers.redfish.actions.firmware import TaskSeen, pull_firmware, push_firmware, read_task
from metalwright.drivers.redfish.actions.media import eject_media, insert_media
from metalwright.drivers.redfish.actions.power_limit import set_power_limit
from metalwright.drivers.redfish.actions.whole_machine import Dump, ac_cycle, collect_logs, factory_reset, list_dumps
from metalwright.drivers.redfish.boot import boot_seen, set_boot
from metalwright.drivers.redfish.client import RedfishClient
from metalwright.drivers.redfish.etags import EtagLadder
from metalwright.drivers.redfish.events import BmcEvent, stream_events
from metalwright.drivers.redfish.expand import ExpandTrust
from metalwright.drivers.redfish.failures import BmcFault, BmcUnavailable
from metalwright.drivers.redfish.health import health_links, read_health
from metalwright.drivers.redfish.host import Host, HostFinder
from metalwright.drivers.redfish.host_system import same_serial
from metalwright.drivers.redfish.inventory.assemble import assemble
from metalwright.drivers.redfish.knowledge import Knowledge
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.power import power_of, set_power
from metalwright.drivers.redfish.settings import read_settings
from metalwright.drivers.redfish.walk import Walk
from metalwright.model.bmc_actions import (
    AcCycle,
    BmcSetting,
    ChangePassword,
    EjectMedia,
    EraseDrive,
    FactoryReset,
    InsertMedia,
    PullFirmware,
    SetBios,
    SetBootOrder,
    SetPowerLimit,
)
from metalwright.model.errors import InvariantError, MachineFault, TemporaryError
from metalwright.model.hardware import Gap
from metalwright.model.ids import node_subject
from metalwright.model.observation import Body, HardwareSeen, HealthSeen, Kind, Observation, PowerSeen, Witness
from metalwright.model.spec import NodeSpec
from metalwright.ports import BmcAction, Clock, SetBoot, SetPower


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read: the bounds, what is known of `$expand`, and whether each NVLink port's error counters are wanted too.

    Counters cost one request per port (144 on a DGX H100).
    """

    bounds: Bounds = field(default_factory=Bounds)
    expand: ExpandTrust = field(default_factory=ExpandTrust)
    link_counters: bool = False


class RedfishBmc:
    """One node's BMC. Reads and acts may overlap; together they use at most two connections."""

    def __init__(self, node: NodeSpec, client: RedfishClient, clock: Clock, how: Reading, known: Knowledge) -> None:
        self._node = node
        self._client = client
        self._clock = clock
        self._bounds = how.bounds
        self._how = how
        self._finder = HostFinder(client, node.serial, known)
        self._ladder = EtagLadder(known)

    async def read(self, kind: Kind) -> Observation:
        """One look; what the BMC does wrong is inside the observation."""
        deadlines = self._bounds.deadlines
        limit_s = deadlines.read_power_s if kind is Kind.BMC_POWER else deadlines.read_hardware_s
        try:
            async with asyncio.timeout(limit_s):
                body = await self._look(kind)
        except TimeoutError:
            return self._observed(kind, None, f"not finished within {limit_s:g} s", "timeout")
        except (BmcUnavailable, BmcFault) as failure:
            return self._observed(kind, None, failure.message, failure.failure_class)
        return self._observed(kind, body)

    async def act(self, action: BmcAction) -> None:
        """Change something, after the machine proved to be the one of the spec. Returns when the BMC accepted: read again."""
        limit_s = self._bounds.deadlines.act_s
        try:
            async with asyncio.timeout(limit_s):
                host = await self._right_host()
                match action:
                    case SetPower(to=to):
                        await set_power(self._client, self._finder, host, to)
                    case SetBoot():
                        await set_boot(self._client, self._ladder, host, action)
                    case _:
                        await self._set(Context(self._client, self._ladder, host), action)
        except TimeoutError as error:
            message = f"{self._node.bmc}: the outcome of {action} is unknown after {limit_s:g} s"
            raise TemporaryError(message, retry_after_s=15.0, hint="a fresh look says whether it happened") from error

    async def close(self) -> None:
        """End the session on the BMC; never raises for what the BMC does."""
        try:
            async with asyncio.timeout(self._bounds.deadlines.close_s):
                await self._client.close()
        except TimeoutError:
            self._client.http.close()

    async def push_firmware(self, image: bytes, components: tuple[str, ...] = ()) -> str:
        """Upload an image to the right machine; path of the task, empty when the BMC names none. Proof: versions read later."""
        context = Context(self._client, self._ladder, await self._right_host())
        return await push_firmware(context, image, components)

    async def collect_logs(self, kind: str = "Manager") -> str:
        """Start a dump of the BMC's own logs; path of the task, empty when the BMC names none. Proof: a new entry of `dumps`."""
        return await collect_logs(Context(self._client, self._ladder, await self._right_host()), kind)

    async def dumps(self) -> tuple[Dump, ...]:
        """Dumps that the BMC holds now."""
        return await list_dumps(Context(self._client, self._ladder, await self._finder.read()))

    def events(self) -> AsyncIterator[BmcEvent]:
        """Hints as they come, until the stream ends; see `events.py`."""
        return stream_events(self._client)

    async def task(self, monitor: str) -> TaskSeen:
        """One look at a task that an update began: progress for people, never proof."""
        return await read_task(self._client, monitor)

    async def _set(self, context: Context, action: BmcSetting) -> None:
        match action:
            case SetBios():
                await set_bios(context, action)
            case SetBootOrder():
                await set_boot_order(context, action)
            case InsertMedia():
                await insert_media(context, action)
            case EjectMedia():
                await eject_media(context, action)
            case SetPowerLimit():
                await set_power_limit(context, action)
            case EraseDrive():
                await erase_drive(context, action)
            case ChangePassword():
                await change_password(context, action)
            case PullFirmware():
                await pull_firmware(context, action)
            case AcCycle():
                await ac_cycle(context)
            case FactoryReset():
                await factory_reset(context, action)
            case _:
                assert_never(action)

    async def _right_host(self) -> Host:
        """The host, if its serial is the spec's: cables are swapped and addresses reassigned."""
        host = await self._finder.read()
        if same_serial(host.serial, self._node.serial) or self._is_same_uuid(host):
            return host
        seen = host.serial or "no serial"
        hint = "is the BMC cable, its address or the serial in nodes.csv wrong? nothing was changed on this machine"
        raise MachineFault(f"{self._node.bmc} shows {seen}, not {self._node.serial} of {self._node.name}", hint=hint)

    def _is_same_uuid(self, host: Host) -> bool:
        """For BMCs that show no serial at all (emulators, white boxes): the spec's UUID, if it gives one."""
        seen, wanted = host.system.get("UUID"), self._node.uuid
        return host.serial is None and bool(wanted) and isinstance(seen, str) and same_serial(seen, wanted or "")

    async def _look(self, kind: Kind) -> Body:
        match kind:
            case Kind.BMC_POWER:
                return await self._read_power()
            case Kind.BMC_HARDWARE:
                return await self._read_hardware()
            case Kind.BMC_HEALTH:
                walk = Walk(self._client, self._bounds.limits, self._how.expand, follow=health_links)
                return await read_health(await walk.run(), self._client.http.origin.host)
            case Kind.BMC_SETTINGS:
                return await read_settings(Context(self._client, self._ladder, await self._finder.read()))
            case _:
                raise InvariantError(f"a BMC is no witness of {kind}")

    async def _read_power(self) -> PowerSeen:
        host = await self._finder.read()
        target, once = await boot_seen(self._client, host.system)
        reset = host.system.get("LastResetTime")
        return PowerSeen(
            power=power_of(host.system),
            boot_target=target,
            boot_once=once,
            identity_serial=host.serial,
            last_reset_at=reset if isinstance(reset, str) else None,
        )

    async def _read_hardware(self) -> HardwareSeen:
        walk = Walk(self._client, self._bounds.limits, self._how.expand, counters=self._how.link_counters)
        return HardwareSeen(facts=assemble(await walk.run(), self._node.serial))

    def _observed(self, kind: Kind, body: Body | None, failure: str = "", failure_class: str = "") -> Observation:
        gaps: tuple[Gap, ...] = body.facts.gaps if isinstance(body, HardwareSeen) else body.gaps if isinstance(body, HealthSeen) else ()
        return Observation(
            subject=node_subject(self._node.name),
            kind=kind,
            witness=Witness.OUT_OF_BAND,
            seen_at=self._clock.now(),
            body=body,
            failure=failure,
            failure_class=failure_class,
            gaps=gaps,
        )

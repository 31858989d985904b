"""The Bmc port over IPMI, for machines without Redfish: power, boot device, identity. What IPMI cannot say is a gap.

The serial is the FRU's product serial. IPMI tells nothing of GPUs, links, drives or firmware of parts, so an inventory by IPMI
alone leaves those checks undetermined.
"""

from collections.abc import Callable

from metalwright.drivers.ipmi.parsing import boot_of, fru_of, power_of, sol_is_enabled
from metalwright.drivers.ipmi.tool import IpmiTool, address_of
from metalwright.model.errors import InvariantError, MachineFault, TemporaryError
from metalwright.model.hardware import BootTarget, Gap, HardwareFacts, Identity, PowerState
from metalwright.model.ids import node_subject
from metalwright.model.observation import Body, ConsoleWay, HardwareSeen, HealthSeen, Kind, Observation, PowerSeen, Witness
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.ports import BmcAction, Clock, SetBoot, SetPower

_NOT_IN_IPMI = ("cpus", "dimms", "gpus", "nvswitches", "nvlinks", "nics", "drives", "psus", "firmware", "tpm")
_DEVICES = {BootTarget.NETWORK: "pxe", BootTarget.DISK: "disk", BootTarget.NONE: "none"}


class IpmiBmc:
    """One node's BMC. Every call is a session of its own: nothing to keep, nothing to close."""

    def __init__(self, node: NodeSpec, tool: IpmiTool, clock: Clock) -> None:
        self._node = node
        self._tool = tool
        self._clock = clock

    async def read(self, kind: Kind) -> Observation:
        """One look; what the BMC does wrong is inside the observation."""
        try:
            match kind:
                case Kind.BMC_POWER:
                    return self._observed(kind, await self._read_power())
                case Kind.BMC_HARDWARE:
                    return self._observed(kind, await self._read_hardware())
                case Kind.BMC_HEALTH:
                    return self._observed(kind, await self._read_health())
                case _:
                    raise InvariantError(f"IPMI is no witness of {kind}")
        except TemporaryError as failure:
            return self._observed(kind, None, failure.message, "timeout")
        except MachineFault as failure:
            return self._observed(kind, None, failure.message, "unauthorized" if "account" in failure.message else "error")

    async def act(self, action: BmcAction) -> None:
        """Power and boot device, after the serial was re-read. MachineFault for everything IPMI cannot do."""
        fru = fru_of(await self._tool.run("fru", "print", "0"))
        seen = fru.get("Product Serial", "no serial")
        if seen.upper() != self._node.serial.strip().upper():
            hint = "is the BMC cable, its address or the serial in nodes.csv wrong? nothing was changed on this machine"
            raise MachineFault(f"{self._node.bmc} shows {seen}, not {self._node.serial} of {self._node.name}", hint=hint)
        match action:
            case SetPower(to=to):
                await self._set_power(to)
            case SetBoot():
                await self._set_boot(action)
            case _:
                raise MachineFault(f"IPMI cannot do {type(action).__name__}", hint="do it by hand, or give the machine's Redfish URL")

    async def close(self) -> None:
        """Nothing is open."""

    async def _set_power(self, to: str) -> None:
        state = power_of(await self._tool.run("chassis", "power", "status"))
        wanted = PowerState.ON if to == "on" else PowerState.OFF
        if to != "reset" and state is wanted:
            return
        words = {"on": "on", "off": "off", "shutdown": "soft", "reset": "reset" if state is PowerState.ON else "on"}
        await self._tool.run("chassis", "power", words[to])

    async def _set_boot(self, action: SetBoot) -> None:
        device = _DEVICES.get(action.target)
        if device is None or action.http_uri is not None:
            raise MachineFault(f"IPMI cannot boot from {action.target.value}", hint="set system.boot to uefi-pxe or bios-pxe")
        options = [] if action.once else ["persistent"]
        options += [] if action.path == "bios-pxe" else ["efiboot"]
        await self._tool.run("chassis", "bootdev", device, *([f"options={','.join(options)}"] if options else []))

    async def _read_power(self) -> PowerSeen:
        power = power_of(await self._tool.run("chassis", "power", "status"))
        target, once = boot_of(await self._tool.run("chassis", "bootparam", "get", "5"))
        return PowerSeen(power=power, boot_target=target, boot_once=once, identity_serial=(await self._identity()).system_serial)

    async def _read_hardware(self) -> HardwareSeen:
        identity = await self._identity()
        gaps = [Gap(what=part, why="IPMI does not show it") for part in _NOT_IN_IPMI]
        if identity.system_serial is None:
            gaps.append(Gap(what="identity/system_serial", why="the FRU holds no product serial, or a placeholder"))
        return HardwareSeen(facts=HardwareFacts(identity=identity, gaps=tuple(gaps)))

    async def _read_health(self) -> HealthSeen:
        """Serial over LAN, as the BMC is set. That it answers is proven by this very call."""
        try:
            is_on = sol_is_enabled(await self._tool.run("sol", "info"))
        except MachineFault as fault:
            if "account" in fault.message:
                raise
            is_on = False  # the BMC refuses the command: it has no serial over LAN
        gaps = tuple(Gap(what=what, why="IPMI does not show it") for what in ("xids", "leaks", "coolant"))
        return HealthSeen(consoles=(ConsoleWay(way="ipmi", port=self._tool.address.port, answers=True),) if is_on else (), gaps=gaps)

    async def _identity(self) -> Identity:
        try:
            fru = fru_of(await self._tool.run("fru", "print", "0"))
        except MachineFault:
            fru = {}  # no FRU 0: the serial stays unknown, and with it every write is refused
        return Identity(
            system_serial=fru.get("Product Serial"),
            board_serial=fru.get("Board Serial"),
            manufacturer=fru.get("Product Manufacturer") or fru.get("Board Mfg"),
            model=fru.get("Product Name") or fru.get("Board Product"),
        )

    def _observed(self, kind: Kind, body: Body | None, failure: str = "", failure_class: str = "") -> Observation:
        gaps = body.facts.gaps if isinstance(body, HardwareSeen) else body.gaps if isinstance(body, HealthSeen) else ()
        return Observation(
            subject=node_subject(self._node.name), kind=kind, witness=Witness.OUT_OF_BAND, seen_at=self._clock.now(),
            body=body, failure=failure, failure_class=failure_class, gaps=gaps,
        )  # fmt: skip


class IpmiFactory:
    """The BmcFactory port over IPMI, for nodes whose BMC is written `ipmi://…`."""

    def __init__(self, credentials: Callable[[NodeSpec], tuple[Secret, Secret]], clock: Clock, *, timeout_s: float = 30.0) -> None:
        self._credentials = credentials
        self._clock = clock
        self._timeout_s = timeout_s

    def open(self, node: NodeSpec) -> IpmiBmc:
        """A driver for this node's BMC; nothing is sent yet."""
        return IpmiBmc(node, IpmiTool(address_of(node.bmc), self._credentials(node), self._timeout_s), self._clock)

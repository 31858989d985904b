"""What each fault does: pure changes of a server's parts, and settings of the faces. Arguments come as text from a command line."""

import string
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from metalwright.model.errors import InputError
from metalwright.model.hardware import NvLink
from metalwright.simulator.machine import MachineFaults
from metalwright.simulator.parts import LoggedXid, ServerParts
from metalwright.simulator.redfish.face import FaceFaults
from metalwright.simulator.redfish.hostile import WAYS

Arguments = Mapping[str, str]
T = TypeVar("T")
_NOT_DIGITS = string.ascii_letters + "_"


def number(arguments: Arguments, name: str) -> float:
    """InputError when it is no number from 0 to a million."""
    try:
        value = float(arguments[name])
    except ValueError as error:
        raise InputError(f"{name}={arguments[name]} is not a number", hint=f"give a number: {name}=3") from error
    if not 0 <= value <= 1e15:
        raise InputError(f"{name}={arguments[name]} is out of range", hint=f"give a small positive number: {name}=3")
    return value


def index(arguments: Arguments, name: str) -> int:
    """A whole number."""
    return int(number(arguments, name))


def choice(arguments: Arguments, name: str, allowed: tuple[str, ...]) -> str:
    """InputError for anything else."""
    if arguments[name] not in allowed:
        raise InputError(f"{name}={arguments[name]} is not one of {', '.join(allowed)}", hint=f"give {name}={allowed[0]}")
    return arguments[name]


def _place(names: list[str], wanted: str, kind: str) -> int:
    """Where the part is: by its name, or by the number at its end (`gpu=3` is GPU_SXM_3). InputError when there is none."""
    for position, name in enumerate(names):
        if wanted in {name, name.lstrip(_NOT_DIGITS)}:
            return position
    raise InputError(f"this server has no {kind} {wanted}", hint=f"it has {', '.join(names) or 'none'}")


def _without(parts: tuple[T, ...], position: int) -> tuple[T, ...]:
    return parts[:position] + parts[position + 1 :]


def _instead(parts: tuple[T, ...], position: int, other: T) -> tuple[T, ...]:
    return (*parts[:position], other, *parts[position + 1 :])


def _gpu(parts: ServerParts, arguments: Arguments) -> int:
    return _place([gpu.name for gpu in parts.gpus], arguments["gpu"], "GPU")


def _drive(parts: ServerParts, arguments: Arguments) -> int:
    return _place([drive.name for drive in parts.drives], arguments["drive"], "drive")


# -- the truth -----------------------------------------------------------------------------------------------------------------


def missing_gpu(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Its NVLinks go with it, and its firmware entries."""
    position = _gpu(parts, arguments)
    gone = parts.gpus[position]
    links = tuple(link for link in parts.nvlinks if link.gpu != gone.index)
    firmware = tuple(each for each in parts.firmware if not each.component.endswith(f"_{gone.name}"))
    return replace(parts, gpus=_without(parts.gpus, position), nvlinks=links, firmware=firmware)


def gpu_off_bus(parts: ServerParts, arguments: Arguments) -> ServerParts:
    return replace(parts, unseen_in_band=parts.unseen_in_band | {parts.gpus[_gpu(parts, arguments)].name})


def gpu_pcie_downgraded(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """The best that slot and GPU agree on, not only what runs at idle."""
    position, generation, width = _gpu(parts, arguments), index(arguments, "generation"), index(arguments, "width")
    gpu = parts.gpus[position]
    if gpu.pcie is None:
        return parts
    link = replace(gpu.pcie, generation=generation, width=width, max_generation=generation, max_width=width)
    return replace(parts, gpus=_instead(parts.gpus, position, replace(gpu, pcie=link)))


def gpu_pcie_trained_low(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Slot and GPU could do better: a dirty contact, a weak retimer."""
    position, generation, width = _gpu(parts, arguments), index(arguments, "generation"), index(arguments, "width")
    gpu = parts.gpus[position]
    if gpu.pcie is None:
        return parts
    return replace(parts, gpus=_instead(parts.gpus, position, replace(gpu, pcie=replace(gpu.pcie, generation=generation, width=width))))


def degraded_nvlink(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Down, training for ever, up at half its speed on one lane, or up on one lane and said to be fast."""
    position, link = _nvlink(parts, arguments)
    changes: dict[str, dict[str, Any]] = {
        "down": {"state": "down", "gbps": 0.0},
        "training": {"state": "training", "gbps": 0.0},
        "slow": {"gbps": (link.gbps or 0) / 2, "width": 1},
        "narrow": {"width": 1},
    }
    how = choice(arguments, "how", tuple(changes))
    return replace(parts, nvlinks=_instead(parts.nvlinks, position, replace(link, **changes[how])))


def missing_nvlink(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Neither end is listed."""
    return replace(parts, nvlinks=_without(parts.nvlinks, _nvlink(parts, arguments)[0]))


def one_sided_nvlink(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """The switch's port names another GPU port than the one that names it."""
    position, link = _nvlink(parts, arguments)
    return replace(parts, nvlinks=_instead(parts.nvlinks, position, replace(link, peer_agrees=False)))


def miswired_nvlink(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Its far end is exchanged with that of the first port of another GPU on another switch. Everything is up, both ends agree."""
    position, link = _nvlink(parts, arguments)
    switch = (link.peer or "").partition(":")[0]
    for other, each in enumerate(parts.nvlinks):
        if each.gpu != link.gpu and each.peer and each.peer.partition(":")[0] != switch:
            exchanged = _instead(parts.nvlinks, position, replace(link, peer=each.peer))
            return replace(parts, nvlinks=_instead(exchanged, other, replace(each, peer=link.peer)))
    raise InputError("this server has no second GPU and switch to exchange the link with", hint="use a profile with NVSwitches")


def _nvlink(parts: ServerParts, arguments: Arguments) -> tuple[int, NvLink]:
    """Place and link of `gpu=… port=…`; InputError when there is none."""
    gpu, port = parts.gpus[_gpu(parts, arguments)].index, index(arguments, "port")
    for position, link in enumerate(parts.nvlinks):
        if (link.gpu, link.port) == (gpu, port):
            return position, link
    raise InputError(f"GPU {arguments['gpu']} has no NVLink {port}", hint="NVLink ports are numbered from 0")


def missing_nvswitch(parts: ServerParts, arguments: Arguments) -> ServerParts:
    position = _place([switch.name for switch in parts.nvswitches], arguments["switch"], "NVSwitch")
    name = parts.nvswitches[position].name
    links = tuple(
        replace(link, state="down", gbps=0.0, peer=None, peer_agrees=None) if (link.peer or "").startswith(f"{name}:") else link
        for link in parts.nvlinks
    )
    firmware = tuple(each for each in parts.firmware if not each.component.endswith(f"_{name}"))
    return replace(parts, nvswitches=_without(parts.nvswitches, position), nvlinks=links, firmware=firmware)


def missing_cpu(parts: ServerParts, arguments: Arguments) -> ServerParts:
    position = _place([cpu.socket for cpu in parts.cpus], arguments["cpu"], "CPU")
    return replace(parts, cpus=_without(parts.cpus, position))


def short_memory(parts: ServerParts, arguments: Arguments) -> ServerParts:
    """Whole DIMMs, from the last, until at least that share is gone."""
    keep_mib = parts.memory_mib() * (1 - min(number(arguments, "percent"), 100) / 100)
    kept, total = [], 0
    for dimm in parts.dimms:
        total += dimm.size_mib or 0
        if total > keep_mib:
            break
        kept.append(dimm)
    return replace(parts, dimms=tuple(kept))


def missing_nic(parts: ServerParts, arguments: Arguments) -> ServerParts:
    position = _place([nic.name for nic in parts.nics], arguments["nic"], "NIC")
    return replace(parts, nics=_without(parts.nics, position))


def missing_drive(parts: ServerParts, arguments: Arguments) -> ServerParts:
    return replace(parts, drives=_without(parts.drives, _drive(parts, arguments)))


def wrong_disk(parts: ServerParts, arguments: Arguments) -> ServerParts:
    position = _drive(parts, arguments)
    return replace(parts, drives=_instead(parts.drives, position, replace(parts.drives[position], serial=arguments["serial"])))


def wrong_serial(parts: ServerParts, arguments: Arguments) -> ServerParts:
    serial, witness = arguments["serial"], choice(arguments, "witness", ("both", "out-of-band", "in-band"))
    outside = replace(parts.identity, system_serial=serial) if witness != "in-band" else parts.identity
    inside = replace(parts.in_band_identity, system_serial=serial) if witness != "out-of-band" else parts.in_band_identity
    return replace(parts, identity=outside, in_band_identity=inside)


def wrong_firmware(parts: ServerParts, arguments: Arguments) -> ServerParts:
    component, version = arguments["component"], arguments["version"]
    if not any(each.component == component for each in parts.firmware):
        raise InputError(f"this server has no firmware component {component}", hint="they are the ids of Redfish FirmwareInventory")
    firmware = tuple(replace(each, version=version) if each.component == component else each for each in parts.firmware)
    return replace(parts, firmware=firmware, bios_version=version if component == "HostBIOS_0" else parts.bios_version)


def xid(parts: ServerParts, arguments: Arguments) -> ServerParts:
    logged = LoggedXid(gpu=parts.gpus[_gpu(parts, arguments)].name, code=index(arguments, "code"), at=number(arguments, "at"))
    return replace(parts, xids=(*parts.xids, logged))


def leak(parts: ServerParts, arguments: Arguments) -> ServerParts:
    return replace(parts, leak=choice(arguments, "state", ("Warning", "Critical")))


# -- manners -------------------------------------------------------------------------------------------------------------------


def mute(face: FaceFaults, arguments: Arguments) -> None:
    face.mute = True


def slow(face: FaceFaults, arguments: Arguments) -> None:
    face.slow_s += number(arguments, "seconds")


def forget_sessions(face: FaceFaults, arguments: Arguments) -> None:
    face.forget_sessions = True


def power_lies(face: FaceFaults, arguments: Arguments) -> None:
    face.power_lies = True


def hostile(face: FaceFaults, arguments: Arguments) -> None:
    face.hostile = choice(arguments, "how", WAYS)


def console_lost(face: FaceFaults, arguments: Arguments) -> None:
    face.console = choice(arguments, "how", ("off", "silent", "unlogged"))


def no_netboot(machine: MachineFaults, arguments: Arguments) -> None:
    machine.no_netboot = True


def mute_agent(machine: MachineFaults, arguments: Arguments) -> None:
    machine.mute_agent = True


def second_claim(machine: MachineFaults, arguments: Arguments) -> None:
    machine.second_claim = True


def altered_disk(machine: MachineFaults, arguments: Arguments) -> None:
    machine.altered_disk = True


def wrong_kernel(machine: MachineFaults, arguments: Arguments) -> None:
    machine.kernel = arguments["kernel"]


def installed_serial(machine: MachineFaults, arguments: Arguments) -> None:
    machine.installed_serial = arguments["serial"]


def other_root_disk(machine: MachineFaults, arguments: Arguments) -> None:
    machine.root_disk = arguments["serial"]

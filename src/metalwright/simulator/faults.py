"""Everything that can be wrong with a simulated server, by name; each says which checks it turns red or undetermined.

A fault changes the truth (`world`), the BMC's manners (`face`) or the machine's (`machine`). Clearing one restores exactly the rest:
the three are recomputed from the list of faults that hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metalwright.model.errors import InputError
from metalwright.simulator import fault_changes as change
from metalwright.simulator.fault_changes import Arguments
from metalwright.simulator.machine import MachineFaults
from metalwright.simulator.parts import ServerParts
from metalwright.simulator.redfish.face import FaceFaults

BMC_CHECKS = frozenset(
    {
        "inventory.bmc-answers",
        "inventory.identity",
        "inventory.cpus",
        "inventory.memory",
        "inventory.gpus",
        "inventory.gpu-pcie",
        "inventory.nvswitches",
        "inventory.nvlinks",
        "inventory.nvlink-matrix",
        "inventory.purchase",
        "inventory.witnesses-agree",
        "inventory.console",
        "inventory.xids",
        "inventory.leaks",
        "firmware.baseline",
    }
)
"""What cannot be judged while the BMC does not answer; NICs and drives can, by the agent alone."""
AGENT_CHECKS = frozenset(
    {"inventory.cpus", "inventory.nics", "inventory.drives", "inventory.purchase", "inventory.witnesses-agree", "inventory.xids"}
)
"""What cannot be judged while no agent was ever heard."""
OS_CHECKS = frozenset({"os.boot", "os.image", "os.disk", "os.kernel"})
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault. `defaults` names its arguments with their default texts.

    `turns_red` and `turns_undetermined` hold for a node whose purchase list names every part and whose firmware has a baseline. Checks that
    need an agent that never came are undetermined only on a node that was not provisioned before. The purchase list is undetermined, not
    red, where Linux shows parts of that kind without serials (GPUs, NVSwitches, NICs): the missing one could be among them.
    """

    name: str
    summary: str
    turns_red: frozenset[str] = NOTHING
    turns_undetermined: frozenset[str] = NOTHING
    defaults: Mapping[str, str] = field(default_factory=dict)
    world: Callable[[ServerParts, Arguments], ServerParts] | None = None
    face: Callable[[FaceFaults, Arguments], None] | None = None
    machine: Callable[[MachineFaults, Arguments], None] | None = None

    def arguments(self, given: Mapping[str, str]) -> Arguments:
        """Defaults and what was given; InputError for a name that this fault does not have."""
        unknown = sorted(set(given) - set(self.defaults))
        if unknown:
            hint = f"it takes {', '.join(self.defaults)}" if self.defaults else "it takes no arguments"
            raise InputError(f"fault {self.name} has no argument {unknown[0]}", hint=hint)
        return dict(self.defaults) | dict(given)


_FAULTS = (
    # -- the BMC's manners
    Fault(
        name="bmc-mute",
        summary="the BMC takes connections and never answers",
        turns_undetermined=BMC_CHECKS,
        face=change.mute,
    ),
    Fault(
        name="bmc-slow",
        summary="every answer of the BMC takes this much longer",
        turns_undetermined=BMC_CHECKS,
        defaults={"seconds": "60"},
        face=change.slow,
    ),
    Fault(
        name="bmc-401-after-reset",
        summary="the BMC forgets its sessions whenever the host is reset; a client has to log in again",
        face=change.forget_sessions,
    ),
    Fault(
        name="power-lies",
        summary="the BMC accepts power actions and does nothing",
        turns_undetermined=AGENT_CHECKS | OS_CHECKS,
        face=change.power_lies,
    ),
    Fault(
        name="bmc-hostile",
        summary="every answer is slow-loris, huge-body, redirects, pages, zip-bomb, html or deep-json (`how`)",
        turns_undetermined=BMC_CHECKS,
        defaults={"how": "slow-loris"},
        face=change.hostile,
    ),
    Fault(
        name="console-lost",
        summary="the serial console is switched off, silent or unlogged (`how`)",
        turns_red=frozenset({"inventory.console"}),
        defaults={"how": "off"},
        face=change.console_lost,
    ),
    # -- the truth
    Fault(
        name="missing-gpu",
        summary="one GPU is not there",
        turns_red=frozenset({"inventory.gpus", "inventory.purchase"}),
        turns_undetermined=frozenset({"inventory.gpu-pcie", "inventory.nvlinks", "inventory.nvlink-matrix"}),
        defaults={"gpu": "1"},
        world=change.missing_gpu,
    ),
    Fault(
        name="gpu-off-bus",
        summary="one GPU fell off the PCI bus: the BMC still sees it, Linux does not",
        turns_red=frozenset({"inventory.witnesses-agree"}),
        defaults={"gpu": "1"},
        world=change.gpu_off_bus,
    ),
    Fault(
        name="gpu-pcie-downgraded",
        summary="one GPU's PCIe link can do no better than this",
        turns_red=frozenset({"inventory.gpu-pcie"}),
        defaults={"gpu": "1", "generation": "3", "width": "16"},
        world=change.gpu_pcie_downgraded,
    ),
    Fault(
        name="gpu-pcie-trained-low",
        summary="one GPU's PCIe link trained at this, though slot and GPU can do better",
        turns_red=frozenset({"inventory.gpu-pcie"}),
        defaults={"gpu": "1", "generation": "5", "width": "8"},
        world=change.gpu_pcie_trained_low,
    ),
    Fault(
        name="missing-nvlink",
        summary="one NVLink is listed by neither end",
        turns_red=frozenset({"inventory.nvlinks", "inventory.nvlink-matrix"}),
        defaults={"gpu": "1", "port": "0"},
        world=change.missing_nvlink,
    ),
    Fault(
        name="one-sided-nvlink",
        summary="the switch port of one NVLink does not name the GPU port back",
        turns_red=frozenset({"inventory.nvlinks"}),
        defaults={"gpu": "1", "port": "0"},
        world=change.one_sided_nvlink,
    ),
    Fault(
        name="miswired-nvlink",
        summary="the far ends of two NVLinks are exchanged: all up, both ends agree, the matrix is lopsided",
        turns_red=frozenset({"inventory.nvlink-matrix"}),
        defaults={"gpu": "1", "port": "0"},
        world=change.miswired_nvlink,
    ),
    Fault(
        name="degraded-nvlink",
        summary="one NVLink is down, training, slow or narrow (`how`)",
        turns_red=frozenset({"inventory.nvlinks"}),
        defaults={"gpu": "1", "port": "0", "how": "down"},
        world=change.degraded_nvlink,
    ),
    Fault(
        name="missing-nvswitch",
        summary="one NVSwitch is not there, and the NVLinks to it are down",
        turns_red=frozenset({"inventory.nvswitches", "inventory.nvlinks"}),
        turns_undetermined=frozenset({"inventory.purchase", "inventory.nvlink-matrix"}),
        defaults={"switch": "0"},
        world=change.missing_nvswitch,
    ),
    Fault(
        name="missing-cpu",
        summary="one CPU is not there",
        turns_red=frozenset({"inventory.cpus"}),
        defaults={"cpu": "1"},
        world=change.missing_cpu,
    ),
    Fault(
        name="short-memory",
        summary="DIMMs are missing or mapped out: this share of the memory in percent",
        turns_red=frozenset({"inventory.memory"}),
        defaults={"percent": "12"},
        world=change.short_memory,
    ),
    Fault(
        name="missing-nic",
        summary="one NIC is not there",
        turns_red=frozenset({"inventory.nics"}),
        turns_undetermined=frozenset({"inventory.purchase"}),
        defaults={"nic": "0"},
        world=change.missing_nic,
    ),
    Fault(
        name="missing-drive",
        summary="one drive is not there",
        turns_red=frozenset({"inventory.drives", "inventory.purchase"}),
        defaults={"drive": "0"},
        world=change.missing_drive,
    ),
    Fault(
        name="wrong-disk",
        summary="another drive sits in a bay: another serial, and empty",
        turns_red=frozenset({"inventory.purchase"}),
        defaults={"drive": "0", "serial": "S0WRONGDISK0001"},
        world=change.wrong_disk,
    ),
    Fault(
        name="wrong-serial",
        summary="the system serial is another one; `witness` is both, out-of-band or in-band",
        turns_red=frozenset({"inventory.identity", "inventory.purchase", "os.identity"}),
        defaults={"serial": "WRONG0SERIAL1", "witness": "both"},
        world=change.wrong_serial,
    ),
    Fault(
        name="wrong-firmware",
        summary="one firmware component has another version",
        turns_red=frozenset({"firmware.baseline"}),
        defaults={"component": "HostBIOS_0", "version": "00.00.01"},
        world=change.wrong_firmware,
    ),
    Fault(
        name="xid",
        summary="the driver reported an XID of one GPU, which the baseboard logged; `at` in seconds since 1970",
        turns_red=frozenset({"inventory.xids"}),
        defaults={"gpu": "1", "code": "79", "at": "4102444800"},
        world=change.xid,
    ),
    Fault(
        name="leak",
        summary="the leak detector of the tray says Warning or Critical (`state`)",
        turns_red=frozenset({"inventory.leaks"}),
        defaults={"state": "Critical"},
        world=change.leak,
    ),
    # -- the machine's manners
    Fault(
        name="no-netboot",
        summary="the machine never gets a boot script from the network",
        turns_undetermined=AGENT_CHECKS | OS_CHECKS,
        machine=change.no_netboot,
    ),
    Fault(
        name="agent-mute",
        summary="the machine boots and its agent never speaks",
        turns_undetermined=AGENT_CHECKS | OS_CHECKS,
        machine=change.mute_agent,
    ),
    Fault(
        name="second-claim",
        summary="somebody else on the boot network claims each boot token too",
        turns_red=frozenset({"inventory.boot-claims"}),
        machine=change.second_claim,
    ),
    Fault(
        name="wrong-image-on-disk",
        summary="the system disk's content changes silently before each start from it",
        turns_red=frozenset({"os.image"}),
        machine=change.altered_disk,
    ),
    Fault(
        name="wrong-kernel",
        summary="the machine runs a kernel of this release instead of the image's",
        turns_red=frozenset({"os.kernel"}),
        defaults={"kernel": "4.19.0-wrong"},
        machine=change.wrong_kernel,
    ),
    Fault(
        name="installed-serial",
        summary="the installed system reads another system serial than the RAM disk did: the disk sits in another machine",
        turns_red=frozenset({"os.identity"}),
        turns_undetermined=frozenset({"os.boot", "os.image", "os.disk", "os.kernel"}),
        defaults={"serial": "MOVED0DISK1"},
        machine=change.installed_serial,
    ),
    Fault(
        name="other-root-disk",
        summary="the installed system runs from another disk than the ordered one",
        turns_red=frozenset({"os.disk"}),
        defaults={"serial": "S0OTHERDISK0001"},
        machine=change.other_root_disk,
    ),
)
FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _FAULTS}


def find_fault(name: str) -> Fault:
    """InputError for an unknown name, with the known ones."""
    found = FAULTS.get(name)
    if found is None:
        raise InputError(f"there is no fault {name}", hint=f"known faults: {', '.join(FAULTS)}")
    return found

"""What makes each check fail, what it cannot know, when it does not apply, and which oddities it forgives."""

from collections.abc import Callable
from dataclasses import replace

from metalwright.model.case import NodeCase
from metalwright.model.hardware import Drive, Firmware, Nic, PcieLink, PowerState
from metalwright.model.observation import BootClaimsSeen, ConsoleWay, Kind, LeakSeen, Witness, XidSeen
from metalwright.model.spec import DiskLayout, FirmwareLine, PurchaseLine, SystemSpec
from tests.fast.gates.cases import (
    BUILT,
    HEALTH,
    INSTALLED,
    MEASURED,
    NODE,
    NOW,
    POWER_ON,
    PROFILE,
    RAM,
    RAM_BOOT,
    SPEC,
    WRITTEN,
    agent_facts,
    bmc_facts,
    seeing,
    with_agent,
    with_bmc,
    without,
)

OOB, IN_RAM, RUNNING, ENDPOINT = Witness.OUT_OF_BAND, Witness.RAM_DISK, Witness.RUNNING_SYSTEM, Witness.ENDPOINT
Change = Callable[[NodeCase], NodeCase]


def bmc_gpu(position: int, **fields: object) -> Change:
    gpus = list(bmc_facts().gpus)
    gpus[position] = replace(gpus[position], **fields)  # type: ignore[arg-type]
    return lambda case: with_bmc(case, gpus=tuple(gpus))


def _link(position: int, **fields: object) -> Change:
    links = list(bmc_facts().nvlinks)
    links[position] = replace(links[position], **fields)  # type: ignore[arg-type]
    return lambda case: with_bmc(case, nvlinks=tuple(links))


def _scattered(case: NodeCase) -> NodeCase:
    """Half of the GPUs have a link on another switch than the other half."""
    links = bmc_facts().nvlinks
    moved = (replace(link, peer=f"NVSwitch_1:{900 + link.gpu}") if link.gpu % 2 == 0 and link.port == 0 else link for link in links)
    return with_bmc(case, nvlinks=tuple(moved))


def _trained(position: int, generation: int, width: int) -> Change:
    """Before the first installed boot every GPU runs at generation 5 x16, but for one."""

    def change(case: NodeCase) -> NodeCase:
        links = [PcieLink(generation=5, width=16, max_generation=5, max_width=16)] * 8
        links[position] = PcieLink(generation=generation, width=width, max_generation=5, max_width=16)
        gpus = tuple(replace(gpu, pcie=link) for gpu, link in zip(bmc_facts().gpus, links, strict=True))
        return with_bmc(_not_installed(case), gpus=gpus)

    return change


def _not_installed(case: NodeCase) -> NodeCase:
    return replace(case, observations={key: seen for key, seen in case.observations.items() if key[1] is not RUNNING})


def _agent_nic(**fields: object) -> Change:
    nics = list(agent_facts().nics)
    nics[2] = replace(nics[2], **fields)  # type: ignore[arg-type]
    return lambda case: with_agent(case, nics=tuple(nics))


def _identity(facts_of: str, **fields: object) -> Change:
    facts = bmc_facts() if facts_of == "bmc" else agent_facts()
    changed = replace(facts.identity, **fields)  # type: ignore[arg-type]
    return lambda case: (with_bmc if facts_of == "bmc" else with_agent)(case, identity=changed)


def _bought(*lines: PurchaseLine) -> Change:
    return lambda case: replace(case, parts=(*case.parts, *lines))


def _never_in_ram(case: NodeCase) -> NodeCase:
    return replace(case, observations={key: seen for key, seen in case.observations.items() if key != (Kind.AGENT_BOOT, IN_RAM)})


def _baseline(profile: str, component: str, version: str) -> Change:
    line = FirmwareLine(profile=profile, component=component, version=version)
    return lambda case: replace(case, spec=replace(SPEC, firmware=(line,)))


def _system(disks: str) -> Change:
    return lambda case: replace(case, spec=replace(SPEC, system=SystemSpec(image="x", disks=DiskLayout(system=disks))))


def _written(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.DISK_IMAGE, IN_RAM, replace(WRITTEN, **fields))  # type: ignore[arg-type]


def _measured(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.SYSTEM_IMAGE, RUNNING, replace(MEASURED, **fields))  # type: ignore[arg-type]


def _installed(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.AGENT_BOOT, RUNNING, replace(INSTALLED, **fields))  # type: ignore[arg-type]


def _first_drive(**fields: object) -> Change:
    drives = agent_facts().drives
    return lambda case: with_agent(case, drives=(replace(drives[0], **fields), *drives[1:]))  # type: ignore[arg-type]


def _power(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.BMC_POWER, OOB, replace(POWER_ON, **fields))  # type: ignore[arg-type]


def _health(**fields: object) -> Change:
    return lambda case: seeing(case, Kind.BMC_HEALTH, OOB, replace(HEALTH, **fields))  # type: ignore[arg-type]


def _xid(code: int, age_s: float | None, part: str = "gpu:3") -> Change:
    return _health(xids=(XidSeen(part=part, code=code, at=None if age_s is None else NOW - age_s, text=f"XID {code}"),))


_LOGGED_ELSEWHERE = replace(SPEC, system=SystemSpec(image="trainer@2026.11", console_log="conserver on ops1"))

FAILS: dict[str, list[tuple[str, Change, str, str]]] = {
    "inventory.console": [
        ("no console", _health(consoles=()), "no serial console", ""),
        ("silent", _health(consoles=(ConsoleWay(way="ssh", port=22, answers=False),)), "nothing answers at ssh port 22", ""),
        ("nobody logs", _health(console_logs=()), "nobody keeps its text", ""),
    ],
    "inventory.xids": [
        ("fell off the bus", _xid(79, 100), "XID 79", "gpu:3"),
        ("two GPUs", _health(xids=tuple(XidSeen(part=f"gpu:{n}", code=79, at=NOW, text="") for n in (1, 2))), "2 of 8 at fault", ""),
    ],
    "inventory.leaks": [
        ("wet", _health(leaks=(LeakSeen(name="Tray", state="critical"), LeakSeen(name="CDU", state="ok"))), "Tray is critical", ""),
    ],
    # check: [(what is wrong, change, part of `seen`, subject's part)]
    "inventory.bmc-answers": [
        ("two machines", _power(identity_serial="OTHER77"), "OTHER77", ""),
    ],
    "inventory.identity": [
        ("wrong serial by the BMC", _identity("bmc", system_serial="OTHER77"), "the BMC: OTHER77", ""),
        ("wrong serial in-band", _identity("agent", system_serial="OTHER77"), "the agent: OTHER77", ""),
        ("wrong UUID in-band", _identity("agent", uuid="00000000-0000-0000-0000-000000000abc"), "by the agent", ""),
        ("placeholder in the spec", lambda c: replace(c, node=replace(NODE, serial="To be filled by O.E.M.")), "placeholder", ""),
        (
            "wrong serial before the first boot",
            lambda c: without(
                seeing(c, Kind.BMC_POWER, OOB, replace(POWER_ON, identity_serial="OTHER77")),
                Kind.AGENT_HARDWARE,
                Kind.AGENT_BOOT,
                Kind.BMC_HARDWARE,
            ),
            "OTHER77",
            "",
        ),
    ],
    "inventory.witnesses-agree": [
        ("a GPU off the bus", lambda c: with_agent(c, pci=agent_facts().pci[1:]), "8 by the BMC, 7 on the PCI bus", ""),
        ("a NIC lost in-band", lambda c: with_agent(c, nics=agent_facts().nics[1:]), "94:6d:ae:01:00:00", ""),
        ("another drive in-band", _first_drive(serial="STRANGER1"), "STRANGER1 by the agent", ""),
        ("memory", lambda c: with_agent(c, memory_mib=1_900_000), "1900000 MiB by the agent", ""),
        (
            "another GPU by the driver",
            lambda c: with_agent(c, gpus=(replace(bmc_facts().gpus[0], serial="STRANGER1"), *bmc_facts().gpus[1:])),
            "GPU0001 by the BMC",
            "",
        ),
    ],
    "inventory.purchase": [
        ("bought, not there", _bought(PurchaseLine(part="H100", serial="GPU9999", node_serial="x", kind="gpu", line=77)), "line 77", ""),
        (
            "a GPU gone, another without a serial",
            lambda c: with_bmc(c, gpus=(replace(bmc_facts().gpus[0], serial=None), *bmc_facts().gpus[2:])),
            "is not in the node",
            "",
        ),
        (
            "a GPU gone, no agent yet",
            lambda c: without(with_bmc(c, gpus=bmc_facts().gpus[1:]), Kind.AGENT_HARDWARE),
            "GPU0001 is not in the node",
            "",
        ),
        ("swapped compute NIC", _agent_nic(serial="STRANGER1"), "nic STRANGER1 is in the node", ""),
        ("swapped GPU", bmc_gpu(0, serial="STRANGER1"), "gpu STRANGER1 is in the node and not on the list", ""),
    ],
    "inventory.cpus": [
        ("one by the BMC", lambda c: with_bmc(c, cpus=bmc_facts().cpus[1:]), "1 CPU by the BMC", ""),
        ("one in-band", lambda c: with_agent(c, cpus=agent_facts().cpus[1:]), "1 CPU by the agent", ""),
    ],
    "inventory.memory": [
        ("two DIMMs of 32 gone", lambda c: with_bmc(c, memory_mib=30 * 64 * 1024), "1966080 MiB", ""),
    ],
    "inventory.gpus": [
        ("seven GPUs", lambda c: with_bmc(c, gpus=(*bmc_facts().gpus[:4], *bmc_facts().gpus[5:])), "missing: GPU 5", ""),
        ("no GPU", lambda c: with_bmc(c, gpus=()), "0 GPUs: none", ""),
        ("another model", bmc_gpu(2, model="NVIDIA H200"), "model NVIDIA H200", "gpu:3"),
        ("half its memory", bmc_gpu(2, memory_mib=40960), "40960 MiB", "gpu:3"),
        ("one serial twice", bmc_gpu(2, serial="GPU0001"), "is shown by 2 GPUs", ""),
    ],
    "inventory.gpu-pcie": [
        ("generation 4", bmc_gpu(4, pcie=PcieLink(max_generation=4, max_width=16)), "at most generation 4 x16", "gpu:5"),
        ("width 8", bmc_gpu(4, pcie=PcieLink(max_generation=5, max_width=8)), "x8", "gpu:5"),
        ("trained narrow", _trained(4, generation=5, width=8), "GPU_SXM_5: trained at generation 5 x8", "gpu:5"),
        ("trained slow", _trained(4, generation=3, width=16), "GPU_SXM_5: trained at generation 3 x16", "gpu:5"),
    ],
    "inventory.nvswitches": [
        ("one gone", lambda c: with_bmc(c, nvswitches=bmc_facts().nvswitches[1:]), "3: NVSwitch_1", ""),
    ],
    "inventory.nvlinks": [
        ("one down", _link(18 * 4 + 11, state="down", gbps=None), "GPU_SXM_5: NVLink 11 to NVSwitch_3", "gpu:5"),
        ("one slow", _link(18 * 4 + 11, gbps=106.25), "runs at 106.25 Gbit/s", "gpu:5"),
        ("one training", _link(0, state="training"), "NVLink 0 to NVSwitch_0:18 is training", "gpu:1"),
        ("ends disagree", _link(0, peer_agrees=False), "the far end names another port", "gpu:1"),
        ("half its lanes", _link(18 * 4 + 11, width=1), "NVLink 11 to NVSwitch_3:101 runs on 1 of 2 lanes", "gpu:5"),
        ("one not there", lambda c: with_bmc(c, nvlinks=bmc_facts().nvlinks[1:]), "17 of 18 NVLinks", "gpu:1"),
        ("all of two GPUs", lambda c: with_bmc(c, nvlinks=bmc_facts().nvlinks[36:]), "2 of 8 at fault", ""),
    ],
    "inventory.nvlink-matrix": [
        ("to another switch", _link(18 * 4, peer="NVSwitch_1:999"), "4 NVLinks (ports 4, 8, 12, 16) reach NVSwitch_0, 5 are", "gpu:5"),
        ("one not there", lambda c: with_bmc(c, nvlinks=bmc_facts().nvlinks[1:]), "reach NVSwitch_0, 5 are expected", "gpu:1"),
        ("down and nowhere", _link(0, state="down", peer=None), "reach NVSwitch_0, 5 are expected", "gpu:1"),
        ("a port named twice", _link(18, peer="NVSwitch_0:18"), "NVLink 0 names NVSwitch_0:18, as others do", ""),
        ("not the profile's", lambda c: replace(c, profile=replace(PROFILE, nvlinks_per_switch=(4, 5, 5, 4))), "8 of 8 at fault", ""),
        ("no two GPUs alike", _scattered, "GPU_SXM_2: 4 + 6 + 4 + 4", ""),
    ],
    "inventory.nics": [
        ("seven", lambda c: with_agent(c, nics=agent_facts().nics[1:]), "7: mlx5_1", ""),
        ("one slow", _agent_nic(rate_gbps=200.0), "mlx5_2 at 200 Gbit/s", "nic:mlx5_2"),
        ("one without RDMA", _agent_nic(rdma=False), "7:", ""),
    ],
    "inventory.drives": [
        ("seven", lambda c: with_agent(c, drives=agent_facts().drives[1:]), "7 NVMe drives of that size", ""),
        ("nine", lambda c: with_agent(c, drives=(*agent_facts().drives, Drive(name="nvme9n1", size_bytes=4 * 10**12))), "9 NVMe", ""),
    ],
    "inventory.boot-claims": [
        ("second claim", lambda c: seeing(c, Kind.BOOT_CLAIMS, ENDPOINT, BootClaimsSeen(claims=3, conflicts=1)), "a second time (1)", ""),
    ],
    "firmware.baseline": [
        ("old", lambda c: with_bmc(c, firmware=(Firmware(component="HGX_FW_BMC_0", version="HGX-21"),)), "HGX-21", "firmware:HGX_FW_BMC_0"),
        ("not in the inventory", lambda c: with_bmc(c, firmware=()), "not in the BMC's inventory", "firmware:HGX_FW_BMC_0"),
    ],
    "os.boot": [
        ("the RAM disk's boot id", _installed(boot_id=RAM_BOOT), RAM_BOOT, ""),
        ("stage ram", _installed(stage="ram"), "stage ram", ""),
    ],
    "os.image": [
        ("another was written", _written(image_digest="sha256:ff"), "sha256:ff", ""),
        ("a frame differs on disk", _written(mismatches=1), "written: 1 frames", ""),
        ("nothing read back", _written(frames_verified=0), "no frame was read", ""),
        ("none matches", _measured(image_digest=""), "no image that matches", ""),
        ("a frame differs", _measured(mismatches=3), "measured: 3 frames", ""),
        ("nothing measured", _measured(frames_measured=0), "measured: no frame", ""),
    ],
    "os.disk": [
        ("runs from a data disk", _measured(root_disk_serial="DATA0001"), "it runs from DATA0001", ""),
        ("wrote a data disk", _written(disk_serial="DATA0001"), "written was DATA0001", ""),
    ],
    "os.kernel": [
        ("another", _measured(kernel="5.10.0-1-amd64"), "kernel 5.10.0", ""),
    ],
    "os.identity": [
        ("wrong machine", _installed(system_serial="OTHER77"), "OTHER77 by the inst", ""),
        ("wrong BMC", _power(identity_serial="OTHER77"), "OTHER77 by the BMC", ""),
    ],
}

UNDETERMINED: dict[str, list[tuple[str, Change, str]]] = {
    "inventory.xids": [
        ("no time", _xid(79, None), "without a time"),
        ("unknown code", _xid(999, 100), "gpu:3 XID 999"),
    ],
    "inventory.leaks": [("no state", _health(leaks=(LeakSeen(name="Tray", state="unknown"),)), "Tray")],
    # check: [(what is not known, change, part of `reason`)]
    "inventory.identity": [
        ("placeholder in-band", _identity("agent", system_serial="Default string"), "the agent"),
        ("no serial by the BMC", _identity("bmc", system_serial=None), "the BMC"),
    ],
    "inventory.purchase": [
        ("GPU without a serial", bmc_gpu(0, serial=None), "GPU0001"),
        (
            "a line that does not say its kind",
            _bought(PurchaseLine(part="thing", serial="NOWHERE1", node_serial="x", line=78)),
            "thing NOWHERE1",
        ),
    ],
    "inventory.memory": [("no size", lambda c: with_bmc(c, memory_mib=None), "does not say")],
    "inventory.gpus": [
        ("no serial", bmc_gpu(0, serial="N/A"), "GPU_SXM_1"),
        ("no model", bmc_gpu(0, model=None), "GPU_SXM_1"),
        ("no memory", bmc_gpu(0, memory_mib=None), "GPU_SXM_1"),
    ],
    "inventory.gpu-pcie": [
        ("no link", bmc_gpu(0, pcie=None), "GPU_SXM_1"),
        ("all trained low, before the first installed boot", _not_installed, "all GPUs trained alike and lower: generation 1 x16"),
        ("a GPU is not there", lambda c: with_bmc(c, gpus=bmc_facts().gpus[1:]), "7 GPUs of 8"),
    ],
    "inventory.nvlinks": [
        ("unknown state", _link(0, state="unknown"), "GPU 1 NVLink 0"),
        ("no speed", _link(0, gbps=None), "GPU 1 NVLink 0"),
        ("far end not read", _link(0, peer_agrees=None), "GPU 1 NVLink 0"),
        ("a GPU is not there", lambda c: with_bmc(c, gpus=bmc_facts().gpus[1:]), "7 of 8"),
    ],
    "inventory.nvlink-matrix": [
        ("far end not said", _link(0, peer=None), "NVLink 0 of GPU 1"),
        ("a switch is not there", lambda c: with_bmc(c, nvswitches=bmc_facts().nvswitches[1:]), "3 NVSwitches"),
    ],
    "inventory.nics": [("RDMA not known", _agent_nic(rdma=None), "cannot be told")],
    "inventory.drives": [
        ("size not known", _first_drive(size_bytes=None), "size"),
    ],
    "firmware.baseline": [
        ("no version", lambda c: with_bmc(c, firmware=(Firmware(component="HGX_FW_BMC_0", version=None),)), "no version")
    ],
    "os.boot": [
        ("silent", _installed(last_contact_at=NOW - 301), "silent"),
        ("back in RAM", lambda c: seeing(c, Kind.AGENT_BOOT, IN_RAM, replace(RAM, claimed_at=NOW - 500)), "RAM disk"),
    ],
    "os.image": [("image not built", lambda c: replace(c, image=None, image_problem="not built"), "not built")],
    "os.disk": [
        ("no root serial", _measured(root_disk_serial=None), "does not say"),
        ("no such disk", _system("serial:NO1"), "NO1"),
        ("no system", lambda c: replace(c, spec=replace(SPEC, system=None)), "no system"),
    ],
    "os.identity": [
        ("no serial", _installed(system_serial=None), "installed system"),
    ],
}

NOT_APPLICABLE: dict[str, list[tuple[Change, str]]] = {
    "inventory.gpus": [(lambda c: replace(c, profile=replace(PROFILE, gpus=0)), "no GPUs")],
    "inventory.gpu-pcie": [(lambda c: replace(c, profile=replace(PROFILE, gpus=0)), "no GPUs")],
    "inventory.nvswitches": [(lambda c: replace(c, profile=replace(PROFILE, nvswitches=0)), "no NVSwitches")],
    "inventory.nvlinks": [(lambda c: replace(c, profile=replace(PROFILE, nvlinks_per_gpu=0)), "no NVLinks")],
    "inventory.nvlink-matrix": [(lambda c: replace(c, profile=replace(PROFILE, nvswitches=0)), "no NVSwitches")],
    "inventory.purchase": [(lambda c: replace(c, spec=replace(SPEC, purchase=())), "no purchase list")],
    "firmware.baseline": [(_baseline("other", "x", "1"), "no firmware baseline")],
    "os.kernel": [(lambda c: replace(c, image=replace(BUILT, manifest=replace(BUILT.manifest, kernel=""))), "names no kernel")],
}

PASSES: dict[str, list[tuple[str, Change]]] = {
    "inventory.console": [("logged elsewhere", lambda case: replace(_health(console_logs=())(case), spec=_LOGGED_ELSEWHERE))],
    "inventory.xids": [("an old fault", _xid(79, 90_000)), ("an application's fault", _xid(13, 100))],
    "inventory.leaks": [("air-cooled", _health(leaks=()))],
    "inventory.identity": [
        ("UUID in the other byte order", _identity("bmc", uuid="44454c4c-5100-1030-8052-b4c04f4d3231")),
        ("padded serial in small letters", _identity("agent", system_serial=" mw24h100001 ")),
        ("the machine is off", _power(power=PowerState.OFF)),
    ],
    "inventory.witnesses-agree": [
        (
            "a BMC that shows drives without serials",
            lambda c: with_bmc(c, drives=tuple(replace(d, serial=None) for d in bmc_facts().drives)),
        ),
        (
            "GPUs of the other maker, beside a switch and a BMC's VGA",
            lambda c: with_agent(
                c,
                pci=(
                    *(replace(device, vendor="1002", device_class="120000") for device in agent_facts().pci),
                    replace(agent_facts().pci[0], device_class="068000"),
                    replace(agent_facts().pci[0], vendor="1a03", device_class="030000"),
                ),
            ),
        ),
        ("a NIC that only the agent sees", lambda c: with_bmc(c, nics=bmc_facts().nics[1:])),
    ],
    "inventory.purchase": [
        (
            "an onboard NIC that is on no list",
            lambda c: with_agent(c, nics=(*agent_facts().nics, Nic(name="eno1", serial="ONBOARD1", rdma=False))),
        ),
    ],
    "inventory.gpu-pcie": [
        ("idle at generation 1 under an installed system", bmc_gpu(0, pcie=PcieLink(generation=1, width=8, max_generation=6, max_width=16)))
    ],
    "inventory.nvlink-matrix": [("a link that is down and says where it leads", _link(0, state="down", gbps=None))],
    "inventory.memory": [("firmware took 2 %", lambda c: with_bmc(c, memory_mib=2_055_208))],
    "firmware.baseline": [("a pattern", _baseline("compute", "HGX_FW_*", "HGX-22.10-1"))],
    "os.boot": [("the RAM disk was never seen", _never_in_ram)],
}

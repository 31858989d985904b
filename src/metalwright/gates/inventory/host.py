"""inventory.cpus, memory, nics, drives: counts and sizes against the hardware profile, by both witnesses where both can see."""

from metalwright.gates.answers import failed, number, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.disk_choice import nvme_drives
from metalwright.gates.facts import in_band, out_of_band
from metalwright.gates.limits import at_least_percent, limit
from metalwright.gates.sights import agent, bmc
from metalwright.model.case import NodeCase
from metalwright.model.hardware import Drive, Nic
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate

PROFILE = "the node's hardware profile (metalwright explain shows its source)"


def judge_cpus(case: NodeCase) -> tuple[Answer, ...]:
    """Exact count, by both witnesses."""
    wanted, outside, inside = case.profile.cpus, len(out_of_band(case).cpus), len(in_band(case).cpus)
    expected = number(wanted, "CPU")
    if outside == inside == wanted:
        return passed(expected, number(wanted, "CPU"))
    seen = f"{number(outside, 'CPU')} by the BMC, {number(inside, 'CPU')} by the agent"
    return failed(expected, seen, "reseat or replace the missing CPU, or correct the profile")


def judge_memory(case: NodeCase) -> tuple[Answer, ...]:
    """At least the floor's share of the labelled size."""
    seen_mib, wanted_gib = out_of_band(case).memory_mib, case.profile.memory_gib
    expected = f"at least {limit('memory.floor').value} % of {wanted_gib} GiB"
    if seen_mib is None:
        return undetermined("the BMC does not say how much memory there is", "read it on the console, or waive", expected=expected)
    seen = f"{seen_mib} MiB by the BMC"
    if at_least_percent(seen_mib, wanted_gib * 1024, "memory.floor"):
        return passed(expected, seen)
    return failed(expected, seen + _small_dimms(case), "reseat or replace the DIMMs that are missing or mapped out")


def judge_nics(case: NodeCase) -> tuple[Answer, ...]:
    """Exact count of compute NICs; none that is known to be slower than the profile's."""
    nics, wanted = in_band(case).nics, case.profile.nics
    expected = number(wanted, "compute NIC") + (f" of {case.profile.nic_rate_gbps} Gbit/s" if wanted else "")
    found = [nic for nic in nics if nic.rdma]
    unknown = [nic for nic in nics if nic.rdma is None]
    if unknown and len(found) != wanted:
        reason = f"{number(len(unknown), 'NIC')} cannot be told from compute NICs"
        return undetermined(reason, "the agent's kernel lacks the RDMA driver: see metalwright node show", expected=expected)
    if len(found) != wanted:
        return failed(expected, f"{len(found)}: {_names(found)}", "reseat or replace the missing NIC, or correct the profile")
    slow = [nic for nic in found if nic.rate_gbps is not None and 0 < nic.rate_gbps < case.profile.nic_rate_gbps]
    if slow:
        seen = ", ".join(f"{nic.name} at {nic.rate_gbps:g} Gbit/s" for nic in slow)
        return failed(expected, seen, "check card, cable and switch port of that NIC", part=f"nic:{slow[0].name}" if len(slow) == 1 else "")
    return passed(expected, number(len(found), "compute NIC"))


def judge_drives(case: NodeCase) -> tuple[Answer, ...]:
    """Exact count of NVMe drives of the profile's size; smaller ones (boot drives) are counted apart."""
    drives, wanted = nvme_drives(in_band(case)), case.profile.nvme
    expected = number(wanted, "NVMe drive") + (f" of {case.profile.nvme_each_tb:g} TB" if wanted else "")
    unknown = [drive for drive in drives if drive.size_bytes is None]
    full = [drive for drive in drives if drive.size_bytes is not None and _is_full_size(case, drive.size_bytes)]
    small = [drive for drive in drives if drive.size_bytes is not None and drive not in full]
    seen = f"{number(len(full), 'NVMe drive')} of that size and {len(small)} smaller"
    if len(full) == wanted:
        return passed(expected, seen)
    if unknown:
        return undetermined(f"the size of {_names(unknown)} is unknown", "replace or reseat that drive", seen=seen, expected=expected)
    return failed(expected, seen + (f" ({_names(small)})" if small else ""), "reseat or replace the missing drive, or correct the profile")


def _is_full_size(case: NodeCase, size_bytes: int) -> bool:
    return at_least_percent(size_bytes, case.profile.nvme_each_tb * 1e12, "drive.size-floor")


def _small_dimms(case: NodeCase) -> str:
    dimms = out_of_band(case).dimms
    dead = [dimm.slot for dimm in dimms if not dimm.size_mib]
    return f"; {number(len(dimms) - len(dead), 'DIMM')} with a size" + (f", none in {', '.join(dead[:8])}" if dead else "") if dimms else ""


def _names(parts: "list[Nic] | list[Drive]") -> str:
    names = [part.name for part in parts]
    return ", ".join(names[:12]) or "none"


CPUS = Check(
    id=CheckId("inventory.cpus"),
    gate=Gate.INVENTORY,
    version=1,
    title="CPUs are complete",
    rule="The BMC and the agent each see as many CPU sockets filled as the profile says.",
    source=PROFILE,
    sights=(bmc("cpus"), agent("cpus")),
    judge=judge_cpus,
    profile=("cpus",),
)
MEMORY = Check(
    id=CheckId("inventory.memory"),
    gate=Gate.INVENTORY,
    version=1,
    title="Memory is complete",
    rule="The BMC sees at least the floor's share of the profile's memory.",
    source=f"{PROFILE}; threshold memory.floor",
    sights=(bmc("memory", "memory_mib", "dimms"),),
    judge=judge_memory,
    profile=("memory_gib",),
    thresholds=("memory.floor",),
)
NICS = Check(
    id=CheckId("inventory.nics"),
    gate=Gate.INVENTORY,
    version=1,
    title="Compute NICs are complete",
    rule="The agent sees as many RDMA NICs as the profile says, none known to run below the profile's rate.",
    source=PROFILE,
    sights=(agent("nics"),),
    judge=judge_nics,
    profile=("nics", "nic_rate_gbps"),
)
DRIVES = Check(
    id=CheckId("inventory.drives"),
    gate=Gate.INVENTORY,
    version=1,
    title="NVMe drives are complete",
    rule="The agent sees exactly as many NVMe drives of the profile's size as the profile says; smaller ones are counted apart.",
    source=f"{PROFILE}; threshold drive.size-floor",
    sights=(agent("drives"),),
    judge=judge_drives,
    profile=("nvme", "nvme_each_tb"),
    thresholds=("drive.size-floor",),
)

"""os.pcie-links, os.acs, os.port-links, os.drive-health: links and drives of the host, from its own tools."""

from metalwright.gates.answer import Answer
from metalwright.gates.answers import Fault, listed, number, of_parts, passed, undetermined
from metalwright.gates.limits import limit
from metalwright.gates.readings.check import ReadingCheck
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.host_parts import DriveHealth, PciFunction, PciListing, PortReport, PortState
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate

JUDGED = ("gpu", "nic", "nvme")


def judge_links(listing: PciListing, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Every GPU, NIC and drive runs at its full width; a lower generation may be power saving."""
    expected = "every GPU, NIC and NVMe drive at its full PCIe width and generation"
    parts = [each for each in listing.functions if each.kind in JUDGED]
    found = [(each, _narrow(each)) for each in parts]
    narrow = [Fault(part=f"pci:{each.address}", name=f"{each.kind} {each.address}", seen=words) for each, words in found if words]
    do = "reseat the card; check riser, retimer and the bifurcation settings of the slot"
    if narrow:
        return of_parts(narrow, of=len(parts), expected=expected, ok="", do=do)
    slow = [f"{each.kind} {each.address} runs generation {each.link.generation}" for each in parts if each.link and _is_slow(each)]
    unread = [each.address for each in parts if each.link is None or each.link.width is None]
    if unread or not parts:
        return undetermined(f"no link is told of {listed(unread) or 'any GPU, NIC or drive'}", "run lspci -vv as root", expected=expected)
    if slow:
        reason = f"lower than the device can, which may be power saving or the slot: {listed(slow)}"
        return undetermined(reason, "list it again under load", expected=expected)
    return passed(expected, f"{number(len(parts), 'link')} at full speed")


def _narrow(each: PciFunction) -> str:
    link = each.link
    if link is None or link.width is None or link.max_width is None or link.width >= link.max_width:
        return ""
    return f"x{link.width} of x{link.max_width}"


def _is_slow(each: PciFunction) -> bool:
    link = each.link
    return link is not None and (link.generation or 0) < (link.max_generation or 0)


def judge_acs(listing: PciListing, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No bridge redirects: peer traffic between GPU and NIC stays below its switch."""
    bridges = [each for each in listing.functions if each.acs is not None]
    faults = [Fault(part=f"pci:{each.address}", name=each.address, seen="redirects requests upstream") for each in bridges if each.acs]
    do = "turn ACS off in the BIOS, or by setpci at boot; where virtual machines need it (VFIO), waive this check"
    expected = "ACS redirects nowhere"
    return of_parts(faults, of=len(bridges), expected=expected, ok=f"{number(len(bridges), 'function')} without redirection", do=do)


def judge_ports(report: PortReport, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """Up, at the fastest speed that the port advertises."""
    faults = [Fault(part=f"port:{port.name}", name=port.name, seen=words) for port in report.ports if (words := _port_fault(port))]
    expected = "a link on every port, at the fastest speed that it advertises"
    unread = [port.name for port in report.ports if port.speed is None or port.best is None]
    if unread and not faults:
        return undetermined(f"no speed or no advertised mode of {listed(unread)}", "run ethtool as root on that port", expected=expected)
    do = "check cable, transceiver and the speed of the switch port"
    return of_parts(faults, of=len(report.ports), expected=expected, ok=f"{number(len(report.ports), 'port')} up at full speed", do=do)


def _port_fault(port: PortState) -> str:
    if port.is_up is False:
        return "no link"
    is_slow = port.speed is not None and port.best is not None and port.speed < port.best
    return f"{port.speed} of {port.best} Mb/s" if is_slow else ""


def judge_drive(drive: DriveHealth, _: AcceleratorProfile | None) -> tuple[Answer, ...]:
    """No warning, no media error, spare blocks, not worn out."""
    most = limit("drive.wear").value
    expected = f"no critical warning, no media error, spare above its threshold, at most {most} % of its life used"
    wrong = [
        f"critical warning {drive.critical_warning:#x}" if drive.critical_warning else "",
        f"{drive.media_errors} media errors" if drive.media_errors else "",
        f"{drive.used} % of its life used" if drive.used is not None and drive.used > most else "",
        f"spare {drive.spare} %, threshold {drive.spare_threshold} %" if _is_spent(drive) else "",
    ]
    seen = listed(each for each in wrong if each)
    if seen:
        fault = Fault(part="drive", name="drive", seen=seen)
        return of_parts([fault], of=1, expected=expected, ok="", do="copy what matters, then replace the drive")
    facts = ("critical_warning", "media_errors", "used", "spare")
    unread = [name.replace("_", " ") for name in facts if getattr(drive, name) is None]
    if unread:
        return undetermined(f"not told: {listed(unread)}", "read the whole log: nvme smart-log", expected=expected)
    return passed(expected, f"{drive.used} % used, spare {drive.spare} %")


def _is_spent(drive: DriveHealth) -> bool:
    return drive.spare is not None and drive.spare_threshold is not None and drive.spare <= drive.spare_threshold


def _check(name: str, title: str, rule: str, source: str, **more: object) -> ReadingCheck:
    fixed = {"id": CheckId(f"os.{name}"), "gate": Gate.OS, "version": 1, "title": title, "rule": rule, "source": source}
    return ReadingCheck(**(fixed | more))  # type: ignore[arg-type]  # the fields of ReadingCheck


CHECKS = (
    _check(
        "pcie-links",
        "PCIe links are whole",
        "Every GPU, NIC and NVMe drive runs at its full width; a lower generation at idle is undetermined.",
        "PCI Express Base Specification: Link Capabilities and Link Status; lspci(8)",
        reads=PciListing,
        judge=judge_links,
        facts=("links",),
    ),
    _check(
        "acs",
        "ACS does not redirect",
        "No PCIe function redirects requests or completions upstream.",
        "NVIDIA GPUDirect RDMA and NCCL documentation: PCI access control services; AMD system acceptance (ACS off)",
        reads=PciListing,
        judge=judge_acs,
        facts=("acs",),
    ),
    _check(
        "port-links",
        "Network ports are up at full speed",
        "Every port has a link at the fastest speed that it advertises.",
        "ethtool(8); IEEE 802.3 link modes",
        reads=PortReport,
        judge=judge_ports,
        facts=("ports",),
    ),
    _check(
        "drive-health",
        "Drives are healthy",
        "No critical warning, no media error, spare above its threshold, wear below the limit.",
        "NVM Express Base Specification: SMART / Health Information; threshold drive.wear",
        reads=DriveHealth,
        judge=judge_drive,
        facts=("smart",),
        thresholds=("drive.wear",),
    ),
)

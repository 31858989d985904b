"""`lspci -vv` → `PciListing`: what each link can do and does, and where ACS redirects."""

import re

from metalwright.model.hardware import Gap, PcieLink
from metalwright.model.host_parts import PciFunction, PciListing
from metalwright.model.reading import Unreadable
from metalwright.readers.sysfs import GENERATION_OF_SPEED

FORMAT = "lspci -vv"
HEAD = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (\S[^\n]{3,300})$", re.M)
CAPABLE = re.compile(r"LnkCap:.{0,80}?Speed (\d{1,2}(?:\.\d)?)GT/s.{0,40}?Width x(\d{1,2})")
STATE = re.compile(r"LnkSta:\s+Speed (\d{1,2}(?:\.\d)?|unknown)(?:GT/s)?.{0,40}?Width x(\d{1,2})")
ACS = re.compile(r"ACSCtl:\s+(.{10,160})")
REDIRECTS = ("ReqRedir+", "CmpltRedir+", "UpstreamFwd+")
KINDS = (
    ("gpu", ("3D controller", "VGA compatible controller: NVIDIA", "Processing accelerators")),
    ("nvme", ("Non-Volatile memory controller",)),
    ("nic", ("Infiniband controller", "Ethernet controller")),
    ("bridge", ("PCI bridge",)),
)


def looks_like(text: str) -> bool:
    head = text[:500_000]
    is_verbose = any(word in head for word in ("LnkCap:", "Capabilities:", "Flags: bus master"))
    return is_verbose and HEAD.search(head) is not None


def read(text: str) -> PciListing | Unreadable:
    """One block per function."""
    starts = list(HEAD.finditer(text))
    if not starts:
        return Unreadable(reason="no function of PCI is listed")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    functions = tuple(_function(match, text[match.end() : end]) for match, end in zip(starts, ends, strict=True))
    told = {"links": any(each.link for each in functions), "acs": any(each.acs is not None for each in functions)}
    gaps = (Gap(what="pci", why="capabilities are hidden: run lspci as root"),) if "<access denied>" in text else ()
    return PciListing(functions=functions, offers=frozenset(name for name, is_told in told.items() if is_told), gaps=gaps)


def _function(match: re.Match[str], block: str) -> PciFunction:
    name = match.group(2)
    capable, state, acs = CAPABLE.search(block), STATE.search(block), ACS.search(block)
    link = None
    if capable:
        link = PcieLink(
            generation=GENERATION_OF_SPEED.get(state.group(1)) if state else None,
            width=int(state.group(2)) if state else None,
            max_generation=GENERATION_OF_SPEED.get(capable.group(1)),
            max_width=int(capable.group(2)),
        )
    return PciFunction(
        address=match.group(1),
        name=name[:120],
        kind=next((kind for kind, words in KINDS if name.startswith(words)), ""),
        link=link,
        acs=any(flag in acs.group(1) for flag in REDIRECTS) if acs else None,
    )

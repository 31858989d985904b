"""NCCL topology XML (NCCL_TOPO_FILE) → `NcclTopology`."""

import re
from collections.abc import Iterator

from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.model.run_results import NcclTopology, TopologyGpu
from metalwright.readers.sysfs import GENERATION_OF_SPEED
from metalwright.readers.words import natural
from metalwright.readers.xml_tree import Element, read_tree

FORMAT = "NCCL topology"
GPU_CLASSES = ("0x0302", "0x0300", "0x1200")
NIC_CLASSES = ("0x0207", "0x0200")


def looks_like(text: str) -> bool:
    return re.search(r"<system version=\"\d{1,3}\"", text) is not None and "<cpu " in text


def read(text: str) -> NcclTopology | Unreadable:
    """GPUs and NICs below every CPU; near each other are those below the same device of the CPU."""
    root, broken = read_tree(text[text.index("<system") :].strip("\n "))
    if root is None or root.name != "system":
        return Unreadable(reason=broken or "the root is not a system")
    gpus: list[TopologyGpu] = []
    nics = 0
    for cpu in (child for child in root.children if child.name == "cpu"):
        for top in (child for child in cpu.children if child.name == "pci"):
            near = sum(_ports(device) for device in _devices(top) if _is(device, NIC_CLASSES))
            nics += near
            gpus += [_gpu(device, near) for device in _devices(top) if _is(device, GPU_CLASSES)]
    gaps = (Gap(what="topology", why=broken),) if broken else ()
    told = {"gpus"} | ({"nics"} if nics else set()) | ({"nvlinks"} if any(gpu.nvlinks is not None for gpu in gpus) else set())
    return NcclTopology(gpus=tuple(gpus), nics=nics, offers=frozenset(told), gaps=gaps)


def _devices(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        if child.name == "pci":
            yield from _devices(child)


def _is(device: Element, classes: tuple[str, ...]) -> bool:
    return device.attributes.get("class", "").startswith(classes)


def _ports(device: Element) -> int:
    """Ports of a NIC; a file that only lists the device has one."""
    nic = device.child("nic")
    return max(sum(child.name == "net" for child in nic.children), 1) if nic is not None else 1


def _gpu(device: Element, near: int) -> TopologyGpu:
    speed = device.attributes.get("link_speed", "").split(" ", maxsplit=1)[0]
    inner = device.child("gpu")
    links = [natural(link.attributes.get("count", "")) for link in inner.children if link.name == "nvlink"] if inner is not None else []
    return TopologyGpu(
        address=device.attributes.get("busid", "?")[:32],
        generation=GENERATION_OF_SPEED.get(speed),
        width=natural(device.attributes.get("link_width", "")),
        nvlinks=sum(count or 0 for count in links) if links else None,
        near_nics=near,
    )

"""`nvidia-smi -q -x` → `GpuReport`: every complete GPU of the document, whatever the order, DTD or driver."""

from collections.abc import Iterator

from metalwright.model.gpu_state import GpuReport
from metalwright.model.hardware import Gap
from metalwright.model.reading import Unreadable
from metalwright.readers.nvidia_smi.aliases import full_report
from metalwright.readers.words import natural, word
from metalwright.readers.xml_tree import Element, read_tree

FORMAT = "nvidia-smi -q -x"
SKIPPED = frozenset(("mig_devices", "processes", "accounted_processes", "supported_clocks"))
"""Lists below a GPU that repeat the names of the GPU's own facts."""


def looks_like(text: str) -> bool:
    return "<nvidia_smi_log" in text


def read(text: str) -> GpuReport | Unreadable:
    """Lines around the document (a warning of the driver, a shell prompt) do not hurt; of two documents the first is read, with a gap."""
    start = text.find("<nvidia_smi_log")
    end = text.find("</nvidia_smi_log>", start)
    document = text[start:] if end < 0 else text[start : end + len("</nvidia_smi_log>")]
    around = text[:start] + ("" if end < 0 else text[end:])
    root, broken = read_tree(document)
    if root is None:
        return Unreadable(reason=broken)
    gpus = [element for element in root.children if element.name == "gpu"]
    whole = [_texts(element) for element in gpus if element.is_whole]
    gaps = [Gap(what="gpus", why=broken)] if broken else []
    if "<nvidia_smi_log" in around:
        gaps.append(Gap(what="gpus", why="a second output follows and was not read: judge it by itself"))
    if len(whole) < len(gpus) and not broken:
        gaps.append(Gap(what="gpus", why="a GPU's description breaks off"))
    return full_report(
        whole,
        driver=_text(root, "driver_version"),
        api=_text(root, "cuda_version"),
        attached=natural(_text(root, "attached_gpus") or ""),
        around=around + root.text,
        gaps=tuple(gaps),
    )


def _texts(gpu: Element) -> dict[str, str]:
    """Path below the GPU → text; of names that come twice the first counts."""
    found: dict[str, str] = {}
    for path, text in _walk(gpu, ""):
        found.setdefault(path, text)
    identity = gpu.attributes.get("id", "")
    if identity:
        found.setdefault("pci/pci_bus_id", identity)
    return found


def _walk(element: Element, path: str) -> Iterator[tuple[str, str]]:
    for child in element.children:
        if child.name not in SKIPPED:
            below = f"{path}{child.name.lower()}"
            yield below, child.text
            yield from _walk(child, f"{below}/")


def _text(root: Element, name: str) -> str | None:
    found = root.child(name)
    return word(found.text) if found is not None else None

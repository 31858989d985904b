"""What stands out in the report of one BMC: found without a profile, by comparing parts with their best and with their equals. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]


def standing_out(report: Json) -> Iterator[str]:
    """What an engineer would ask about: machine off, parts not in order, links below their best, odd ones out among equals."""
    if report["power"] != "on":
        yield f"the machine is {report['power']}: parts without power may be missing below"
    for part in (*report["gpus"], *report["power_supplies"]):
        if part["health"] not in (None, "OK"):
            yield f"{part['name']} health {part['health']}"
    for gpu in report["gpus"]:
        if gpu["pcie"] and "!" in pcie_words(gpu["pcie"]):
            yield f"{gpu['name']} PCIe {pcie_words(gpu['pcie']).rstrip('!')}"
    yield from _odd_links(report["nvlink_edges"])
    yield from _odd_firmware(report["firmware"])


def _odd_links(edges: Sequence[Json]) -> Iterator[str]:
    best_gbps = max((edge["gbps"] or 0 for edge in edges), default=0)
    lanes = max((edge["width"] or 0 for edge in edges), default=0)
    for edge in edges:
        notes = [edge["state"]] if edge["state"] != "up" else []
        notes += ["the other end disagrees"] if edge["both_ends_agree"] is False else []
        if edge["state"] == "up":
            notes += [f"{edge['gbps']:g} Gbit/s of {best_gbps:g}"] if (edge["gbps"] or best_gbps) < best_gbps else []
            notes += [f"{edge['width']} of {lanes} lanes"] if (edge["width"] or lanes) < lanes else []
        notes += [counted(edge["errors"], "error")] if edge["errors"] else []
        if notes:
            peer = f"{edge['peer']} port {edge['peer_port']}" if edge["peer"] else "an unknown peer"
            yield f"NVLink {edge['gpu_name']} port {edge['gpu_port']} to {peer}: {', '.join(notes)}"


def _odd_firmware(firmware: Sequence[Json]) -> Iterator[str]:
    """Of three or more like components most have one version and some another."""
    for name, entries in families(firmware).items():
        versions = Counter(entry["version"] for entry in entries)
        common, count = versions.most_common(1)[0]
        if len(versions) > 1 and count * 2 > len(entries) > 2:
            odd = ", ".join(f"{entry['component']} {entry['version']}" for entry in entries if entry["version"] != common)
            yield f"{odd}: the other {name} have {common}"


def families(firmware: Sequence[Json]) -> dict[str, list[Json]]:
    """Components that differ in their last number only, under their common name (`HGX_FW_GPU_SXM_*`)."""
    found: dict[str, list[Json]] = defaultdict(list)
    for entry in sorted(firmware, key=lambda entry: natural(entry["component"])):
        found[re.sub(r"[0-9]{1,9}$", "*", entry["component"])].append(entry)
    return found


# -- words -----------------------------------------------------------------------------------------------------------------------


def pcie_words(link: Json) -> str:
    now, best = (link["generation"], link["width"]), (link["max_generation"], link["max_width"])
    is_below = any(one is not None and most is not None and one < most for one, most in zip(now, best, strict=True))
    words = f"gen {now[0] or '?'} x{now[1] or '?'}"
    return f"{words} of gen {best[0] or '?'} x{best[1] or '?'}!" if is_below else words


def counted(number: int, noun: str) -> str:
    plural = {"NVSwitch": "NVSwitches", "power supply": "power supplies"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def natural(text: str) -> list[tuple[int, str]]:
    """`NIC2` before `NIC10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]{1,9})", text) if part]

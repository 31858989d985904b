"""`amd-smi static|metric|bad-pages --json` and `rocm-smi --json` → `GpuReport`. Field names moved between versions: looked up by meaning.

amd-smi: a list, or `{"gpu_data": [...]}` since ROCm 7; values as `{"value": 750, "unit": "W"}`, a text, or `N/A`.
rocm-smi: `{"card0": {...}, "system": {...}}`, labels with their unit in brackets.
"""

import re
from collections.abc import Iterator
from typing import Any

from metalwright.model.gpu_state import GpuReport
from metalwright.model.reading import Unreadable
from metalwright.readers.gpu_facts import Source, Sources, report, said_by
from metalwright.readers.json_text import document, listing, mapping, text_of
from metalwright.readers.sysfs import GENERATION_OF_SPEED
from metalwright.readers.words import Parser, decimal, flag, identifier, integer, is_nothing, key, natural, word

FORMAT = "amd-smi or rocm-smi"
MARKS = re.compile(r'"(?:market_name|gpu_data|ecc_blocks|Card [Ss]eries|card0|vram|gfx_activity|un_res)"')
MAX_DEPTH = 6
BYTES_PER_MIB = 2**20


def looks_like(text: str) -> bool:
    head = text[:200_000]
    return MARKS.search(head) is not None and ('"gpu"' in head or '"card' in head)


def read(text: str) -> GpuReport | Unreadable:
    """Every object that describes a GPU, in the tool's order."""
    whole = document(text)
    entries = _entries(whole)
    if not entries:
        return Unreadable(reason="the JSON document is broken, cut off or describes no GPU")
    gpus = [dict(_walk(entry, "", 0)) for entry in entries]
    driver = next((gpu[path] for gpu in gpus for path in ("driver/version", "driver_version") if path in gpu), None)
    system = mapping(mapping(whole).get("system")) if isinstance(whole, dict) else {}
    driver = driver or text_of(system.get("Driver version")) or None
    return report(gpus, AMD, driver=driver, offers=said_by(gpus, AMD))


def _entries(whole: Any) -> list[dict[str, Any]]:
    if isinstance(whole, dict) and any(re.fullmatch(r"card\d{1,3}", name) for name in whole):
        cards = sorted((name for name in whole if re.fullmatch(r"card\d{1,3}", name)), key=lambda name: int(name[4:]))
        return [mapping(whole[name]) for name in cards]
    found = listing(mapping(whole).get("gpu_data")) if isinstance(whole, dict) else listing(whole)
    return [mapping(entry) for entry in found if isinstance(entry, dict) and "gpu" in entry]


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Path → text; a value with its unit is one text, a list is its length."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict) and "value" in value:
        number = text_of(value.get("value"))
        yield path, number if is_nothing(number) else f"{number} {text_of(value.get('unit'))}".strip()
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _walk(below, f"{path}/{key(str(name)[:80])}" if path else key(str(name)[:80]), depth + 1)
    elif isinstance(value, list):
        yield path, str(len(value))
    else:
        yield path, text_of(value)


def _generation(text: str) -> int | None:
    """`32 GT/s`, `32.0 GT/s`, `Gen 5`, `5`."""
    match = re.fullmatch(r"(?:(\d{1,2}(?:\.\d)?) ?GT/s.{0,8}|Gen ?(\d))", text.strip(), re.I)
    if match is None:
        return None
    return int(match.group(2)) if match.group(2) else GENERATION_OF_SPEED.get(match.group(1))


def _mebibytes(text: str) -> int | None:
    """amd-smi calls MiB MB; rocm-smi prints bytes."""
    number = natural(text)
    if number is None:
        return None
    return number // BYTES_PER_MIB if number > 100 * BYTES_PER_MIB else number


def _pages(text: str) -> int | None:
    """`No bad pages found.`, or how many there are."""
    return 0 if re.match(r"no (?:bad )?pages", text.strip(), re.I) else natural(text)


def _some_pages(text: str) -> bool | None:
    number = _pages(text)
    return None if number is None else number > 0


def _throttled(text: str) -> bool | None:
    return {"throttled": True, "unthrottled": False}.get(text.strip().lower())


def _source(parse: Parser, *paths: str) -> Source:
    return Source(parse=parse, paths=paths)


AMD = Sources(
    facts={
        "address": _source(word, "bus/bdf", "bdf", "pci_bus"),
        "model": _source(word, "asic/market_name", "card_series", "board/product_name"),
        "serial": _source(identifier, "board/product_serial", "serial_number"),
        "uuid": _source(identifier, "asic/asic_serial", "uuid", "hip_uuid", "unique_id"),
        "module": _source(word, "asic/oam_id"),
        "vbios": _source(word, "ifwi/version", "vbios/version", "ifwi/part_number", "vbios/part_number", "vbios_version"),
        "memory_mib": _source(_mebibytes, "vram/size", "vram/vram_size", "mem_usage/total_vram", "vram_total_memory_b"),
        "compute_partition": _source(word, "partition/compute_partition", "partition/accelerator_partition", "compute_partition"),
        "memory_partition": _source(word, "partition/memory_partition", "memory_partition"),
        "ecc": _source(flag, "ras/ecc_block_state/umc"),
        "ecc_pending": _source(flag, "ras/ecc_block_state/umc"),
        "pcie_generation": _source(_generation, "pcie/speed", "pcie/current_lane_speed"),
        "pcie_width": _source(natural, "pcie/width", "pcie/current_lane_width"),
        "pcie_best_generation": _source(_generation, "bus/max_pcie_speed", "bus/pcie_interface_version"),
        "pcie_best_width": _source(natural, "bus/max_pcie_width", "bus/max_pcie_lanes"),
        "pcie_replays": _source(natural, "pcie/replay_count"),
        "utilisation": _source(natural, "usage/gfx_activity", "usage/gfx_usage", "gpu_use"),
        "power_limit": _source(decimal, "limit/socket_power", "limit/power_cap", "current_power_cap_w", "max_graphics_package_power_w"),
        "power_draw": _source(decimal, "power/socket_power", "current_socket_graphics_package_power_w", "average_graphics_package_power_w"),
        "temperature": _source(integer, "temperature/hotspot", "temperature_sensor_junction_c"),
        "slowdown_temperature": _source(integer, "limit/slowdown_hotspot_temperature"),
        "hw_slowdown": _source(_throttled, "power/throttle_status"),
        "sm_clock": _source(natural, "clock/gfx_0/clk"),
        "sm_clock_best": _source(natural, "clock/gfx_0/max_clk"),
        "dram_uncorrectable": _source(natural, "ecc/total_uncorrectable_count"),
        "sram_uncorrectable": _source(natural, "ecc/cache_uncorrectable_count"),
        "pages_bad": _source(_pages, "retired", "bad_pages/retired"),
        "pages_pending": _source(_some_pages, "pending", "bad_pages/pending"),
    }
)
"""Read from AMD's own command line sources and documentation: ROCm 6.1 to 7.1."""

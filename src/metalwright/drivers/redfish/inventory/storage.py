"""Drives: from storage subsystems and backplanes, one per serial; from SimpleStorage where the drives themselves are empty shells."""

from collections.abc import Iterator, Mapping
from typing import Any

from metalwright.drivers.redfish.documents import identifier, inner, is_absent, links_of, objects, text_of
from metalwright.drivers.redfish.inventory.sight import Sight
from metalwright.model.hardware import Drive

Document = Mapping[str, Any]


def read_drives(sight: Sight) -> tuple[Drive, ...]:
    """Sorted by name, without virtual media. A drive shown by its controller and its backplane is one, by its serial."""
    found: dict[str, Drive] = {}
    for path in _drive_paths(sight):
        document = sight.documents.get(path)
        if _says_something(document) and not is_absent(document) and document.get("Protocol") != "USB":
            drive = _drive(sight, path, document)
            found.setdefault(drive.serial or path, drive)
    if not found:
        found = {drive.name: drive for drive in _simple_drives(sight)}
    for drive in found.values():
        if drive.serial is None:
            sight.gap(f"drives/{drive.name}/serial", "not shown by the BMC")
    return tuple(sorted(found.values(), key=lambda drive: (drive.slot or "", drive.name)))


def _drive_paths(sight: Sight) -> list[str]:
    paths: dict[str, None] = {}
    for _, system in sight.systems:
        for _, storage in sight.members(system.get("Storage"), "drives"):
            paths.update(dict.fromkeys(links_of(storage.get("Drives"))))
    for _, chassis in sight.chassis:
        paths.update(dict.fromkeys(path for path, _ in sight.members(chassis.get("Drives"), "drives")))
        paths.update(dict.fromkeys(links_of(inner(chassis, "Links").get("Drives"))))
    for path in paths:
        if path in sight.documents.failed:
            sight.gap(f"drives/{path.rpartition('/')[2]}", sight.documents.failed[path])
    return list(paths)


def _says_something(drive: Document) -> bool:
    """Drives of some AMI firmwares hold their id and nothing else."""
    return any(name in drive for name in ("Model", "SerialNumber", "CapacityBytes"))


def _drive(sight: Sight, path: str, document: Document) -> Drive:
    model = text_of(document.get("Model"))
    return Drive(
        name=identifier(path, document),
        model=model,
        serial=text_of(document.get("SerialNumber")),
        size_bytes=sight.documents.whole(document, "CapacityBytes"),
        protocol=text_of(document.get("Protocol")),
        slot=_slot(document),
    )


def _slot(document: Document) -> str | None:
    """PhysicalLocation since 2018.3, an array of Location before."""
    label = text_of(inner(document, "PhysicalLocation", "PartLocation").get("ServiceLabel"))
    for location in objects(document.get("Location")):
        label = label or text_of(location.get("Info"))
    return label


def _simple_drives(sight: Sight) -> Iterator[Drive]:
    for _, storage in sight.members(sight.host.get("SimpleStorage"), "drives"):
        for device in objects(storage.get("Devices")):
            name = text_of(device.get("Name"))
            model = text_of(device.get("Model"))
            if name and not is_absent(device) and not (model or "").startswith("Virtual "):  # the BMC's own virtual media
                yield Drive(name=name, model=model, size_bytes=sight.documents.whole(device, "CapacityBytes"))

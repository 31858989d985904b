"""The real system image: the same bytes twice, and a system that runs from an NVMe drive."""

import asyncio
import hashlib
import os
import shutil
from pathlib import Path

import pytest
from boot_server import AGENT_URL, RECIPE, TAPS, boot_server
from test_lab_netboot import BOOT_DEADLINE_S, IDENTITY, NODE, plan

from lab.processes import ProcessBook
from lab.qemu import QemuMachine, QemuShape
from metalwright.drivers.images.mmdebstrap import RawImage, build_system_image
from metalwright.drivers.netboot.dnsmasq import serve_dnsmasq
from metalwright.model import node_data
from metalwright.model.hardware import BootTarget, PowerState
from metalwright.model.node_data import NodeData

pytestmark = pytest.mark.real

DRIVE_BYTES = 1908 << 20
"""Larger than the image, as a real drive is."""


def sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def install(image: RawImage, drive: Path, pin: str) -> None:
    """What a writer does: the image, then the node-data slot of this drive."""
    drive.parent.mkdir()
    shutil.copyfile(image.path, drive)
    os.truncate(drive, DRIVE_BYTES)
    data = NodeData(node=NODE.name, agent_url=AGENT_URL, pin=pin, token="", images_url="", image_digest="")
    with drive.open("r+b") as opened:
        opened.seek(node_data.slot_offset(DRIVE_BYTES))
        opened.write(node_data.pack(data))


def system_slot_sha256(image: RawImage, drive: Path) -> str:
    digest = hashlib.sha256()
    with drive.open("rb") as opened:
        opened.seek(image.system_offset)
        for _ in range(image.system_length >> 20):
            digest.update(opened.read(1 << 20))
    return digest.hexdigest()


def test_the_installed_system_runs_and_stays_as_written(lab_network: str, tmp_path: Path, probe_image: RawImage) -> None:
    """It boots from the drive, reads its node data, finds no failed unit, measures its slot as built, and obeys the power button."""

    async def run() -> dict[str, object]:
        shape = QemuShape(
            node=NODE,
            identity=IDENTITY,
            folder=tmp_path / "n1",
            tap=TAPS[0],
            drive_serial="LABNVME1",
            drive_bytes=DRIVE_BYTES,
        )
        node = QemuMachine(shape, ProcessBook(tmp_path / "processes.json"))
        async with boot_server({}, tmp_path) as heard, serve_dnsmasq(plan()):
            install(probe_image, node.drive, heard.pin)
            try:
                await node.set_boot(BootTarget.DISK, once=True)
                await node.set_power("on")
                async with asyncio.timeout(BOOT_DEADLINE_S):
                    report = await heard.reports.get()
                await node.set_power("shutdown")
                async with asyncio.timeout(BOOT_DEADLINE_S):
                    while await node.power() is PowerState.ON:
                        await asyncio.sleep(0.1)
                return report
            except TimeoutError:
                pytest.fail(f"late; console ends: {node.console.read_text(errors='replace')[-800:]}")
            finally:
                await node.close()

    report = asyncio.run(run())
    assert report["serial"] == NODE.serial
    assert report["node"] == NODE.name
    assert report["kernel"] == probe_image.kernel
    assert report["failed"] == ""
    built = system_slot_sha256(probe_image, probe_image.path)
    assert report["system"] == built
    assert system_slot_sha256(probe_image, tmp_path / "n1" / "drive.raw") == built


def test_the_image_is_the_same_twice(tmp_path: Path, probe_image: RawImage, probe_package: Path) -> None:
    """Two builds of one recipe, some time apart, give one digest."""
    again = build_system_image(RECIPE, tmp_path, package=probe_package)
    assert again.path != probe_image.path
    assert sha256(again.path) == sha256(probe_image.path)

"""os.image and os.disk: the ordered image was written, read back, and is what the running system measures, on the ordered disk."""

from metalwright.gates.answers import failed, listed, passed, undetermined
from metalwright.gates.check import Answer, Check
from metalwright.gates.disk_choice import choose_system_disk
from metalwright.gates.facts import in_band, required
from metalwright.gates.serials import same_serial
from metalwright.gates.sights import INSTALLED, MEASURED, WRITTEN, agent
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId, Digest
from metalwright.model.judgement import Gate
from metalwright.model.observation import DiskImageSeen, Kind, SystemImageSeen, Witness
from metalwright.model.placeholders import serial_of

DO = "write the image again: metalwright apply; if it differs again, the disk or the image store is at fault"


def judge_image(case: NodeCase) -> tuple[Answer, ...]:
    """Two witnesses, one digest, no frame that differs."""
    if case.image is None:
        return undetermined(f"the ordered image is not known: {case.image_problem or 'none is ordered'}", "metalwright image build SITE")
    written = required(case, Kind.DISK_IMAGE, Witness.RAM_DISK, DiskImageSeen)
    measured = required(case, Kind.SYSTEM_IMAGE, Witness.RUNNING_SYSTEM, SystemImageSeen)
    wanted = case.image.digest
    expected = f"image {wanted} written, read back and measured, no frame that differs"
    wrong = _wrong("written", written.image_digest, written.mismatches, written.frames_verified, wanted)
    wrong += _wrong("measured", measured.image_digest, measured.mismatches, measured.frames_measured, wanted)
    if wrong:
        return failed(expected, listed(wrong), DO)
    return passed(expected, f"{wanted}, read back by the RAM disk and self-measured by the running system (not TPM-quoted)")


def _wrong(how: str, digest: Digest, mismatches: int, frames: int, wanted: Digest) -> list[str]:
    found = [] if digest == wanted else [f"{how}: {digest or 'no image that matches'}"]
    if mismatches:
        found.append(f"{how}: {mismatches} frames differ")
    if frames < 1:
        found.append(f"{how}: no frame was read")
    return found


def judge_disk(case: NodeCase) -> tuple[Answer, ...]:
    """The root disk is the one that was written and the one that the layout chooses."""
    layout = case.spec.system.disks if case.spec.system else None
    if layout is None:
        return undetermined("the spec orders no system, so no disk", "add `system:` to site.yaml")
    written = required(case, Kind.DISK_IMAGE, Witness.RAM_DISK, DiskImageSeen).disk_serial
    root = required(case, Kind.SYSTEM_IMAGE, Witness.RUNNING_SYSTEM, SystemImageSeen).root_disk_serial
    chosen = choose_system_disk(in_band(case), layout)
    if isinstance(chosen, str):
        return undetermined(f"the ordered disk cannot be told: {chosen}", "name it in the layout: system.disks.system: serial:<serial>")
    expected = f"the system on disk {chosen.serial} ({layout.system})"
    if serial_of(root) is None:
        return undetermined("the running system does not say the serial of its root disk", "waive with a reason", expected=expected)
    if not same_serial(root, chosen.serial) or not same_serial(written, chosen.serial):
        seen = f"it runs from {root}, written was {written}"
        return failed(expected, seen, "set the boot order to the ordered disk, or write the image to it: metalwright apply")
    return passed(expected, f"it runs from {serial_of(root)}")


IMAGE = Check(
    id=CheckId("os.image"),
    gate=Gate.OS,
    version=1,
    title="The ordered image runs",
    rule="The RAM disk read the ordered image back from the disk without a difference, and the running system measures the same digest.",
    source="the image's manifest (sha256 of every frame); self-measured unless TPM-quoted, and marked so",
    sights=(INSTALLED, WRITTEN, MEASURED),
    judge=judge_image,
)
DISK = Check(
    id=CheckId("os.disk"),
    gate=Gate.OS,
    version=1,
    title="The system is on the ordered disk",
    rule="The serial of the root disk is that of the written disk and of the disk that the layout chooses.",
    source="`system.disks` of the spec; NVMe Identify Controller SN",
    sights=(WRITTEN, MEASURED, agent("drives")),
    judge=judge_disk,
)

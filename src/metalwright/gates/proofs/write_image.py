"""Proves write-image: this attempt's frames were read back from the ordered disk and match the ordered image's manifest."""

from metalwright.gates.serials import same_serial
from metalwright.model.case import NodeCase
from metalwright.model.ids import OperationId
from metalwright.model.observation import DiskImageSeen, Kind, Need, Witness
from metalwright.model.work import Contradicted, NotYet, OperationState, Proof, Proven, StepRun, WriteImage

NEEDS = (Need(kind=Kind.DISK_IMAGE, witness=Witness.RAM_DISK, max_age_s=60.0),)


def operation_id(run: StepRun) -> OperationId:
    """`<order>/<step index>/<attempt>`."""
    return OperationId(f"{run.order}/{run.index}/{run.attempt}")


def prove(step: WriteImage, run: StepRun, case: NodeCase) -> Proof:
    """Only a report of this attempt's own operation counts, made after the step began."""
    look = case.seen(Kind.DISK_IMAGE, Witness.RAM_DISK)
    written = look.body if look is not None and isinstance(look.body, DiskImageSeen) else None
    if look is not None and written is not None and look.seen_at > run.began_at and written.operation == operation_id(run):
        return _of_report(step, written, case)
    return _of_operation(run, case)


def _of_report(step: WriteImage, written: DiskImageSeen, case: NodeCase) -> Proof:
    if not same_serial(written.disk_serial, step.disk_serial):
        return Contradicted(seen=f"disk {written.disk_serial} was written, the order is for {step.disk_serial}", needs_person=True)
    if written.mismatches:
        return Contradicted(seen=f"{written.mismatches} frames read back from disk {step.disk_serial} differ from the image")
    if written.image_digest != step.image_digest:
        return Contradicted(seen=f"image {written.image_digest} was written, the order is for {step.image_digest}")
    total = _frames(step, written, case)
    wanted = max(1, -(-total * step.verify_percent // 100))
    if written.frames_verified < wanted:
        return Contradicted(seen=f"{written.frames_verified} of {total} frames were read back, {wanted} are required")
    return Proven(seen=f"{written.frames_verified} of {total} frames read back from disk {step.disk_serial} match")


def _frames(step: WriteImage, written: DiskImageSeen, case: NodeCase) -> int:
    """Frames of the image: the manifest's count wins over what the agent says."""
    if case.image is not None and case.image.digest == step.image_digest:
        return len(case.image.manifest.frames)
    return written.frames_total


def _of_operation(run: StepRun, case: NodeCase) -> Proof:
    operation = next((each for each in case.operations if each.id == operation_id(run)), None)
    if operation is not None and operation.state is OperationState.FAILED:
        return Contradicted(seen=f"the agent gave up: {operation.detail or 'no reason given'}")
    if operation is not None and operation.state is OperationState.CANCELLED:
        return Contradicted(seen="the write was cancelled at a checkpoint")
    if operation is not None and operation.units_total:
        return NotYet(awaiting=f"the image: {operation.units_done * 100 // operation.units_total} % flushed to the disk")
    return NotYet(awaiting="the agent to begin the image")

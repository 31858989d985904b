"""Writes an image. The operation was committed with the intent; the agent in RAM pulls it. Nothing is pushed to the machine."""

from metalwright.model.work import Outcome, Started, StepRun, WriteImage


async def write_image(step: WriteImage, run: StepRun) -> Outcome:
    """Idempotent: the operation's id is this attempt's, and an agent does one id once."""
    return Started(detail=f"image {step.image} to disk {step.disk_serial}, attempt {run.attempt}")

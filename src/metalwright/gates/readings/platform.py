"""Which platform a reading is of, when nobody says: by the name of its GPUs."""

from collections import Counter
from collections.abc import Sequence

from metalwright.codec.accelerators import of_model
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport
from metalwright.model.link_reports import NvLinkReport
from metalwright.model.reading import Reading


def platform_of(readings: Sequence[Reading]) -> AcceleratorProfile | None:
    """The platform that the commonest GPU model is built for; None when no model is told or known."""
    reports = [reading.content for reading in readings if isinstance(reading.content, GpuReport | NvLinkReport)]
    models = Counter(gpu.model for report in reports for gpu in report.gpus if gpu.model is not None)
    if not models:
        return None
    model = models.most_common(1)[0][0]
    return of_model(model, max(len(report.gpus) for report in reports))

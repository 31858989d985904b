"""Which platform a reading is of, when nobody says: by the name of its GPUs."""

from collections import Counter
from collections.abc import Sequence

from metalwright.codec.accelerators import of_model
from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.gpu_state import GpuReport
from metalwright.model.link_reports import NvLinkReport
from metalwright.model.reading import Reading
from metalwright.model.run_results import CollectiveRun, CopyRun


def platform_of(readings: Sequence[Reading]) -> AcceleratorProfile | None:
    """The platform that the commonest GPU model is built for; None when no model is told or known."""
    models: Counter[str] = Counter()
    most = 0
    for content in (reading.content for reading in readings):
        names = _models(content)
        models.update(names)
        most = max(most, len(names))
    return of_model(models.most_common(1)[0][0], most) if models else None


def _models(content: object) -> list[str]:
    """The name of every GPU that a text names."""
    match content:
        case GpuReport(gpus=gpus):
            return [gpu.model for gpu in gpus if gpu.model is not None]
        case NvLinkReport(gpus=linked):
            return [gpu.model for gpu in linked if gpu.model is not None]
        case CollectiveRun(model=str(model), ranks=ranks):
            return [model] * ranks
        case CopyRun(models=models):
            return list(models)
        case _:
            return []

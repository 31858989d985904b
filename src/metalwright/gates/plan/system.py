"""plan.image: an image is ordered, and it is built and whole."""

from metalwright.gates.answers import failed, passed
from metalwright.gates.check import Answer, SiteCheck
from metalwright.model.case import SiteCase
from metalwright.model.ids import CheckId


def judge(case: SiteCase) -> tuple[Answer, ...]:
    """Ordered, then built."""
    system = case.spec.system
    if system is None:
        return failed("an ordered image that is built", "none is ordered", "add `system: {image: name@version}` to site.yaml")
    image, expected = case.images.get(system.image), f"image {system.image} built and whole"
    if image is None:
        why = case.image_problems.get(system.image, "it is not built")
        return failed(expected, why, "metalwright image build SITE")
    return passed(expected, f"{system.image} {image.digest}")


CHECK = SiteCheck(
    id=CheckId("plan.image"),
    version=1,
    title="The image is ready",
    rule="The spec orders an image, and the image store holds it built and whole.",
    source="`system.image` of the spec; the image's manifest",
    judge=judge,
)

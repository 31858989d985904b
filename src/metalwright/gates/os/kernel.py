"""os.kernel: the kernel that runs is the one the image's manifest names."""

from metalwright.gates.answers import failed, passed
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import required
from metalwright.gates.sights import MEASURED
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import Kind, SystemImageSeen, Witness


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """Exact text."""
    seen = required(case, Kind.SYSTEM_IMAGE, Witness.RUNNING_SYSTEM, SystemImageSeen).kernel
    wanted = case.image.manifest.kernel if case.image else ""
    if seen.strip() == wanted.strip():
        return passed(f"kernel {wanted}", f"kernel {seen}")
    do = "the boot loader started another kernel: check the disk's boot entries, then write the image again"
    return failed(f"kernel {wanted}", f"kernel {seen or '(none said)'}", do)


def _why_not(case: NodeCase) -> str:
    return "the image's manifest names no kernel" if case.image is not None and not case.image.manifest.kernel else ""


CHECK = Check(
    id=CheckId("os.kernel"),
    gate=Gate.OS,
    version=1,
    title="The image's kernel runs",
    rule="The release of the running kernel (uname -r) is the one in the image's manifest.",
    source="the image's manifest; uname(2)",
    sights=(MEASURED,),
    judge=judge,
    not_applicable=_why_not,
)

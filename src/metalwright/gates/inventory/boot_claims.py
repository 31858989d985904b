"""inventory.boot-claims: each boot token was claimed once. A second claim means that somebody else read the token."""

from metalwright.gates.answers import failed, passed
from metalwright.gates.check import Answer, Check
from metalwright.gates.facts import required
from metalwright.gates.sights import BOOT_CLAIMS
from metalwright.model.case import NodeCase
from metalwright.model.ids import CheckId
from metalwright.model.judgement import Gate
from metalwright.model.observation import BootClaimsSeen, Kind, Witness

DO = "both claims were revoked: find the second claimant on the boot network, then boot the node again: metalwright node retry"


def judge(case: NodeCase) -> tuple[Answer, ...]:
    """No second claim of any token of this node."""
    claims = required(case, Kind.BOOT_CLAIMS, Witness.ENDPOINT, BootClaimsSeen)
    expected = "every boot token is claimed once"
    if claims.conflicts:
        more = f": {claims.detail}" if claims.detail else ""
        return failed(expected, f"a token was claimed a second time ({claims.conflicts}){more}", DO)
    return passed(expected, "no second claim")


CHECK = Check(
    id=CheckId("inventory.boot-claims"),
    gate=Gate.INVENTORY,
    version=1,
    title="Boot tokens are claimed once",
    rule="A boot token opens after our own power-on and is claimed once; a second claim revokes both and is red.",
    source="metalwright's own boot protocol (docs: boot tokens)",
    sights=(BOOT_CLAIMS,),
    judge=judge,
)

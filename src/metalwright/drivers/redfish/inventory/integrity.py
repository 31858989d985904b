"""Parts that can prove their firmware by SPDM or TPM (ComponentIntegrity, DSP2046), and whether they last did. Not the proof itself."""

from collections.abc import Iterator

from metalwright.drivers.redfish.documents import identifier, inner, links_of, text_of
from metalwright.drivers.redfish.inventory.sight import Sight
from metalwright.model.observation import IntegritySeen


def read_integrity(sight: Sight) -> Iterator[IntegritySeen]:
    """One per ComponentIntegrity resource."""
    for path, document in sight.members(sight.root.get("ComponentIntegrity"), "integrity"):
        protected = links_of(inner(document, "Links").get("ComponentsProtected"))
        target = protected[0] if protected else text_of(document.get("TargetComponentURI")) or ""
        enabled = document.get("ComponentIntegrityEnabled")
        verified = inner(document, "SPDM", "IdentityAuthentication", "ResponderAuthentication").get("VerificationStatus")
        yield IntegritySeen(
            name=identifier(path, document),
            protocol=text_of(document.get("ComponentIntegrityType")),
            version=text_of(document.get("ComponentIntegrityTypeVersion")),
            part=target.rpartition("/")[2] or None,
            is_enabled=enabled if isinstance(enabled, bool) else None,
            verification=text_of(verified),
        )

"""What a BMC says in an error body: message ids and texts, whatever their registry's name, version or language (Q25)."""

from collections.abc import Mapping
from typing import Any

_TRY_AGAIN = frozenset(
    {
        "SYS518",  # iDRAC: data sources are unavailable
        "ResourceNotReadyRetry",  # iLO
        "InvalidOperationForSystemState",  # iLO
        "UnableToModifyDuringSystemPOST",  # iLO (Q37)
        "ServiceTemporarilyUnavailable",
        "ResourceInStandby",
        "ServiceInUnknownState",
        "HMCCommuicationFailed",  # AMI on HGX machines whose host is off; the typo is theirs (Q12)
        "HMCCommunicationFailed",
        "ChassisPowerStateOffRequired",  # the host is still going down (Q31)
    }
)
"""Message ids that mean *not now*, whatever the status code (Q13)."""

_NOT_LIKE_THIS = frozenset(
    {
        "PropertyNotWritable",
        "PropertyUnknown",
        "PropertyValueNotInList",
        "PropertyValueConflict",
        "ActionParameterNotSupported",
        "ActionParameterValueNotInList",
        "ActionNotSupported",
    }
)


def message_ids(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Last parts of every MessageId in an error body: `Base.1.8.PropertyNotWritable` → `PropertyNotWritable`."""
    return tuple(str(entry.get("MessageId", "")).rpartition(".")[2] for entry in _entries(document))


def message_text(document: Mapping[str, Any]) -> str:
    """The first texts for a person, cut to 300 characters; empty when there are none."""
    texts = [str(entry.get("Message") or entry.get("MessageId") or "") for entry in _entries(document)[:3]]
    return " ".join(" ".join(text.split()) for text in texts if text)[:300]


def is_try_again(document: Mapping[str, Any]) -> bool:
    """The BMC says that the same request may work later."""
    return any(known in _TRY_AGAIN for known in message_ids(document))


def is_not_like_this(document: Mapping[str, Any]) -> bool:
    """The BMC objects to a property or parameter, so another form of the request may work."""
    return any(known in _NOT_LIKE_THIS for known in message_ids(document))


def is_error_body(document: Mapping[str, Any]) -> bool:
    """An error, though it came with status 200 (Q56)."""
    return isinstance(document.get("error"), dict) and "@odata.id" not in document


def _entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    error = document.get("error")
    holder = error if isinstance(error, dict) else document
    found = holder.get("@Message.ExtendedInfo")
    if isinstance(found, dict):
        found = [found]
    listed = found if isinstance(found, list) else []
    entries: list[Mapping[str, Any]] = [entry for entry in listed if isinstance(entry, dict)]
    if not entries and isinstance(error, dict) and (error.get("code") or error.get("message")):
        entries = [{"MessageId": error.get("code"), "Message": error.get("message")}]
    return entries

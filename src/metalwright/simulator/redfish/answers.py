"""Answers of a BMC, and its errors as the Redfish specification shapes them (DSP0266 8.6, DSP8011 Base registry)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metalwright.simulator.redfish.documents import Document

REGISTRY = "Base.1.19"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back: a JSON document, raw bytes with a media type, or nothing."""

    status: int
    document: Document | None = None
    raw: bytes | None = None
    media_type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """Carries the answer that ends a request early."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


_TEXTS = {
    "ResourceMissingAtURI": ("The resource at the URI '{0}' was not found.", "Critical"),
    "MalformedJSON": ("The request body submitted was malformed JSON and could not be parsed by the receiving service.", "Critical"),
    "NoValidSession": ("There is no valid session established with the implementation.", "Critical"),
    "InsufficientPrivilege": ("The account or credentials lack the privileges for the requested operation.", "Critical"),
    "OperationNotAllowed": ("The HTTP method is not allowed on this resource.", "Critical"),
    "PropertyUnknown": ("The property '{0}' is not in the list of valid properties for the resource.", "Warning"),
    "PropertyNotWritable": ("The property '{0}' is a read-only property and cannot be assigned a value.", "Warning"),
    "PropertyMissing": ("The property '{0}' is a required property and must be included in the request.", "Warning"),
    "PropertyValueNotInList": ("The value '{0}' for the property '{1}' is not in the list of acceptable values.", "Warning"),
    "PropertyValueTypeError": ("The value '{0}' for the property '{1}' is not a type that the property can accept.", "Warning"),
    "PropertyValueFormatError": ("The value '{0}' for the property '{1}' is not in a format that the property can accept.", "Warning"),
    "ActionParameterMissing": ("The action '{0}' requires the parameter '{1}' to be present in the request body.", "Critical"),
    "ActionParameterValueNotInList": ("The value '{0}' for the parameter '{1}' in the action '{2}' is not acceptable.", "Warning"),
    "ActionParameterUnknown": ("The action '{0}' was submitted with the invalid parameter '{1}'.", "Warning"),
    "ResourceAlreadyExists": ("The requested resource of type {0} with the property {1} with the value '{2}' already exists.", "Critical"),
    "SessionLimitExceeded": ("The session failed: the number of simultaneous sessions exceeds the limit.", "Critical"),
    "CreateLimitReachedForResource": ("The create operation failed: the collection is full.", "Critical"),
    "PreconditionFailed": ("The ETag supplied did not match the current ETag of the resource.", "Critical"),
    "QueryParameterUnsupported": ("Query parameter '{0}' is not supported.", "Warning"),
    "QueryParameterValueFormatError": ("The value '{0}' for the query parameter '{1}' is not in a format that it can accept.", "Warning"),
    "QueryNotSupportedOnResource": ("Querying is not supported on the requested resource.", "Warning"),
    "ServiceDisabled": ("The operation failed because the service at {0} is disabled.", "Warning"),
    "NoOperation": ("The request body submitted contains no data to act upon.", "Warning"),
    "GeneralError": ("{0}", "Critical"),
}


def refuse(status: int, message_id: str, *args: str, headers: Mapping[str, str] | None = None, prop: str | None = None) -> Refused:
    """An exception with an extended error; `prop` names the property at fault as `#/Boot/…`."""
    text, severity = _TEXTS[message_id]
    message: dict[str, Any] = {
        "@odata.type": "#Message.v1_1_2.Message",
        "MessageId": f"{REGISTRY}.{message_id}",
        "Message": text.format(*args),
        "MessageArgs": list(args),
        "MessageSeverity": severity,
        "Resolution": "Correct the request and send it again." if status < 500 else "Send the request again later.",
    }
    if prop:
        message["RelatedProperties"] = [f"#/{prop}"]
    error = {"code": message["MessageId"], "message": message["Message"], "@Message.ExtendedInfo": [message]}
    return Refused(Answer(status=status, document={"error": error}, headers=headers or {}))

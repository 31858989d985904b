"""Teaches pydantic the markers of `model.units`. Only files of the operator are judged by them; what the store holds was judged before.

Importing this module does it; adapters made before read numbers and texts as they are stored, which stays right.
"""

import re
from collections.abc import Callable
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from metalwright.codec.notebook import quote
from metalwright.model.placeholders import serial_of
from metalwright.model.units import BmcUrl, Bounds, DurationText, Form, MacText, SecretText, SerialText

FILES = "site files"
"""Validation context: the value comes from the operator's files."""

_DURATION = re.compile(r"([0-9]{1,9})(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_MOST_SECONDS = 10 * 366 * 86400
_SECRET = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|vault:[A-Za-z0-9._/-]+(#[A-Za-z0-9._-]+)?|file:(?!/)(?!~)[^\x00-\x1f\s]+")
_MAC_FORM = "[0-9a-fA-F]{2}([:-]?[0-9a-fA-F]{2}){5}|([0-9a-fA-F]{4}[.]){2}[0-9a-fA-F]{4}"
_MAC = re.compile(_MAC_FORM)
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\]"
_BMC = re.compile(rf"(https?|ipmi)://({_HOST})(?::([0-9]{{1,5}}))?/?")
_SERIAL_FORM = r"[A-Za-z0-9][A-Za-z0-9._/:+-]{0,63}"
_SERIAL = re.compile(_SERIAL_FORM)


def refuse(message: str, hint: str) -> PydanticCustomError:
    """An error with words of its own; the translation to a Problem takes both from its context."""
    return PydanticCustomError("told", "{message}", {"message": message, "hint": hint})


def _duration(value: Any) -> int:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refuse(f"{quote(value)} is not a duration", "write a whole number with its unit: 30s, 20min, 12h or 7d")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds <= _MOST_SECONDS:
        raise refuse(f"{quote(value)} is not between one second and ten years", "write a whole number with its unit: 30s, 20min, 12h or 7d")
    return seconds


def is_secret_reference(text: str) -> bool:
    """Whether a text names a secret and is not one."""
    return _SECRET.fullmatch(text) is not None and ".." not in text.partition(":")[2].split("/")


def _secret(value: Any) -> Any:
    if isinstance(value, str) and is_secret_reference(value):
        return value
    # Never echo the value: it may be the secret itself.
    raise refuse("a secret must be a reference, never the secret itself", "write env:NAME, file:path/in/the/folder or vault:path")


def _mac(value: Any) -> Any:
    digits = re.sub(r"[:.-]", "", value.lower()) if isinstance(value, str) and _MAC.fullmatch(value) else ""
    if not digits:
        raise refuse(f"{quote(value)} is not a MAC address", 'write it as "02:00:00:00:00:01"')
    if int(digits[:2], 16) & 1 or set(digits) == {"0"}:
        raise refuse(f"{quote(value)} is not the MAC of a port", "multicast and all-zero addresses belong to no port")
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2))


def _serial(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if serial_of(value) is None:
        raise refuse(f"{quote(value)} is a placeholder, not a serial", "read it from the label: nothing destructive runs without identity")
    if _SERIAL.fullmatch(value):
        return value
    raise refuse(f"{quote(value)} is not a serial", "one word of letters, digits and ._/:+- as printed on the label, at most 64")


def _bmc(value: Any) -> Any:
    match = _BMC.fullmatch(value) if isinstance(value, str) else None
    if match is None or (match[3] and not 0 < int(match[3]) < 65536):
        # What stands before an @ may be a password: not shown.
        shown = quote(re.sub(r"//.*@", "//***@", str(value)))
        raise refuse(
            f"{shown} is not the URL of a BMC",
            "write https://ADDRESS or https://ADDRESS:PORT (ipmi://ADDRESS without Redfish), no path, no password",
        )
    if match[1] == "http" and not match[2].startswith("127."):
        raise refuse(f"{quote(value)} would send the BMC password in the clear", "use https://")
    return value.rstrip("/").lower()


def _form(marker: Form) -> Callable[[Any], Any]:
    pattern = re.compile(marker.pattern)

    def check(value: Any) -> Any:
        if isinstance(value, str) and not pattern.fullmatch(value):
            raise refuse(f"{quote(value)} does not fit", f"expected {marker.words}")
        return value

    return check


def _bounds(marker: Bounds) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not marker.low <= value <= marker.high:
            raise refuse(f"{quote(value)} is out of range", f"expected a number from {marker.low:g} to {marker.high:g}")
        return value

    return check


def _before(check: Callable[[Any], Any], inner: CoreSchema) -> CoreSchema:
    def run(value: Any, info: ValidationInfo) -> Any:
        return check(value) if info.context == FILES else value

    return core_schema.with_info_before_validator_function(run, inner)


def _after(check: Callable[[Any], Any], inner: CoreSchema) -> CoreSchema:
    def run(value: Any, info: ValidationInfo) -> Any:
        return check(value) if info.context == FILES else value

    return core_schema.with_info_after_validator_function(run, inner)


def _teach(marker: type, wrap: Callable[[Any, CoreSchema], CoreSchema], published: Callable[[Any], dict[str, Any]]) -> None:
    def schema(self: Any, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return wrap(self, handler(source))

    def publish(self: Any, inner: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(inner) | published(self)

    marker.__get_pydantic_core_schema__ = schema  # type: ignore[attr-defined]
    marker.__get_pydantic_json_schema__ = publish  # type: ignore[attr-defined]


def _anchored(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


_teach(DurationText, lambda _, inner: _before(_duration, inner), lambda _: _anchored("[0-9]{1,9}(s|min|h|d)"))
_teach(SecretText, lambda _, inner: _before(_secret, inner), lambda _: _anchored("(env|file|vault):[^/~\\s].*"))
_teach(MacText, lambda _, inner: _after(_mac, inner), lambda _: _anchored(_MAC_FORM))
_teach(SerialText, lambda _, inner: _after(_serial, inner), lambda _: {"pattern": f"^(?:{_SERIAL_FORM})$"})
_teach(BmcUrl, lambda _, inner: _after(_bmc, inner), lambda _: _anchored("(https?|ipmi)://[^/@\\s]+/?"))
_teach(Form, lambda marker, inner: _after(_form(marker), inner), lambda marker: {"pattern": f"^(?:{marker.pattern})$"})
_teach(Bounds, lambda marker, inner: _after(_bounds(marker), inner), lambda marker: {"minimum": marker.low, "maximum": marker.high})

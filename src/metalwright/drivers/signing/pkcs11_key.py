"""An Ed25519 key in a PKCS#11 module (HSM, smart card, SoftHSM): it signs, and never leaves the module.

Needs the extra `metalwright[hsm]` (python-pkcs11). The mechanism is CKM_EDDSA of PKCS#11 3.0.
"""

import threading
from typing import Any

from metalwright.model.errors import InputError, TemporaryError
from metalwright.model.secret import Secret

POINT_OF_OCTETS = b"\x04\x20"
"""DER of an OCTET STRING of 32 bytes: how modules wrap CKA_EC_POINT (PKCS#11 3.0, 6.3.5)."""


class ModuleKey:
    """One key pair by its label on one token. The session is opened once and again after a failure; calls are one at a time."""

    def __init__(self, *, module: str, token: str, label: str, pin: Secret) -> None:
        self._module, self._token, self._label, self._pin = module, token, label, pin
        self._lock = threading.Lock()
        self._key: Any = None
        self.public_key = self._public()

    def sign(self, payload: bytes) -> bytes:
        """TemporaryError while the module does not sign."""
        import pkcs11  # noqa: PLC0415 - an extra

        with self._lock:
            try:
                if self._key is None:
                    self._key = self._open().get_key(object_class=pkcs11.ObjectClass.PRIVATE_KEY, label=self._label)
                return bytes(self._key.sign(payload, mechanism=pkcs11.Mechanism.EDDSA))
            except pkcs11.PKCS11Error as error:
                self._key = None
                raise TemporaryError(
                    f"the PKCS#11 module does not sign: {error!r}", hint="is the token there, and its PIN right?"
                ) from error

    def _open(self) -> Any:
        import pkcs11  # noqa: PLC0415

        token = pkcs11.lib(self._module).get_token(token_label=self._token)
        try:
            return token.open(user_pin=self._pin.reveal())
        except pkcs11.UserAlreadyLoggedIn:  # a login is of the whole process (PKCS#11 3.0, 5.6.8): another session of ours has it
            return token.open()

    def _public(self) -> bytes:
        try:
            import pkcs11  # noqa: PLC0415
        except ImportError as error:
            raise InputError(
                "the log key is in a PKCS#11 module, and python-pkcs11 is not installed", hint="pip install metalwright[hsm]"
            ) from error
        try:
            with self._open() as session:
                key = session.get_key(object_class=pkcs11.ObjectClass.PUBLIC_KEY, label=self._label)
                point = bytes(key[pkcs11.Attribute.EC_POINT])
        except (pkcs11.PKCS11Error, OSError, RuntimeError) as error:
            hint = "check module, token, label and PIN in log.key.json"
            raise InputError(f"the log key {self._label} in the PKCS#11 module {self._module}: {error!r}", hint=hint) from error
        raw = point.removeprefix(POINT_OF_OCTETS) if len(point) == 34 else point
        if len(raw) != 32:
            raise InputError(f"the key {self._label} in the PKCS#11 module is not Ed25519", hint="make one of type EC:edwards25519")
        return raw

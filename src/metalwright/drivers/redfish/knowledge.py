"""What a process learned of one BMC and keeps between drivers. Never a fact about the machine: each use is checked by a read."""

import hashlib
import secrets
import time
from dataclasses import dataclass, field

from metalwright.drivers.redfish.failures import BmcFault
from metalwright.model.secret import Secret

_REFUSED_FOR_S = 120.0
"""BMCs lock an account after three to five failures, some for ever (Q64): a refused account is not tried more often than this,
unless it was changed. Longer would keep an operator waiting who has just corrected the BMC's side."""


@dataclass(slots=True)
class Knowledge:
    """Where the host and its serial are, which ETag form works, and whether the account was refused lately."""

    host_path: str | None = None
    serial_path: str | None = None
    etag_rung: int = 0
    _salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    _refused: bytes = b""
    _refused_until: float = 0.0

    def note_refused(self, account: tuple[Secret, Secret]) -> None:
        """The BMC refused this account just now."""
        self._refused = self._mark(account)
        self._refused_until = time.monotonic() + _REFUSED_FOR_S

    def check_not_refused(self, bmc: str, account: tuple[Secret, Secret]) -> None:
        """BmcFault(`unauthorized`) while the same account would only be refused, and perhaps locked, again."""
        left_s = self._refused_until - time.monotonic()
        if left_s > 0 and self._refused == self._mark(account):
            message = f"{bmc}: the BMC refused the account; not tried again for {left_s:.0f} s, so as not to lock it"
            hint = "check the BMC account named in site.yaml (secrets.bmc); a changed account is tried at once"
            raise BmcFault(message, failure_class="unauthorized", hint=hint)

    def _mark(self, account: tuple[Secret, Secret]) -> bytes:
        user, password = account
        return hashlib.sha256(self._salt + user.reveal().encode() + b"\0" + password.reveal().encode()).digest()

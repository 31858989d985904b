"""What one BMC remembers besides the truth: sessions, accounts, subscriptions, times. Small: there may be thousands."""

import hmac
import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MAX_SESSIONS = 32
MAX_ACCOUNTS = 16
MAX_SUBSCRIPTIONS = 32
MOST_NOTED = 1000
PRIVILEGES = {
    "Administrator": ("Login", "ConfigureManager", "ConfigureUsers", "ConfigureSelf", "ConfigureComponents"),
    "Operator": ("Login", "ConfigureSelf", "ConfigureComponents"),
    "ReadOnly": ("Login", "ConfigureSelf"),
}


@dataclass(slots=True)
class Account:
    """One account of the BMC; the role is a key of `PRIVILEGES`."""

    user: str
    password: str
    role: str
    enabled: bool = True
    locked: bool = False
    failures: int = 0


@dataclass(slots=True)
class LoginSession:
    """One session; `token` is the X-Auth-Token."""

    id: str
    user: str
    token: str
    created_at: float
    used_at: float


@dataclass(slots=True)
class BmcState:
    """Mutable state of one BMC, touched by one event loop only."""

    accounts: dict[str, Account]
    started_at: float
    last_reset_at: float = 0.0
    sessions: dict[str, LoginSession] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    session_timeout_s: int = 1800
    max_failures: int = 0
    boot_mode: str = "UEFI"
    http_boot_uri: str | None = None
    network_path: str = "UefiHttp"
    asset_tag: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    """Every request since the BMC started: reads by method (`GET`), all others by method and path (`POST /redfish/v1/…`)."""
    next_id: int = 1
    resets: int = 0
    refuse_until_login: bool = False
    """After a reset under the 401 fault: every old session is forgotten."""

    def note(self, method: str, path: str) -> None:
        """Before it is known whether the request is allowed. Paths beyond a bound share one entry: clients choose them."""
        what = method if method in {"GET", "HEAD"} else f"{method} {path}"
        self.asked[what if what in self.asked or len(self.asked) < MOST_NOTED else f"{method} (more)"] += 1

    def new_id(self) -> str:
        """Ids of things made by clients: never used twice."""
        self.next_id += 1
        return str(self.next_id - 1)

    def login(self, user: str, password: str, now: float) -> LoginSession | None:
        """A new session, or None for a wrong account. The caller has checked that there is room."""
        if not self.password_fits(user, password):
            return None
        session = LoginSession(id=self.new_id(), user=user, token=secrets.token_hex(16), created_at=now, used_at=now)
        self.sessions[session.id] = session
        return session

    def password_fits(self, user: str, password: str) -> bool:
        """Compared in constant time; a disabled or locked account never fits."""
        account = self.accounts.get(user)
        if account is None or not account.enabled or account.locked:
            return False
        if hmac.compare_digest(account.password.encode(), password.encode()):
            account.failures = 0
            return True
        account.failures += 1
        account.locked = 0 < self.max_failures <= account.failures
        return False

    def user_of(self, token: str, now: float) -> str | None:
        """The user of a live session; idle ones end here."""
        for session in list(self.sessions.values()):
            if now - session.used_at > self.session_timeout_s:
                del self.sessions[session.id]
            elif hmac.compare_digest(session.token.encode(), token.encode()):
                session.used_at = now
                return session.user
        return None

"""What can go wrong with a BMC, as model errors that also carry the `failure_class` of an observation."""

import os
import ssl

from metalwright.model.errors import MachineFault, TemporaryError


class BmcUnavailable(TemporaryError):
    """The BMC did not give an answer that can be used now; trying later may help."""

    def __init__(self, message: str, *, failure_class: str = "error", retry_after_s: float = 5.0, hint: str = "") -> None:
        super().__init__(message, retry_after_s=retry_after_s, hint=hint)
        self.failure_class = failure_class


class BmcFault(MachineFault):
    """The BMC answers, and the answer needs a person: wrong credentials, another certificate, another machine."""

    def __init__(self, message: str, *, failure_class: str = "error", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.failure_class = failure_class


BmcFailure = BmcUnavailable | BmcFault


def timed_out(what: str, seconds: float) -> BmcUnavailable:
    """Nothing, or not all of it, came in time."""
    hint = "is a BMC at that address? one that starts or is busy answers later"
    return BmcUnavailable(f"{what}: no complete answer within {seconds:g} s", failure_class="timeout", retry_after_s=15.0, hint=hint)


def refused(what: str, why: object) -> BmcUnavailable:
    """No connection, or it broke."""
    words = _system_words(why) if isinstance(why, OSError) else str(why)
    return BmcUnavailable(f"{what}: {words}", failure_class="refused", retry_after_s=10.0, hint="is the BMC reachable from this host?")


def _system_words(error: OSError) -> str:
    """`Connection refused` rather than `[Errno 111] Connect call failed ('10.0.0.1', 443)`."""
    if error.errno is None or error.errno <= 0 or isinstance(error, ssl.SSLError):  # resolvers number their own errors below 0
        return error.strerror or str(error) or type(error).__name__
    return os.strerror(error.errno)


def malformed(what: str, why: str) -> BmcUnavailable:
    """Bytes came that are not what HTTP, JSON or Redfish allow."""
    hint = "does the URL lead to a Redfish service, and is nothing in between?"
    return BmcUnavailable(f"{what}: {why}", failure_class="malformed", retry_after_s=30.0, hint=hint)


def unauthorized(what: str) -> BmcFault:
    """The account was refused."""
    hint = "check user and password (of a site: secrets.bmc in site.yaml), and whether the account is locked"
    return BmcFault(f"{what}: the BMC refused the account", failure_class="unauthorized", hint=hint)


def certificate_changed(what: str, pinned: str, seen: str) -> BmcFault:
    """Another certificate than the pinned one: no credentials were sent."""
    hint = "if the BMC was replaced or reset, pin the new fingerprint (bmc_fingerprint in nodes.csv); otherwise someone is in the middle"
    return BmcFault(f"{what}: certificate {seen} is not the pinned {pinned}", failure_class="certificate", hint=hint)

"""What can go wrong with a BMC, as model errors that also carry the `failure_class` of an observation."""

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
    return BmcUnavailable(f"{what}: no complete answer within {seconds:g} s", failure_class="timeout", retry_after_s=15.0)


def refused(what: str, why: object) -> BmcUnavailable:
    """No connection, or it broke."""
    return BmcUnavailable(f"{what}: {why}", failure_class="refused", retry_after_s=10.0, hint="is the BMC reachable from this host?")


def malformed(what: str, why: str) -> BmcUnavailable:
    """Bytes came that are not what HTTP, JSON or Redfish allow."""
    hint = "does the URL lead to a Redfish service, and is nothing in between?"
    return BmcUnavailable(f"{what}: {why}", failure_class="malformed", retry_after_s=30.0, hint=hint)


def unauthorized(what: str) -> BmcFault:
    """The account was refused."""
    hint = "check the BMC account named in site.yaml (secrets.bmc) and whether it is locked"
    return BmcFault(f"{what}: the BMC refused the account", failure_class="unauthorized", hint=hint)


def certificate_changed(what: str, pinned: str, seen: str) -> BmcFault:
    """Another certificate than the pinned one: no credentials were sent."""
    hint = "if the BMC was replaced or reset, pin the new fingerprint (bmc_fingerprint in nodes.csv); otherwise someone is in the middle"
    return BmcFault(f"{what}: certificate {seen} is not the pinned {pinned}", failure_class="certificate", hint=hint)

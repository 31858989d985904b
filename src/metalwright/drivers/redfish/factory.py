"""Makes the driver of a node's BMC: wires account, certificate trust, session log and bounds."""

from collections.abc import Callable

from metalwright.drivers.redfish.client import RedfishClient
from metalwright.drivers.redfish.driver import Reading, RedfishBmc
from metalwright.drivers.redfish.http_client import HttpClient, origin_of
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.session import NoSessionLog, Session, SessionLog
from metalwright.drivers.redfish.trust import CertificateTrust, PinStore
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.ports import Clock

Account = tuple[Secret, Secret]
Credentials = Callable[[NodeSpec], Account]
"""Node → (user, password), resolved at use."""


class RedfishFactory:
    """The BmcFactory port over Redfish."""

    def __init__(
        self,
        credentials: Credentials,
        pins: PinStore,
        clock: Clock,
        *,
        sessions: SessionLog | None = None,
        bounds: Bounds | None = None,
        link_counters: bool = False,
    ) -> None:
        self._credentials = credentials
        self._pins = pins
        self._clock = clock
        self._sessions = sessions or NoSessionLog()
        self._how = Reading(bounds=bounds or Bounds(), link_counters=link_counters)

    def open(self, node: NodeSpec) -> RedfishBmc:
        """A driver for this node's BMC; no connection yet. InputError when the node's BMC is no URL."""
        trust = CertificateTrust(str(origin_of(node.bmc)), self._pins, node.bmc_fingerprint)
        client = make_client(node.bmc, self._credentials(node), trust, self._sessions, self._how.bounds)
        return RedfishBmc(node, client, self._clock, self._how)


def make_client(bmc: str, account: Account | None, trust: CertificateTrust, sessions: SessionLog, bounds: Bounds) -> RedfishClient:
    """A client for one BMC; without an account it reads what the BMC shows to anyone."""
    http = HttpClient(origin_of(bmc), trust, bounds)
    return RedfishClient(http, Session(http, account, sessions, bounds.deadlines.request_s), bounds)

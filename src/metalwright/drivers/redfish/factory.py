"""Makes the driver of a node's BMC: wires account, certificate trust, session log and bounds."""

from collections.abc import Callable

from metalwright.drivers.redfish.client import RedfishClient
from metalwright.drivers.redfish.driver import Reading, RedfishBmc
from metalwright.drivers.redfish.http_client import HttpClient, origin_of
from metalwright.drivers.redfish.knowledge import Knowledge
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.session import NoSessionLog, OwnSessions, Session, SessionLog
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
        self._sessions = OwnSessions(sessions or NoSessionLog())
        self._known: dict[str, Knowledge] = {}
        self._how = Reading(bounds=bounds or Bounds(), link_counters=link_counters)

    def open(self, node: NodeSpec) -> RedfishBmc:
        """A driver for this node's BMC; no connection yet. InputError when the node's BMC is no URL."""
        origin = origin_of(node.bmc)
        known = self._known.setdefault(f"{origin} {node.serial}", Knowledge())
        trust = CertificateTrust(str(origin), self._pins, node.bmc_fingerprint)
        http = HttpClient(origin, trust, self._how.bounds)
        session = Session(http, self._credentials(node), self._sessions, known, self._how.bounds.deadlines.request_s)
        return RedfishBmc(node, RedfishClient(http, session, self._how.bounds), self._clock, self._how, known)


def make_client(bmc: str, account: Account | None, trust: CertificateTrust, bounds: Bounds) -> RedfishClient:
    """A client for one BMC and one command; without an account it reads what the BMC shows to anyone."""
    http = HttpClient(origin_of(bmc), trust, bounds)
    return RedfishClient(http, Session(http, account, NoSessionLog(), Knowledge(), bounds.deadlines.request_s), bounds)

"""One BmcFactory for a site with BMCs of several kinds: chosen by the scheme of the node's BMC URL."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from metalwright.model.errors import InputError
from metalwright.model.spec import NodeSpec
from metalwright.ports import Bmc, BmcFactory


class BmcByScheme:
    """`{"https": redfish, "http": redfish, "ipmi": ipmi}`."""

    def __init__(self, factories: Mapping[str, BmcFactory]) -> None:
        self._factories = factories

    def open(self, node: NodeSpec) -> Bmc:
        """InputError for a scheme that nobody speaks."""
        scheme = urlsplit(node.bmc).scheme
        factory = self._factories.get(scheme)
        if factory is None:
            raise InputError(f"{node.name}: no driver for {scheme}:// BMCs", hint=f"write one of {', '.join(self._factories)}://")
        return factory.open(node)

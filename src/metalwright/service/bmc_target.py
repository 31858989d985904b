"""A node's BMC for a person's command: its account, and the certificate that the site trusts."""

from pathlib import Path

from metalwright.codec.secrets import resolve
from metalwright.codec.site_folder import read_site
from metalwright.model.errors import InputError
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec
from metalwright.service.bmc_memory import BmcMemory
from metalwright.service.state_folder import STATE


def bmc_of_node(site: Path, name: str) -> tuple[NodeSpec, tuple[Secret, Secret], str | None]:
    """The node, the account, and the fingerprint of the spec or the one pinned by `apply`; None when neither knows one.

    SpecError for a broken site; InputError for an unknown node, a BMC without Redfish, or a secret that cannot be had.
    """
    spec = read_site(site).spec
    node = next((node for node in spec.nodes if node.name == name), None)
    if node is None:
        names = ", ".join(each.name for each in spec.nodes[:5])
        raise InputError(f"{site} has no node {name}", hint=f"its nodes: {names}{' …' if len(spec.nodes) > 5 else ''}")
    if not node.bmc.startswith(("http://", "https://")):
        raise InputError(f"the BMC of {name} is {node.bmc}: it speaks no Redfish", hint="only Redfish BMCs can be inspected")
    account = resolve(spec.secrets.bmc.user, site), resolve(spec.secrets.bmc.password, site)
    pins = site / STATE / "bmcs"
    pin = node.bmc_fingerprint or (BmcMemory(pins).get(node.bmc) if pins.is_dir() else None)
    return node, account, pin

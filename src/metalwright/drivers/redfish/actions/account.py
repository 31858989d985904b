"""Change an account's password. Accounts are slots on some BMCs (Q64): the one with the user name is changed in place."""

from metalwright.drivers.redfish.actions.context import Context
from metalwright.drivers.redfish.documents import link_of
from metalwright.drivers.redfish.failures import BmcFault
from metalwright.drivers.redfish.power import sorted_failure
from metalwright.model.bmc_actions import ChangePassword


async def change_password(context: Context, action: ChangePassword) -> None:
    """PATCH the account. Proof is a login with the new password, and a refused one with the old."""
    root = await context.client.root()
    service = await context.document(root.get("AccountService"))
    accounts = await context.members((service or {}).get("Accounts"), most=64)
    paths = [path for path, account in accounts if account.get("UserName") == action.user]
    if len(paths) != 1:
        raise BmcFault(f"{len(paths)} accounts are named {action.user!r}", hint="does this account see AccountService?")
    answer = await context.ladder.patch(context.client, link_of({"@odata.id": paths[0]}) or "", {"Password": action.password.reveal()})
    if not answer.is_ok:
        # Never the BMC's own words here: some repeat the refused password.
        raise sorted_failure(type(answer)(answer.status, {}), f"the new password of {action.user}")

"""Which BMC a `node` verb works on, who asks, and which certificate may see the password: by URL, or by a node of a site."""

import argparse
import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from metalwright.model.errors import InputError
from metalwright.model.secret import Secret

if TYPE_CHECKING:
    from metalwright.drivers.redfish.client import RedfishClient
    from metalwright.drivers.redfish.trust import CertificateTrust

Account = tuple[Secret, Secret]
_FINGERPRINT = re.compile(r"(sha256:)?([0-9a-f]{2}:?){31}[0-9a-f]{2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One BMC. `fingerprint` is what a person confirmed or the site has pinned; `names` are words that tell whose machine it is."""

    url: str
    account: Account | None
    fingerprint: str | None
    names: tuple[str, ...]


def add_target_arguments(parser: argparse.ArgumentParser) -> None:
    """BMC, account and certificate."""
    parser.add_argument("bmc", metavar="URL|NODE", help="URL of the BMC, https://10.20.0.11, or a node of the site in this folder")
    parser.add_argument("--user", help="account on the BMC; without one, what the BMC shows to anyone (a node: the site's account)")
    parser.add_argument("--password-env", metavar="VAR", help="environment variable that holds the password")
    parser.add_argument("--fingerprint", metavar="SHA256", help="sha256 of the BMC's certificate (shown when it is missing)")
    parser.add_argument("--insecure-first-use", action="store_true", help="send the account to whatever certificate answers")
    parser.add_argument("--site", type=Path, default=Path("."), help="site folder of a NODE (default: here)")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS", help="give up after this long (default 3600)")


def target_of(args: argparse.Namespace) -> Target:
    """InputError when the arguments name no BMC, or an account without its password."""
    from metalwright.drivers.redfish.http_client import origin_of

    if not args.timeout > 0:
        raise InputError(f"--timeout {args.timeout:g} is no time", hint="give seconds, 60 or more")
    if args.fingerprint and not _FINGERPRINT.fullmatch(args.fingerprint):
        raise InputError(f"--fingerprint {args.fingerprint[:80]!r} is no sha256", hint="without it the command shows the certificate's")
    account = account_of(args)
    if "://" in args.bmc:
        host = origin_of(args.bmc).host
        return Target(url=args.bmc, account=account, fingerprint=args.fingerprint, names=(host, *_words(account)))
    if not (args.site / "site.yaml").is_file():
        raise InputError(
            f"{args.bmc!r} is no URL, and {args.site} is no site folder that could have a node of that name",
            hint=f"write a BMC as https://{args.bmc}, or name the site's folder with --site",
        )
    return _of_node(args, account)


def _of_node(args: argparse.Namespace, account: Account | None) -> Target:
    from metalwright.service.bmc_target import bmc_of_node

    node, sites_account, pin = bmc_of_node(args.site, args.bmc)
    account = account or sites_account
    host = urlsplit(node.bmc).hostname or ""
    names = (host, node.name, node.serial, node.boot_mac, node.uuid or "", *_words(account))
    return Target(url=node.bmc, account=account, fingerprint=args.fingerprint or pin, names=names)


def account_of(args: argparse.Namespace) -> Account | None:
    """`--user` with the password of `--password-env`; None without a user."""
    if args.user is None:
        return None
    if args.password_env is None:
        raise InputError("--user without --password-env", hint="put the password into an environment variable and name it")
    password = os.environ.get(args.password_env)
    if not password:
        raise InputError(f"environment variable {args.password_env} is not set", hint=f"export {args.password_env}=…")
    return Secret(args.user), Secret(password)


@asynccontextmanager
async def connected(args: argparse.Namespace, target: Target) -> "AsyncIterator[tuple[RedfishClient, CertificateTrust]]":
    """A client for the target; its session is ended on every way out. InputError rather than a password in wrong hands."""
    from metalwright.drivers.redfish.factory import make_client
    from metalwright.drivers.redfish.failures import timed_out
    from metalwright.drivers.redfish.http_client import origin_of
    from metalwright.drivers.redfish.limits import Bounds
    from metalwright.drivers.redfish.trust import CertificateTrust, MemoryPins

    trust = CertificateTrust(str(origin_of(target.url)), MemoryPins(), target.fingerprint)
    client = make_client(target.url, target.account, trust, Bounds())
    try:
        async with asyncio.timeout(args.timeout):
            if target.account is not None and not (target.fingerprint or args.insecure_first_use or _is_loopback(target.url)):
                await client.root()  # reveals the certificate, needs no account
                _refuse_unknown(target.url, trust.pins.get(trust.bmc))
            yield client, trust
    except TimeoutError as error:
        raise timed_out(target.url, args.timeout) from error
    finally:
        await client.close()


def _words(account: Account | None) -> tuple[str, ...]:
    return tuple(part.reveal() for part in account) if account else ()


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_unknown(url: str, seen: str | None) -> None:
    """Trust on first use would hand the password to a man in the middle: a person looks at the certificate first."""
    if seen is None:
        hint = "use https, or --insecure-first-use to send the password in the clear"
        raise InputError(f"{url} is not encrypted: no password was sent", hint=hint)
    hint = f"compare it with the BMC's own screen, then add --fingerprint {seen}"
    raise InputError(f"certificate of {url}: {seen}; no password was sent", hint=hint)

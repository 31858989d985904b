"""What nodes reach: boot listener, agent listener, and DHCP where the spec says so.

An embedded site has one process, which listens as long as it runs. Workers that share a database listen side by side on the same
address, each as long as its leases are good: what agents tell a worker that is cut off from the database could not be written down,
so it hangs up, and they find another.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.netboot.dhcp_plan import plan_dhcp
from metalwright.drivers.netboot.dnsmasq import serve_dnsmasq
from metalwright.endpoints.agent_app import AgentApp
from metalwright.endpoints.boot_app import BootApp
from metalwright.endpoints.hints import Hints
from metalwright.endpoints.ipxe import BootAddresses
from metalwright.endpoints.orders import OrderDesk
from metalwright.endpoints.reports import ReportDesk
from metalwright.endpoints.server import serve
from metalwright.model.errors import InputError
from metalwright.model.spec import StoredSpec
from metalwright.ports import SITE_SHARD
from metalwright.service.image_work import ram_disk_of
from metalwright.service.wiring import OpenSite

log = logging.getLogger(__name__)

IPXE_LOADERS = {"/ipxe/snponly.efi": Path("/usr/lib/ipxe/snponly.efi")}
CHECK_S = 0.5


@asynccontextmanager
async def serve_endpoints(site: OpenSite) -> AsyncIterator[None]:
    """While the block runs. InputError when an address cannot be had."""
    files = await asyncio.to_thread(_boot_files, site.stored)
    leases, has_dhcp = site.worker.leases, site.stored.spec.netboot.dhcp == "metalwright"
    async with AsyncExitStack() as stack:
        if site.state.is_embedded:
            await stack.enter_async_context(_listening(site, files))
            if has_dhcp:
                await stack.enter_async_context(serve_dnsmasq(plan_dhcp(site.stored.spec)))
        else:
            async with _listening(site, files):
                pass  # an address that cannot be had ends the run now
            await stack.enter_async_context(_kept(lambda: _listening(site, files), lambda: leases.is_good))
            if has_dhcp:
                dhcp = _kept(lambda: serve_dnsmasq(plan_dhcp(site.stored.spec)), lambda: SITE_SHARD in leases.held())
                await stack.enter_async_context(dhcp)
        yield


@asynccontextmanager
async def _kept(opened: Callable[[], AbstractAsyncContextManager[object]], is_wanted: Callable[[], bool]) -> AsyncIterator[None]:
    """Open it whenever it is wanted, and close it when it is not, while the block runs."""
    keeper = asyncio.create_task(_keep(opened, is_wanted), name="listeners")
    try:
        yield
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


async def _keep(opened: Callable[[], AbstractAsyncContextManager[object]], is_wanted: Callable[[], bool]) -> None:
    while True:
        try:
            if is_wanted():
                async with opened():
                    while is_wanted():  # noqa: ASYNC110  # a watchdog that runs out by the clock sends no event
                        await asyncio.sleep(CHECK_S)
        except InputError as error:
            log.warning("%s; trying again", error.message)
        await asyncio.sleep(CHECK_S)


@asynccontextmanager
async def _listening(site: OpenSite, files: Mapping[str, Path]) -> AsyncIterator[None]:
    """Both listeners, once."""
    netboot, state, hints = site.stored.spec.netboot, site.state, Hints()
    boot, agents = _boot_app(site, files), _agent_app(site, hints)
    is_shared = not state.is_embedded
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serve(boot, *_address(netboot.boot_url, "http"), is_shared=is_shared))
        address = _address(netboot.agent_url, "https")
        tls = serve(agents, *address, certificate=state.certificate, key=state.certificate_key, is_shared=is_shared)
        await stack.enter_async_context(tls)
        follower = asyncio.create_task(hints.follow(site.store.changes()), name="hints")
        try:
            yield
        finally:
            agents.stopping.set()
            hints.wake_all()
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)


def _boot_app(site: OpenSite, files: Mapping[str, Path]) -> BootApp:
    netboot = site.stored.spec.netboot
    macs = {node.boot_mac.lower(): node for node in site.stored.spec.nodes}
    return BootApp(
        store=site.store,
        images=FolderImageStore(site.folder),
        clock=site.clock,
        addresses=BootAddresses(boot_url=netboot.boot_url, agent_url=netboot.agent_url, pin=site.state.pin),
        boot_key=site.state.boot_key,
        node_of_mac=macs.get,
        files=files,
    )


def _agent_app(site: OpenSite, hints: Hints) -> AgentApp:
    netboot = site.stored.spec.netboot
    orders = OrderDesk(
        store=site.store,
        hints=hints,
        clock=site.clock,
        boot_key=site.state.boot_key,
        agent_url=netboot.agent_url,
        pin=site.state.pin,
        images_url=netboot.boot_url,
    )
    reports = ReportDesk(endpoint=site.store, turns=site.store, clock=site.clock)
    return AgentApp(store=site.store, reports=reports, orders=orders, clock=site.clock)


def _boot_files(stored: StoredSpec) -> Mapping[str, Path]:
    """RAM disk and loaders for machines that boot for real; a simulated site fetches neither."""
    if stored.spec.netboot.dhcp == "none":
        return {}
    ramdisk = ram_disk_of(stored)
    loaders = {path: file for path, file in IPXE_LOADERS.items() if file.exists()}
    return {"/ramdisk/vmlinuz": ramdisk.vmlinuz, "/ramdisk/initrd": ramdisk.initrd, **loaders}


def _address(url: str, scheme: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme != scheme or not parts.hostname or not parts.port:
        hint = "set netboot.boot_url and netboot.agent_url in site.yaml"
        raise InputError(f"netboot: {url} is not a {scheme} address with a port", hint=hint)
    return parts.hostname, parts.port

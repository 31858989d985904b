"""Names the concrete drivers: the one place where a site's store, signer, BMCs, images and listeners are put together."""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.secrets import resolve
from metalwright.drivers.bmc_by_scheme import BmcByScheme
from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.ipmi.driver import IpmiFactory
from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.drivers.signing.file_signer import open_log
from metalwright.model.errors import InputError
from metalwright.model.ids import WorkerId
from metalwright.model.judgement import Gate
from metalwright.model.secret import Secret
from metalwright.model.spec import NodeSpec, StoredSpec
from metalwright.ports import BmcFactory, LogSigner, Store
from metalwright.service.bmc_memory import BmcMemory
from metalwright.service.clock import SystemClock
from metalwright.service.control import StoreControl
from metalwright.service.people import People
from metalwright.service.read_only import ReadOnlyBmcs
from metalwright.service.site import SiteTurn
from metalwright.service.state_folder import STATE, StateFolder, open_state
from metalwright.service.trusting import trust_in_force
from metalwright.service.worker import Worker
from metalwright.store import SiteLock, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What reaches out of the process: everything durable or physical goes through one of these."""

    store: Store
    signer: LogSigner
    bmcs: BmcFactory


Decorate = Callable[[Parts], Parts]
"""Puts something around the parts of a site: a test that ends the process between two writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSite:
    """A site whose store is open for writing. `worker` is not started yet."""

    folder: Path
    stored: StoredSpec
    state: StateFolder
    store: Store
    clock: SystemClock
    signer: LogSigner
    worker: Worker
    site_turn: SiteTurn


@asynccontextmanager
async def open_site(
    folder: Path,
    stored: StoredSpec,
    *,
    until: Gate | None,
    patience: float,
    observe_only: bool = False,
    decorate: Decorate = lambda parts: parts,
) -> AsyncIterator[OpenSite]:
    """The site for a worker. InputError when another process already works on an embedded site."""
    state = open_state(folder)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        if state.is_embedded:
            stack.enter_context(SiteLock(state.path))
        signer = open_log(state.path, stored.spec.site.name, simulated=stored.spec.site.simulated, now=clock.now())
        opened: Store = open_store(state.database_url)
        await opened.open()
        stack.push_async_callback(opened.close)
        bmcs = _bmcs(folder, stored, state, clock)
        parts = decorate(Parts(store=opened, signer=signer, bmcs=ReadOnlyBmcs(bmcs) if observe_only else bmcs))
        store = parts.store
        site_turn = SiteTurn(
            store=store,
            images=FolderImageStore(folder),
            signer=parts.signer,
            clock=clock,
            people=People(store, folder, lambda: trust_in_force(folder)),
            until=until,
            patience=patience,
            observe_only=observe_only,
        )
        worker = Worker(
            worker=_worker_id(state),
            store=store,
            bmcs=parts.bmcs,
            site=site_turn,
            boot_key=state.boot_key,
            clock=clock,
        )
        yield OpenSite(
            folder=folder,
            stored=stored,
            state=state,
            store=store,
            clock=clock,
            signer=parts.signer,
            worker=worker,
            site_turn=site_turn,
        )


def is_taken(folder: Path) -> bool:
    """Another process works on this embedded site now."""
    if os.environ.get("METALWRIGHT_DATABASE") or not (folder / STATE).is_dir():
        return False
    try:
        with SiteLock(folder / STATE):
            return False
    except InputError:
        return True


def _worker_id(state: StateFolder) -> WorkerId:
    """An embedded site has one worker at a time by its lock: under one name it takes its own leases up again at once."""
    return WorkerId("embedded") if state.is_embedded else WorkerId(f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}")


def _bmcs(folder: Path, stored: StoredSpec, state: StateFolder, clock: SystemClock) -> BmcFactory:
    memory = BmcMemory(state.path / "bmcs")
    secrets = stored.spec.secrets.bmc

    # One factory per process: it remembers what each BMC and firmware taught it, and which accounts were refused.
    def account(_: NodeSpec) -> tuple[Secret, Secret]:
        return (resolve(secrets.user, folder), resolve(secrets.password, folder))

    redfish = RedfishFactory(account, memory, clock, sessions=memory)
    return BmcByScheme({"https": redfish, "http": redfish, "ipmi": IpmiFactory(account, clock)})


@asynccontextmanager
async def open_reader(folder: Path) -> AsyncIterator[Store | None]:
    """The store for reading, beside a worker that may run; None for a site that was never applied."""
    database = os.environ.get("METALWRIGHT_DATABASE")
    if not database and not (folder / STATE / "site.db").exists():
        if not (folder / "site.yaml").exists():
            raise InputError(f"{folder} is not a site folder: it has no site.yaml", hint="name it: --site SITE, or metalwright init DIR")
        yield None
        return
    store: Store = open_store(database or f"sqlite:///{folder / STATE / 'site.db'}")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_view(folder: Path) -> AsyncIterator[StoreControl]:
    """The board and the requests of a site; InputError for one that was never applied."""
    async with open_reader(folder) as store:
        if store is None:
            raise InputError(f"{folder} was never applied", hint=f"metalwright apply {folder}")
        yield StoreControl(store, SystemClock())

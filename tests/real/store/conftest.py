"""A PostgreSQL server of the tests' own: made in a temporary folder, on loopback and a Unix socket, and gone afterwards."""

import asyncio
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

pytest.register_assert_rewrite("tests.conformance.store_suite")

from tests.conformance.store_site import opened, run_coroutine_test  # noqa: E402 - after the assertion rewriting is arranged

USER = "metalwright"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_coroutine_test(pyfuncitem)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that a test may stop, start and freeze."""

    programs: Path
    folder: Path
    port: int

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def control(self, *arguments: str) -> None:
        """`pg_ctl`, as a user who is not root: PostgreSQL refuses root."""
        self.call("pg_ctl", "-D", str(self.folder / "data"), "-w", "-s", *arguments)

    def start(self) -> None:
        options = f"-k {self.folder} -p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off"
        self.control("-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self, how: str = "fast") -> None:
        self.control("-m", how, "stop")

    def become_standby(self) -> None:
        """From the next start on, until it is promoted."""
        signal_file = self.folder / "data" / "standby.signal"
        signal_file.touch()
        if os.geteuid() == 0:
            shutil.chown(signal_file, "postgres")

    def call(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    def administer(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    @contextmanager
    def small_disk(self, folder: Path, *, mebibytes: int) -> Iterator[None]:
        """A disk of that size at `folder`, with a folder `space` that the server may use."""
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        try:
            (folder / "space").mkdir()
            shutil.chown(folder / "space", "postgres")
            yield
        finally:
            subprocess.run(["umount", str(folder)], check=True)

    @property
    def pids(self) -> list[int]:
        """The server process and all its children."""
        parent = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]


def _find_programs() -> Path:
    """Debian keeps `initdb` outside PATH, per major version; the newest wins."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: float(one.parent.name))
    if not folders:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    if os.geteuid() == 0 and not _has_user("postgres"):
        pytest.skip("PostgreSQL refuses root, and there is no user postgres")
    return folders[-1]


def _has_user(name: str) -> bool:
    return subprocess.run(["id", name], capture_output=True, check=False).returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    programs = _find_programs()
    with tempfile.TemporaryDirectory(prefix="metalwright-pg-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        made = Server(programs=programs, folder=folder, port=_free_port())
        made.call("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        made.start()
        try:
            made.administer("CREATE DATABASE template_site")
            asyncio.run(_migrate(made.url("template_site")))
            yield made
        finally:
            made.stop("immediate")


async def _migrate(url: str) -> None:
    async with opened(url):
        pass


_names = (f"site_{number}" for number in itertools.count())


@pytest.fixture
def new_url(server: Server) -> Iterator[str]:
    """An empty database, without any table."""
    yield from _database(server, "template1")


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """A migrated, empty database."""
    yield from _database(server, "template_site")


def _database(server: Server, template: str) -> Iterator[str]:
    name = next(_names)
    server.administer(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield server.url(name)
    server.administer(f"DROP DATABASE {name} WITH (FORCE)")

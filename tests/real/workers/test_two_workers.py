"""Two workers, two processes, one PostgreSQL: one of them is killed, frozen or cut off at random moments of a run."""

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.kit.applying import Apply
from tests.kit.line import Line, line_to
from tests.kit.simulated_site import SimulatedSite, simulated_site, wait_until
from tests.kit.whole_evidence import assert_evidence_is_whole
from tests.real.store.conftest import Server

pytestmark = pytest.mark.real

TAKEOVER_S = 10.0
IDLE_S = 30.0
INTERRUPTED = 130
LOADED_S = 3.0
"""What a busy machine may add to a takeover: the survivor must be scheduled to ask."""
DISK_MB_S = 0.35
"""So slow that both disruptions fall into the run."""


@dataclass
class Worker:
    """One `metalwright apply` with a line of its own to the database."""

    site: SimulatedSite
    url: str
    line: Line
    name: str
    process: Apply = field(init=False)

    def start(self) -> None:
        environment = {**os.environ, "METALWRIGHT_DATABASE": self.url.replace(f":{port_of(self.url)}/", f":{self.line.port}/")}
        self.process = Apply(self.site.folder, "--watch", environment=environment, output=self.site.folder / f"{self.name}.txt")

    def shards(self) -> set[str]:
        """What it holds by the lease rows: workers are named by host and process."""
        return {shard for shard, worker in self.site.rows("SELECT shard, worker FROM leases WHERE worker IS NOT NULL") if self.is_(worker)}

    def is_(self, worker: str) -> bool:
        return f"-{self.process.pid}-" in worker


class Watch(threading.Thread):
    """Asks the rows all the time: how long was a node due without a turn? A turn leaves its own time, or a later one, as the next due
    time; what wakes a node in between leaves 0."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url, self._over = url, threading.Event()
        self._turned: dict[str, tuple[float, float]] = {}
        """Node → the due time that its last turn left, and since when it is due."""
        self.longest_s = 0.0
        self.who = ""
        self.looks = 0

    def run(self) -> None:
        query = "SELECT subject, next_due_at FROM subjects WHERE is_active AND subject LIKE 'node:%'"
        with psycopg.connect(self._url, autocommit=True) as server:
            while not self._over.wait(0.2):
                for subject, due_at in server.execute(query).fetchall():
                    self._see(subject, due_at, time.time())
                self.looks += 1

    def _see(self, subject: str, due_at: float, now: float) -> None:
        left, since = self._turned.get(subject, (0.0, now))
        if due_at > now:
            self._turned[subject] = (due_at, due_at)
        elif due_at not in (0.0, left):
            self._turned[subject] = (due_at, now)
        else:
            self._turned[subject] = (left, min(since, now))
        idle_s = now - self._turned[subject][1]
        if idle_s > self.longest_s:
            self.longest_s, self.who = idle_s, subject

    def stop(self) -> None:
        self._over.set()
        self.join(10)


@contextlib.contextmanager
def two_workers(server: Server, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SimulatedSite, Worker, Worker]]:
    """A site of four nodes in two racks, its simulator, and both workers at work."""
    monkeypatch.setenv("METALWRIGHT_DATABASE", url)
    with (
        simulated_site(folder, nodes=4, racks=2, image_mib=80, frame_mib=1) as site,
        line_to(server.port) as one,
        line_to(server.port) as two,
    ):
        site.simulator.start(disk_mb_s=DISK_MB_S)
        workers = Worker(site, url, one, "first"), Worker(site, url, two, "second")
        try:
            for worker in workers:
                worker.start()
            yield site, *workers
        finally:
            for worker in workers:
                worker.process.thaw()
                worker.process.kill()


@pytest.mark.parametrize("how", ["killed", "frozen", "cut-off"])
def test_one_of_two_workers_is_lost(how: str, server: Server, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens to a worker at whatever moment: the other has its racks within 10 s, no node is idle for 30 s, no machine is
    started or written by two, the lost one comes back without harm, and the evidence is whole."""
    chance = random.Random(f"two workers, one {how}")
    with two_workers(server, url, tmp_path / "site", monkeypatch) as (site, first, second):
        watch = Watch(url)
        wait_until("both workers hold shards", lambda: bool(first.shards()) and bool(second.shards()))
        watch.start()
        for victim, other in ((first, second), (second, first)):
            wait_until("both workers hold shards again", lambda: bool(first.shards()) and bool(second.shards()))
            threading.Event().wait(chance.uniform(0.2, 6.0))
            assert not is_green(site), "the run was over before its disruption"
            lose(how, victim, other)
        wait_until("every node is past gate os", lambda: is_green(site), within_s=120)
        watch.stop()
        for worker in (first, second):
            assert worker.process.interrupted() == INTERRUPTED, worker.process.tail()
        assert watch.looks and watch.longest_s < IDLE_S, f"{watch.who} was due for {watch.longest_s:.0f} s"
        assert_one_writer(site)
        assert_evidence_is_whole(site)


def lose(how: str, victim: Worker, other: Worker) -> None:
    """Disrupt, see the other take over in time, bring the victim back."""
    lost = victim.shards()
    began = time.monotonic()
    match how:
        case "killed":
            victim.process.kill()
        case "frozen":
            victim.process.freeze()
        case _:
            victim.line.cut()
    wait_until("the other has every shard", lambda: lost <= other.shards(), within_s=60)
    took_s = time.monotonic() - began
    match how:
        case "killed":
            victim.start()
        case "frozen":
            victim.process.thaw()
        case _:
            victim.line.mend()
    assert took_s < TAKEOVER_S + LOADED_S, f"{sorted(lost)} were taken over after {took_s:.1f} s"


def is_green(site: SimulatedSite) -> bool:
    return site.rows("SELECT count(*) FROM verdicts WHERE gate = 'os' AND colour = 'green'") == [(len(site.nodes),)]


def assert_one_writer(site: SimulatedSite) -> None:
    """By the rows every step was done in one attempt, under epochs that only grow; by the machines' own record each was started twice
    and each frame written once: nothing was done by two."""
    attempts = site.rows("SELECT order_number, step, count(*), max(state) FROM runs GROUP BY order_number, step")
    assert attempts and all(count == 1 and state == "proven" for _, _, count, state in attempts), attempts
    epochs = site.rows(
        "SELECT subjects.shard, runs.epoch FROM runs JOIN orders ON orders.number = runs.order_number "
        "JOIN subjects ON subjects.subject = orders.subject ORDER BY subjects.shard, runs.began_at"
    )
    assert epochs == sorted(epochs), epochs
    for node in site.nodes:
        assert site.simulator.starts(node) == 2, (node, site.simulator.deeds(node)[:3])
        writes = site.simulator.frame_writes(node, site.manifest)
        assert len(writes) == len(site.manifest.frames) and set(writes.values()) == {1}


def port_of(url: str) -> str:
    return url.rpartition(":")[2].partition("/")[0]

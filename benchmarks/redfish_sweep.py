"""Full inventory of N simulated DGX H100 BMCs, each answering after a latency (± 50 %): metalwright beside sushy and DMTF's `redfish`.

    python benchmarks/redfish_sweep.py --n 10 100 --latency-ms 100

The BMCs serve the recorded tree of a real DGX H100 (`../shared/captures`, or METALWRIGHT_CAPTURES). All clients read the same
documents. metalwright also runs without `$expand`, so that the HTTP stack alone can be compared. CPU is the client process'
own, from start to end of the sweep, imports not counted; `load` is the machine's when the sweep ended, of which the BMCs make up to
one. The latency limit is what no client with so many connections per BMC
can beat: requests on the critical path times latency.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from metalwright.drivers.redfish.expand import ExpandTrust
from metalwright.drivers.redfish.factory import make_client
from metalwright.drivers.redfish.inventory.assemble import assemble
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.routes import links
from metalwright.drivers.redfish.trust import CertificateTrust, MemoryPins
from metalwright.drivers.redfish.walk import Walk
from metalwright.model.secret import Secret
from metalwright.service.garbage import collect_rarely

ROOT = Path(__file__).resolve().parents[1]
IN_FLIGHT = 96
"""BMCs swept at once by one process: enough to keep one core busy at this latency, at 2.4 MB of documents each."""
PLAIN_UP_TO = 100
PEERS_UP_TO = 10
"""The peers need minutes of CPU per hundred BMCs; their CPU per BMC does not depend on N."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--latency-ms", type=float, default=100.0)
    parser.add_argument("--peers-up-to", type=int, default=PEERS_UP_TO)
    parser.add_argument("--role", choices=["serve", "metalwright", "plain", "sushy", "redfish"], help=argparse.SUPPRESS)
    parser.add_argument("--ports", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role == "serve":
        asyncio.run(serve(args.n[0], args.latency_ms / 1000))
    elif args.role:
        print(json.dumps(measure(args.role, [int(port) for port in args.ports.split(",")])))
    else:
        compare(args.n, args.latency_ms, args.peers_up_to)


def compare(counts: Sequence[int], latency_ms: float, peers_up_to: int) -> None:
    """One line per client and count."""
    print(f"latency {latency_ms:g} ms, {os.cpu_count()} cores (the BMCs run on them too), Python {sys.version.split()[0]}")
    print("      N  client             requests/BMC   wall s  limit s  wall/limit  CPU ms/BMC  RSS MB  load  parts seen")
    for count in counts:
        sushy_cpu = own_cpu = 0.0
        roles = ["metalwright"] + (["plain"] if count <= PLAIN_UP_TO else []) + (["redfish", "sushy"] if count <= peers_up_to else [])
        for role in roles:
            with Servers(count, latency_ms) as servers:
                row = servers.run(role)
            cpu = 1000 * row["cpu_s"] / count
            sushy_cpu, own_cpu = (cpu if role == "sushy" else sushy_cpu), (cpu if role == "metalwright" else own_cpu)
            limit = row["rounds"] * latency_ms / 1000
            name = {"plain": "… without $expand", "redfish": "DMTF redfish"}.get(role, role)
            numbers = f"{row['requests'] / count:12.0f} {row['wall_s']:8.1f} {limit:8.1f} {row['wall_s'] / limit:11.2f} {cpu:11.1f}"
            print(f"{count:7}  {name:18} {numbers} {row['rss_mb']:7.0f} {os.getloadavg()[0]:5.1f}  {row['seen']}", flush=True)
        if sushy_cpu:
            print(f"         sushy needs {sushy_cpu / own_cpu:.0f} times the CPU per BMC")


class Servers:
    """N BMCs in a process of their own."""

    def __init__(self, count: int, latency_ms: float) -> None:
        command = [sys.executable, __file__, "--role", "serve", "--n", str(count), "--latency-ms", str(latency_ms)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

    def __enter__(self) -> "Servers":
        assert self._process.stdout is not None
        self._ports = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def run(self, role: str) -> dict[str, Any]:
        """One client, in a process of its own."""
        command = [sys.executable, __file__, "--role", role, "--ports", self._ports]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result


# -- the BMCs --------------------------------------------------------------------------------------------------------------------


def recorded_tree() -> dict[str, bytes]:
    """Path → body of every document."""
    for place in (os.environ.get("METALWRIGHT_CAPTURES"), ROOT / "../shared/captures", ROOT / "../../shared/captures"):
        archive = Path(place or "") / "redfish" / "nvidia_viking.tar.xz"
        if place and archive.is_file():
            break
    else:
        sys.exit("the recorded DGX H100 is not here: set METALWRIGHT_CAPTURES")
    found = {}
    with tarfile.open(archive) as members:
        for member in members:
            _, _, tail = member.name.partition("/redfish/v1")
            if member.isfile() and tail.endswith("/index.json"):
                body = members.extractfile(member)
                assert body is not None
                found["/redfish/v1" + tail.removesuffix("/index.json")] = orjson.dumps(orjson.loads(body.read()))
    return found


def with_expanded(tree: dict[str, bytes]) -> dict[str, bytes]:
    """The tree and, beside each collection, its expansion by one level."""
    more = {}
    for path, body in tree.items():
        if b'"Members"' in body and "?" not in path:
            document = orjson.loads(body)
            members = [orjson.loads(tree.get(item.get("@odata.id"), b"{}")) for item in document.get("Members") or []]
            more[f"{path}?$expand=.($levels=1)"] = orjson.dumps({**document, "Members": members})
    return tree | more


async def serve(count: int, latency_s: float) -> None:
    """Listen on `count` ports, print them, serve until killed."""
    answers = {path.encode(): _response(200, body) for path, body in with_expanded(recorded_tree()).items()}
    answers[b"/redfish/v1/"] = answers[b"/redfish/v1"]
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(lambda: _Bmc(answers, latency_s, loop), "127.0.0.1", 0) for _ in range(count)]
    print(",".join(str(server.sockets[0].getsockname()[1]) for server in servers), flush=True)
    await asyncio.Event().wait()


def _response(status: int, body: bytes, more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n" % (status, more, len(body))
    return head + body


class _Bmc(asyncio.Protocol):
    """As little work per request as can be: it shares the cores with what is measured."""

    def __init__(self, answers: dict[bytes, bytes], latency_s: float, loop: asyncio.AbstractEventLoop) -> None:
        self._answers, self._latency_s, self._loop = answers, latency_s, loop
        self._kept = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._kept += data
        if b"\r\n\r\n" in self._kept:
            method, target, _ = self._kept.split(b" ", 2)
            self._kept = b""
            latency_s = self._latency_s * random.uniform(0.5, 1.5)  # noqa: S311 - real BMCs do not answer in step
            self._loop.call_later(latency_s, self._answer, method, target)

    def _answer(self, method: bytes, target: bytes) -> None:
        if method == b"POST":
            reply = _response(201, b"{}", b"X-Auth-Token: t\r\nLocation: /redfish/v1/SessionService/Sessions/1\r\n")
        elif method == b"DELETE":
            reply = _response(200, b"{}")
        else:
            reply = self._answers.get(target) or _response(404, b"{}")
        self._transport.write(reply)


# -- the clients -----------------------------------------------------------------------------------------------------------------


def measure(role: str, ports: list[int]) -> dict[str, Any]:
    """Sweep all BMCs with one client: requests, rounds of latency on the critical path, wall, CPU, memory."""
    sweep: Callable[[list[int]], dict[str, Any]] = {
        "metalwright": lambda ports: asyncio.run(_metalwright(ports, expand=True)),
        "plain": lambda ports: asyncio.run(_metalwright(ports, expand=False)),
        "sushy": lambda ports: _threads(ports, _sushy_reader()),
        "redfish": lambda ports: _threads(ports, _redfish_reader()),
    }[role]
    wall, cpu = time.monotonic(), _cpu_s()
    row = sweep(ports)
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu_s = _cpu_s() - cpu - row.pop("cpu_before", 0.0)
    return {**row, "wall_s": time.monotonic() - wall - row.pop("wall_before", 0.0), "cpu_s": cpu_s, "rss_mb": rss_mb}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _metalwright(ports: list[int], *, expand: bool) -> dict[str, Any]:
    collect_rarely()  # as `metalwright apply` does
    bounds, trust, gate = Bounds(), ExpandTrust(), asyncio.Semaphore(IN_FLIGHT)
    requests: list[int] = []
    seen: set[str] = set()

    async def one(port: int) -> None:
        async with gate:
            url = f"http://127.0.0.1:{port}"
            client = make_client(url, (Secret("u"), Secret("p")), CertificateTrust(url, MemoryPins()), bounds)
            facts = assemble(await Walk(client, bounds.limits, trust if expand else None).run())
            await client.close()
            requests.append(client.http.requests)
            seen.add(f"{len(facts.gpus)} GPUs, {len(facts.nvlinks)} links, {len(facts.firmware)} firmware")

    async with asyncio.TaskGroup() as group:
        for port in ports:
            group.create_task(one(port))
    waves = -(-len(ports) // IN_FLIGHT)
    rounds = waves * sum(requests) / len(requests) / bounds.limits.connections
    return {"requests": sum(requests), "rounds": rounds, "seen": "; ".join(sorted(seen))}


def _threads(ports: list[int], reader: Callable[[str], Callable[[str], bytes]]) -> dict[str, Any]:
    """One thread per BMC, as these clients are used; the same documents as metalwright's walk without `$expand`."""
    began, wall = _cpu_s(), time.monotonic()
    paths = _paths_of_an_inventory()
    before, wall_before = _cpu_s() - began, time.monotonic() - wall
    lock, total = threading.Lock(), [0, 0]

    def one(port: int) -> None:
        read = reader(f"http://127.0.0.1:{port}")
        gpus = sum(b'"ProcessorType":"GPU"' in read(path) for path in paths)
        with lock:
            total[0] += len(paths) + 1
            total[1] += gpus

    with ThreadPoolExecutor(min(len(ports), IN_FLIGHT)) as pool:
        list(pool.map(one, ports))
    seen = f"{total[1] // len(ports)} GPUs (documents only)"
    return {"requests": total[0], "rounds": len(paths) + 1, "seen": seen, "cpu_before": before, "wall_before": wall_before}


def _paths_of_an_inventory() -> list[str]:
    """What metalwright reads of this tree without `$expand`, found by walking it in memory."""
    tree = {path: orjson.loads(body) for path, body in recorded_tree().items()}
    queue, seen = [("/redfish/v1", "root")], {"/redfish/v1"}
    for path, route in queue:
        document = tree.get(path, {})
        if route.startswith("list:"):
            onward = [(member["@odata.id"], route[5:]) for member in document.get("Members") or []]
            following = document.get("Members@odata.nextLink")
            onward += [(following, route)] if following else []
        else:
            onward = list(links(route, document, ports=True, counters=False))
        for step in onward:
            if step[0] not in seen:
                seen.add(step[0])
                queue.append(step)
    return [path for path, _ in queue]


def _sushy_reader() -> Callable[[str], Callable[[str], bytes]]:
    auth, connector = import_module("sushy.auth"), import_module("sushy.connector")

    def of(url: str) -> Callable[[str], bytes]:
        made = connector.Connector(url)
        made.set_auth(auth.BasicAuth("u", "p"))

        def read(path: str) -> bytes:
            response = made.get(path)
            response.json()
            return bytes(response.content)

        return read

    return of


def _redfish_reader() -> Callable[[str], Callable[[str], bytes]]:
    redfish = import_module("redfish")

    def of(url: str) -> Callable[[str], bytes]:
        client = redfish.redfish_client(base_url=url, username="u", password="p", check_connectivity=False)  # noqa: S106 - a simulated BMC
        client.login(auth="session")

        def read(path: str) -> bytes:
            response = client.get(path)
            return orjson.dumps(response.dict)

        return read

    return of


if __name__ == "__main__":
    main()

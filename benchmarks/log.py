"""The evidence log from a thousand to a million records: append rate, proof size, time to verify a bundle and one record.

    python benchmarks/log.py                        # 1,000 and 10,000 and 100,000 records
    python benchmarks/log.py --n 1000 1000000       # a million: ten minutes, 1.6 GB of scratch disk

A record is a gate verdict with five findings (1.2 kB of JSON). Append is number, sign, hash and checkpoint in rounds of 500, with the key's
memory written durably (fsync) before each; no database. Verify reads the bundle from disk as `metalwright evidence verify` does.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metalwright.drivers.signing.file_signer import TRUST, FileSigner, open_log
from metalwright.evidence.bundle import BundleWriter
from metalwright.evidence.merkle import Tree, leaf_hash
from metalwright.evidence.proofs import consistency_proof, inclusion_proof, is_consistent, root_from_inclusion
from metalwright.evidence.sequence import sequence
from metalwright.evidence.verify import verify_stream
from metalwright.model.evidence import LogEntry, PendingStatement
from metalwright.model.ids import Subject

NODES = 1000
ROUND = 500
PROOFS = 1000
NOW = 1_760_000_000.0
HEADER = (
    f"{'records':>9} {'append/s':>9} {'µs/record':>9} {'edge B':>7} {'inclusion B':>11} {'consistency B':>13} "
    f"{'prove µs':>8} {'check µs':>8} {'bundle MB':>9} {'verify s':>8} {'µs/record':>9} {'verify MiB':>10}"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    print(HEADER, flush=True)
    for count in parser.parse_args().n:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(Path(folder), count), flush=True)


def measure(folder: Path, count: int) -> str:
    """One line of the table."""
    signer = open_log(folder, "bench", simulated=True, now=NOW)
    bundle = folder / "bundle"
    tree, appended_s = grow(signer, bundle, count)
    prove_s, check_s = prove(tree, count)
    megabytes = bundle.stat().st_size / 1e6
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verified_s = verify(bundle, (folder / TRUST).read_bytes(), count)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    edge = 32 * count.bit_count()
    inclusion, consistency = (
        32 * len(inclusion_proof(tree.node, count // 3, count)),
        32 * len(consistency_proof(tree.node, count // 3, count)),
    )
    return (
        f"{count:9,} {count / appended_s:9,.0f} {appended_s / count * 1e6:9.0f} {edge:7} {inclusion:11} {consistency:13} "
        f"{prove_s * 1e6:8.0f} {check_s * 1e6:8.0f} {megabytes:9.1f} {verified_s:8.1f} {verified_s / count * 1e6:9.0f} {grown_mib:10.0f}"
    )


def grow(signer: FileSigner, bundle: Path, count: int) -> tuple[Tree, float]:
    """Append all in rounds, writing the bundle beside it; only the appends are timed."""
    tree, spent_s = Tree(), 0.0
    writer = BundleWriter(spec=spec(), signer=signer, now=NOW)
    with bundle.open("wb") as out:
        out.write(writer.head())
        for entries, took_s in rounds(signer, count):
            spent_s += took_s
            for entry in entries:
                tree.append(leaf_hash(entry.envelope))
                out.write(writer.record(entry))
        out.write(writer.end(signer.last_signed().checkpoint))
    return tree, spent_s


def rounds(signer: FileSigner, count: int) -> Iterator[tuple[tuple[LogEntry, ...], float]]:
    for start in range(0, count, ROUND):
        pending = [statement(number) for number in range(start, min(start + ROUND, count))]
        began = time.perf_counter()
        batch = sequence(pending, signer.last_signed().after, signer, NOW)
        if not signer.remember(batch):
            raise SystemExit("another process uses the benchmark's key")
        yield batch.entries, time.perf_counter() - began


def prove(tree: Tree, count: int) -> tuple[float, float]:
    """Seconds to make and to check one inclusion and one consistency proof, on average over the log."""
    root, step = tree.root(count), max(1, count // PROOFS)
    places = range(step - 1, count, step)
    began = time.perf_counter()
    made = [(inclusion_proof(tree.node, index, count), consistency_proof(tree.node, index + 1, count)) for index in places]
    made_s = time.perf_counter() - began
    olds = [tree.root(index + 1) for index in places]
    began = time.perf_counter()
    for index, old, (inclusion, consistency) in zip(places, olds, made, strict=True):
        is_in = root_from_inclusion(tree.node(0, index), index, count, inclusion) == root
        if not is_in or not is_consistent(index + 1, old, count, root, consistency):
            raise SystemExit("a proof does not verify")
    return made_s / len(places), (time.perf_counter() - began) / len(places)


def verify(bundle: Path, trust: bytes, count: int) -> float:
    """Seconds for the whole bundle."""
    began = time.perf_counter()
    with bundle.open("rb") as stream:
        report = verify_stream(stream, trust, NOW + 60)
    if not report.is_valid or report.records != count:
        raise SystemExit(f"the bundle does not verify: {report.faults}")
    return time.perf_counter() - began


def statement(number: int) -> PendingStatement:
    node = number % NODES
    findings = [
        {"check": f"inventory.check-{check}", "subject": f"node:n{node:04}", "result": "pass", "expected": "8 GPUs", "seen": "8 GPUs"}
        for check in range(5)
    ]
    predicate: dict[str, Any] = {"gate": "inventory", "verdict": "green", "spec_digest": "sha256:" + "ab" * 32, "findings": findings}
    return PendingStatement(
        key=f"gate/n{node:04}/inventory/{number}",
        kind="gate",
        subjects=((f"node:SN{node:06}", "cd" * 32),),
        predicate=predicate,
        made_at=NOW,
        about=Subject(f"node:n{node:04}"),
    )


def spec() -> bytes:
    nodes = ",".join(f'{{"name":"n{node:04}","serial":"SN{node:06}"}}' for node in range(NODES))
    site = f'{{"site":{{"name":"bench","simulated":true}},"nodes":[{nodes}],"purchase":[]}}'
    return f'{{"digest":"sha256:{"ab" * 32}","spec":{site},"profiles":{{}}}}'.encode()


if __name__ == "__main__":
    main()

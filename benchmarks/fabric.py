"""CPU time to read what ibnetdiscover printed and to hold it against the cable plan, by number of links.

    .venv/bin/python benchmarks/fabric.py [LINKS …]      (default: 1000 10000 100000)

Every hundredth cable is a port too far. The peer of the same run is Python's own `str.split` over the same text: what touching each
line once costs at least.
"""

import sys
import time
from collections.abc import Sequence

from metalwright.gates.cabling import compare
from metalwright.model.cabling import LinkSight
from metalwright.model.spec import CableSpec
from metalwright.readers import ibnetdiscover

HOSTS = 32
WRONG_EVERY = 100


def made(links: int) -> tuple[list[CableSpec], bytes]:
    """Leaves of 32 hosts, and the fabric as the tool shows it from both ends."""
    plan, lines = [], []
    for leaf in range(-(-links // HOSTS)):
        lines.append(f'Switch\t65 "S-{leaf:016x}"\t\t# "leaf{leaf:05}" enhanced port 0 lid {leaf} lmc 0')
        hosts = [leaf * HOSTS + port for port in range(min(HOSTS, links - leaf * HOSTS))]
        seen = {host: host % HOSTS + 1 + (HOSTS if host % WRONG_EVERY == 0 else 0) for host in hosts}
        lines += [f'[{port}]\t"H-{host:016x}"[1]({host:x}) \t\t# "node{host:06} mlx5_0" lid {host} 4xNDR' for host, port in seen.items()]
        for host, port in seen.items():
            lines.append(f'Ca\t1 "H-{host:016x}"\t\t# "node{host:06} mlx5_0"')
            lines.append(f'[1]({host:x}) \t"S-{leaf:016x}"[{port}]\t\t# lid {host} lmc 0 "leaf{leaf:05}" lid {leaf} 4xNDR')
            plan.append(
                CableSpec(
                    label=f"C-{host}",
                    a_device=f"node{host:06}",
                    a_port="mlx5_0",
                    b_device=f"leaf{leaf:05}",
                    b_port=str(host % HOSTS + 1),
                    fabric="compute",
                )
            )
    return plan, "\n".join(lines).encode()


def measure(links: int) -> str:
    plan, raw = made(links)
    began = time.process_time()
    sight = ibnetdiscover.read(raw)
    read = time.process_time()
    if not isinstance(sight, LinkSight):
        raise SystemExit(sight.reason)
    compared = compare(plan, [sight])
    judged = time.process_time()
    wrong = -(-links // WRONG_EVERY)
    if len(compared.findings) != wrong or compared.matched != links - wrong:
        raise SystemExit(f"{len(compared.findings)} findings, {wrong} cables are wrong")
    split_began = time.process_time()
    touched = sum(len(line.split()) for line in raw.decode().splitlines())
    split = time.process_time() - split_began
    total = judged - began
    return (
        f"{links:>8}  {read - began:7.3f}  {judged - read:7.3f}  {total / links * 1e6:9.1f}  {total / split:8.1f}  {touched and wrong:>7}"
    )


def main(arguments: Sequence[str]) -> None:
    print("   links   read s  judge s  µs a link   × split    wrong")
    for links in [int(word) for word in arguments] or [1_000, 10_000, 100_000]:
        print(measure(links), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Small sites for the simulator's tests, on loopback addresses and ports of their own."""

import itertools
import os
import socket
from dataclasses import replace

from metalwright.model.ids import NodeName, RackName
from metalwright.model.spec import (
    BmcSecrets,
    Cooling,
    Feed,
    HardwareProfile,
    NetbootSpec,
    NodeSpec,
    ProfileSpec,
    PurchaseLine,
    RackSpec,
    Secrets,
    SiteIdentity,
    SiteSpec,
    StoredSpec,
)

H100 = HardwareProfile(
    name="hgx-h100-8",
    version=1,
    gpu_model="H100 80GB HBM3",
    gpus=8,
    nvswitches=4,
    nvlinks_per_gpu=18,
    nvlink_gbps=212.496,
    gpu_pcie_generation=5,
    gpu_pcie_width=16,
    gpu_memory_mib=81559,
    cpus=2,
    memory_gib=2048,
    nics=8,
    nic_rate_gbps=400,
    nvme=8,
    nvme_each_tb=3.84,
    max_watts=10200,
    source="test",
    date="2026-11-30",
)
SMALL = replace(H100, name="small", gpus=2, nvswitches=2, nvlinks_per_gpu=4, memory_gib=64, nics=2, nvme=2, nvme_each_tb=0.004)

_numbers = itertools.count(1)


def free_port() -> int:
    """A port that was free a moment ago on 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def loopback_network() -> str:
    """`127.x.y`, different for each call and each process, so that test runs beside each other do not collide."""
    return f"127.{1 + os.getpid() % 250}.{next(_numbers) % 250}"


def make_site(
    count: int = 1,
    *,
    profile: HardwareProfile = H100,
    purchase: tuple[PurchaseLine, ...] = (),
    scheme: str = "http",
    boot_url: str = "http://127.0.0.1:1",
) -> StoredSpec:
    """A site of `count` nodes n1, n2 …, its BMCs on a loopback network of its own."""
    network, port = loopback_network(), free_port()
    nodes = tuple(
        NodeSpec(
            name=NodeName(f"n{index + 1}"),
            rack=RackName("r1"),
            unit=index + 1,
            profile="compute",
            serial=f"SN{index + 1:06d}",
            bmc=f"{scheme}://{network[: network.rindex('.')]}.{int(network.rpartition('.')[2]) + index // 250}.{index % 250 + 1}:{port}",
            boot_mac=f"52:54:00:00:{index // 256:02x}:{index % 256:02x}",
        )
        for index in range(count)
    )
    spec = SiteSpec(
        metalwright=1,
        site=SiteIdentity(name="test", simulated=True),
        racks=(RackSpec(name=RackName("r1"), feeds=(Feed(name="A", kw=30),), cooling=Cooling(kind="air", kw=30)),),
        profiles={"compute": ProfileSpec(base=profile.name)},
        nodes=nodes,
        secrets=Secrets(bmc=BmcSecrets(user="env:BMC_USER", password="env:BMC_PASSWORD")),
        purchase=purchase,
        netboot=NetbootSpec(boot_url=boot_url),
    )
    return StoredSpec(digest="sha256:" + "0" * 64, spec=spec, profiles={"compute": profile})


TINY = replace(SMALL, name="tiny", cpus=1, memory_gib=4, nics=1, nvme=1, nvlinks_per_gpu=2)
"""One of every kind of resource, and little more: what validators are run on."""

"""A small, whole site folder as text, for tests that change one thing in it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from metalwright.codec.site_folder import read_site
from metalwright.model.errors import Problem, SpecError

SITE = """\
metalwright: 1
site: {name: atlas, timezone: Europe/Zurich}
responsible:
  waive: [ops-lead@example.org]
depth: {os: automatic}
objectives:
  - {name: goodput, workload: pretrain, at_least: 0.90, over: 30d}
capacity:
  workloads:
    - {name: pretrain, kind: training, gpus: 16, checkpoint: {size_gib: 900, every: 30min}}
  tenancy: single
  residency: CH
racks:
  - name: r01
    feeds: [{name: A, kw: 22}, {name: B, kw: 22}]
    redundancy: N+1
    cooling: {kind: air, kw: 22.5}
    units: 42
profiles:
  compute: {base: hgx-h100-8, nics: {count: 4, rate_gbps: 400}}
nodes: nodes.csv
purchase: packing.csv
fabrics:
  - {name: compute, kind: infiniband, rate_gbps: 400}
  - {name: management, kind: ethernet, subnet: 10.20.0.0/22}
cables: cables.csv
firmware:
  - {profile: compute, component: BMC, version: 24.0}
images: images/*.yaml
system:
  image: trainer@2026.12
  disks: {system: smallest-nvme, scratch: {stripe: nvme, filesystem: xfs, mount: /scratch}}
  bios: {NumaPerSocket: NPS1}
netboot: {dhcp: none}
scheduler: {kind: slurm}
acceptance: {use: standard, soak: 12h}
secrets:
  bmc: {user: env:BMC_USER, password: file:secrets/bmc}
retire: {media: purge, keys: vault:transit/atlas, data: [{where: "s3://a", then: destroy}]}
"""
NODES = """\
name,rack,unit,profile,serial,bmc,boot_mac
atlas01,r01,1,compute,MW0001,https://10.20.0.11,02:00:00:00:00:01
atlas02,r01,9,compute,MW0002,https://10.20.0.12,02:00:00:00:00:02
"""
PACKING = """\
part,serial,kind,quantity,node_serial
SYS,MW0001,system,1,
SYS,MW0002,system,1,
GPU,1650001,gpu,1,MW0001
CABLE,,,12,
"""
CABLES = """\
label,a_device,a_port,b_device,b_port,fabric,length_m
C-1,atlas01,nic0,leaf01,1,compute,5
C-2,atlas02,nic0,leaf01,2,compute,5
"""
IMAGE = """\
name: trainer
version: 2026.12
builder: mmdebstrap
packages: [chrony]
"""
FILES: Mapping[str, str] = {
    "site.yaml": SITE,
    "nodes.csv": NODES,
    "packing.csv": PACKING,
    "cables.csv": CABLES,
    "images/trainer.yaml": IMAGE,
}


def write_site(folder: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    """The small site in a folder, some of its files replaced (or left out: None)."""
    for name, content in {**FILES, **(changes or {})}.items():
        if content is None:
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def problems_of(folder: Path) -> tuple[Problem, ...]:
    """What read_site says; a good folder is a failure of the test."""
    with pytest.raises(SpecError) as caught:
        read_site(folder)
    return caught.value.problems

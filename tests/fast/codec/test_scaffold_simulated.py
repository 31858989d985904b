"""The simulated scaffold: what quickstart and the simulator's tests stand on."""

from pathlib import Path

from metalwright.codec.scaffold import write_scaffold
from metalwright.codec.site_folder import read_site
from metalwright.codec.spec_codec import spec_from_bytes, spec_to_bytes


def test_simulated_site_reads(tmp_path: Path) -> None:
    """Four HGX H100 servers, each with every serial of its parts, on loopback BMCs."""
    write_scaffold(tmp_path / "sim", "simulated")
    stored = read_site(tmp_path / "sim")
    assert [node.bmc for node in stored.spec.nodes] == [f"https://127.0.10.{last}:9443" for last in (1, 2, 3, 4)]
    assert stored.spec.site.simulated
    assert stored.profiles["compute"].name == "hgx-h100-8"
    inside = [line.kind for line in stored.spec.purchase if line.node_serial == stored.spec.nodes[0].serial]
    assert {kind: inside.count(kind) for kind in inside} == {"gpu": 8, "nvswitch": 4, "nic": 8, "drive": 8}
    assert spec_from_bytes(spec_to_bytes(stored)) == stored

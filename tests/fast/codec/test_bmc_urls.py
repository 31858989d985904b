"""BMCs without Redfish are declared by their scheme, and get the driver that speaks it."""

from pathlib import Path

from metalwright.codec.site_folder import read_site
from tests.fast.codec.small_site import NODES, SITE, problems_of, write_site

IPMI = NODES.replace("https://10.20.0.12", "ipmi://10.20.0.12")


def test_a_machine_without_redfish_is_declared_by_its_scheme(tmp_path: Path) -> None:
    """`ipmi://ADDRESS` is a BMC like any other."""
    site = read_site(write_site(tmp_path, {"nodes.csv": IPMI}))
    assert [node.bmc for node in site.spec.nodes] == ["https://10.20.0.11", "ipmi://10.20.0.12"]


def test_the_port_that_ipmi_implies_counts(tmp_path: Path) -> None:
    """`ipmi://A` and `ipmi://A:623` are one BMC, so two nodes cannot have both."""
    twice = IPMI.replace("https://10.20.0.11", "ipmi://10.20.0.12:623")
    (problem,) = problems_of(write_site(tmp_path, {"nodes.csv": twice}))
    assert "BMC" in problem.message


def test_who_keeps_the_consoles_is_declared(tmp_path: Path) -> None:
    """`system.console_log` names it in words; empty words are none."""
    line = "system:\n  image: trainer@2026.12\n"
    site = read_site(write_site(tmp_path / "a", {"site.yaml": SITE.replace(line, line + "  console_log: conserver on ops1\n")}))
    assert site.spec.system is not None
    assert site.spec.system.console_log == "conserver on ops1"
    assert problems_of(write_site(tmp_path / "b", {"site.yaml": SITE.replace(line, line + '  console_log: ""\n')}))

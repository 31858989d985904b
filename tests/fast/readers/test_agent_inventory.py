"""What a hostile or broken machine's agent ships: facts where the text says them, gaps where it does not, never a crash."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.agent.collect import LINKS, PATTERNS
from metalwright.codec.json_codec import from_bytes, to_bytes
from metalwright.model.agent_messages import CommandOutput, RawInventory
from metalwright.model.hardware import HardwareFacts
from metalwright.model.ids import NodeName
from metalwright.readers.sysfs import hardware_from_raw
from metalwright.simulator import linux_view
from metalwright.simulator.world import World
from tests.fast.simulator.simulated_sites import SMALL, make_site

SHOWN = linux_view.files(World(make_site(1, profile=SMALL), 7).parts(NodeName("n1")))
TEXTS = st.one_of(
    st.text(max_size=80),
    st.binary(max_size=80).map(lambda data: data.decode("utf-16", errors="replace")),
    st.sampled_from(
        ["", "\x00", "\ufffd" * 9, "9" * 5000, "0x", "-1\n", "٣٤", "²", "4 GT/s\x1b[2J", "../" * 999, "physical id : x\n\n" * 99]
    ),
)
PATHS = st.one_of(
    st.sampled_from(sorted(SHOWN)),
    st.tuples(st.sampled_from([*PATTERNS, *LINKS]), st.text(max_size=12)).map(lambda both: both[0].replace("*", both[1])),
    st.text(max_size=40),
)


@settings(deadline=None, max_examples=100)
@given(changed=st.dictionaries(PATHS, TEXTS, max_size=6), lost=st.sets(st.sampled_from(sorted(SHOWN)), max_size=6), bare=st.booleans())
def test_no_text_crashes_the_reader(changed: Mapping[str, str], lost: set[str], bare: bool) -> None:
    """Whatever stands in whatever file: facts that can be stored and read back, and gaps for what an inventory cannot do without."""
    kept = {} if bare else {path: text for path, text in SHOWN.items() if path not in lost}
    facts = hardware_from_raw(RawInventory(files={**kept, **changed}, unreadable={path: "x" * 900 for path in lost}))
    assert from_bytes(HardwareFacts, to_bytes(facts)) == facts
    if bare and not changed:
        assert {gap.what for gap in facts.gaps} >= {"cpus", "memory", "identity"}


@settings(deadline=None, max_examples=30)
@given(share=st.floats(0, 1))
def test_a_text_cut_off_anywhere_is_no_crash(share: float) -> None:
    """A file that ends in the middle of a word says less, never more: no part appears that is not there."""
    whole = hardware_from_raw(RawInventory(files=SHOWN))
    cut = hardware_from_raw(RawInventory(files={path: text[: int(len(text) * share)] for path, text in SHOWN.items()}))
    assert len(cut.gpus) <= len(whole.gpus) and len(cut.cpus) <= len(whole.cpus) and len(cut.pci) == len(whole.pci)


def test_a_machine_of_a_million_devices_is_bounded() -> None:
    """Lists end at a bound, and a number of 5000 digits is no number."""
    functions = {f"/sys/bus/pci/devices/{bus:04x}:{bus % 256:02x}:00.0/vendor": "0x10de\n" for bus in range(20_000)}
    packages = "".join(f"processor: {number}\nphysical id: {number}\n\n" for number in range(20_000))
    facts = hardware_from_raw(RawInventory(files={**functions, "/proc/cpuinfo": packages, "/proc/meminfo": f"MemTotal: {'9' * 5000} kB"}))
    assert len(facts.pci) <= 4096 and len(facts.cpus) <= 4096 and facts.memory_mib is None


def test_what_the_agent_could_not_read_is_a_gap_with_its_reason() -> None:
    """An unreadable serial is unknown, not absent; commands that nobody asked for are ignored."""
    files = {path: text for path, text in SHOWN.items() if not path.endswith("product_serial")}
    commands = {"rm": CommandOutput(exit_code=0, stdout="\x00", stderr="")}
    raw = RawInventory(files=files, commands=commands, unreadable={"/sys/class/dmi/id/product_serial": "Permission denied"})
    facts = hardware_from_raw(raw)
    assert facts.identity.system_serial is None
    assert [gap.why for gap in facts.gaps] == ["/sys/class/dmi/id/product_serial: Permission denied"]

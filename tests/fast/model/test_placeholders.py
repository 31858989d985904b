"""One table says what is no serial, for files, BMCs, FRUs and agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.drivers.ipmi.parsing import fru_of
from metalwright.drivers.redfish.documents import text_of
from metalwright.model.placeholders import known, serial_of

_NONE = [
    "",
    " ",
    "N/A",
    "To Be Filled By O.E.M.",
    "Default  string",
    "default_string",
    '"None"',
    "0000000",
    "-----",
    "Not Specified",
    "XXXxXXX",
]


@pytest.mark.parametrize("text", _NONE)
def test_every_witness_has_the_same_placeholders(text: str) -> None:
    """What one door refuses as a serial, no other lets in."""
    assert known(text) is None
    assert serial_of(text) is None
    assert text_of(text) is None
    assert fru_of(f"Product Serial : {text}") == {}


def test_a_single_digit_may_be_a_name_but_is_no_serial() -> None:
    """Slots and ids are short; serials never are one character."""
    assert known("7") == "7"
    assert serial_of("7") is None
    assert serial_of("77") is None


@given(st.text(alphabet="ABC123", min_size=4, max_size=20).filter(lambda text: len(set(text)) > 1))
def test_serials_compare_without_padding_and_case(text: str) -> None:
    """A padded or lower-case serial is the same serial."""
    assert serial_of(f" {text.lower()}\0") == serial_of(text) == text

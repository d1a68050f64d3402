"""Which texts are plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.numbers import is_number
from tests.examples import examples


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
@examples(50)
def test_what_python_writes_is_a_number(value: float) -> None:
    """Integers and finite floats are, with blanks around them, too."""
    assert is_number(f" {value} ")


@pytest.mark.parametrize(
    "text", ["", "-", ".", "e5", "1,000", "$5", "1 000", "1_000", "0x1F", "nan", "inf", "NA", "٣", "½"]
)
def test_other_spellings_are_no_numbers(text: str) -> None:
    """Units, separators, words and digits of other scripts are none."""
    assert not is_number(text)

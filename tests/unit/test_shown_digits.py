"""Digits that agents see follow the standard error."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore, rounded
from comind.domain.revealed_bits import (
    PAIRED_BITS,
    PART_BITS,
    SCORE_BITS,
    grading_bits,
    table_bits,
)

_NUMBERS = st.floats(-1e6, 1e6)
_ERRORS = st.floats(1e-9, 1e6)


@given(value=_NUMBERS, error=_ERRORS)
def test_rounding_is_small_beside_the_standard_error(value: float, error: float) -> None:
    """A number is moved by a twentieth of its standard error at most, or by its sixth digit."""
    assert abs(rounded(value, error) - value) <= max(error / 20, 1e-4 * abs(value)) * (1 + 1e-9)


@given(error=st.floats(1e-6, 1e6), shares=st.lists(st.floats(-1, 1), min_size=60, max_size=60))
def test_few_numbers_can_be_told_apart_within_a_standard_error(
    error: float, shares: list[float]
) -> None:
    """Within a standard error to each side there are at most 51 numbers."""
    assert len({rounded(share * error, error) for share in shares}) <= 51
    assert len({rounded(place / 100 * error, error) for place in range(-100, 101)}) <= 51


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.843217, 0.0153, 0.843),
        (0.843217, 0.0249, 0.844),
        (0.843217, 0.0571, 0.845),
        (123456.7, 2345.6, 123400.0),
        (0.6931472, 0.0, 0.693),
        (0.6931472, math.nan, 0.693),
        (0.6931472, 1e-7, 0.69315),
        (0.0003, 0.02, 0.0),
        (-1.2345, 0.3, -1.24),
    ],
)
def test_the_unit_is_a_tenth_of_the_standard_error(value: float, error: float, shown: float) -> None:
    """Rounded down to 1, 2 or 5 times a power of ten; three digits without a standard error."""
    assert rounded(value, error) == shown


def test_a_score_is_written_so() -> None:
    """A score has its own unit, its bounds that of five times its standard error."""
    value = MetricValue(value=0.843217, maximize=True)
    interval = Interval(low=0.8132, high=0.8732)
    score = ValidationScore(metric="auc", value=value, interval=interval, rows=500)
    assert str(score) == "auc 0.843 [0.815, 0.875]"
    assert str(score.shown) == "0.843"
    gain = Paired(difference=0.0123456, standard_error=0.00345, interval=Interval(low=0, high=1))
    assert gain.shown == (0.0124, 0.0034)


def test_the_page_on_security_has_these_bits() -> None:
    """The table of channels in docs/security.md has the counts that campaigns are charged with."""
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    bits = {row[0]: row[-1].split(",")[0] for row in rows}
    assert bits["score and interval"] == str(round(SCORE_BITS))
    assert bits["parts by target"] == str(round(12 * PART_BITS))
    assert bits["parts by block"] == str(round(4 * PART_BITS))
    paired = [told for name, told in bits.items() if name.startswith("paired difference to")]
    assert paired == 2 * [str(round(PAIRED_BITS))], "between steps, and to another attempt"
    assert grading_bits(8, 4, paired=True) == SCORE_BITS + 4 * PART_BITS + PAIRED_BITS + 3
    assert round(table_bits(8)) == 123

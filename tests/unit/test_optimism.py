"""The optimism of the best of many scores on the same rows."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.metric import Interval, Paired, expected_maximum, selection_optimism

_SCORES = st.lists(st.floats(-1e3, 1e3), max_size=30)
_ERRORS = st.floats(0, 1e3)


def test_the_expected_highest_of_normal_values() -> None:
    """It matches tables of normal order statistics within 0.03."""
    known = {1: 0.0, 2: 0.5642, 5: 1.1630, 10: 1.5388, 100: 2.5076}
    for count, highest in known.items():
        assert expected_maximum(count) == pytest.approx(highest, abs=0.03)


def test_scores_that_differ_by_noise_alone() -> None:
    """With equally good programs, the optimism is about the lead of the best score over the middle."""
    draw = random.Random(1)
    scores = [draw.gauss(0, 1) for _ in range(200)]
    assert selection_optimism(scores, 2**0.5) == pytest.approx(max(scores), rel=0.2)


def test_failures_count_for_nothing() -> None:
    """Scores of failed programs do not change the optimism of the best one."""
    draw = random.Random(2)
    scores = [draw.gauss(0, 1) for _ in range(60)]
    bad, worse = ([*scores, *[value] * 10] for value in (-50.0, -5000.0))
    assert selection_optimism(bad, 1.0) == selection_optimism(worse, 1.0) > 0


@given(_SCORES, _ERRORS)
def test_it_lies_between_nothing_and_the_highest_noise(scores: list[float], error: float) -> None:
    """It is never negative, and at most what equally good programs would have."""
    found = selection_optimism(scores, error)
    assert 0 <= found <= error / 2**0.5 * expected_maximum(len(scores)) + 1e-9


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=20), st.floats(0, 10), st.floats(0, 10))
def test_more_noise_is_no_less_optimism(scores: list[float], one: float, other: float) -> None:
    """The same scores with more noise have no less optimism."""
    less, more = sorted((one, other))
    assert selection_optimism(scores, less) <= selection_optimism(scores, more) + 1e-9


@pytest.mark.parametrize(
    ("difference", "expected"), [(1.0, 0.75), (0.0, 0.25), (-0.5, 0.0), (-1.0, -0.25)]
)
def test_a_tie_is_won_by_the_combination(difference: float, expected: float) -> None:
    """What a combination is expected to gain is positive down to half a standard error of loss."""
    around = Interval(low=difference - 2, high=difference + 2)
    gain = Paired(difference=difference, standard_error=1.0, interval=around)
    assert gain.expected_of_combination == pytest.approx(expected)

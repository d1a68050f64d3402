"""Error correlations are correct, coarse, and reveal little more than scores."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.blending.cross_fit import fit_blend
from comind.grading.blending.error_correlation import MOST_COMPARED, error_correlations
from comind.metrics import METRICS
from tests.examples import examples
from tests.unit.grading.blending.pools import KINDS, candidates, truth_of
from tests.unit.metrics.custom import CUSTOM_METRICS

pytestmark = pytest.mark.slow

_STEP = 0.05
TABLE_BITS = 125
"""Bits of information in one table, as in docs/security.md."""
TABLES = 10
"""Most tables of a campaign."""


@pytest.mark.parametrize("metric", KINDS)
def test_errors_in_common_are_seen(metric: str) -> None:
    """Two submissions with shared errors correlate most, for every metric."""
    random = np.random.default_rng(0)
    truth = truth_of(metric, 400, random)
    first, other, third = candidates(metric, truth, [0.6, 0.6, 0.6], random)
    near = first.copy()
    near.iloc[:40] = third.iloc[:40]
    report = error_correlations(METRICS[metric], truth, [first, other, near])
    assert report.correlations[2][0] > 0.6
    assert report.correlations[2][0] > max(report.correlations[1][0], report.correlations[2][1])


@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.integers(1, 3))
@examples(40)
def test_a_table_is_no_more_than_its_bits(seed: int, metric: str, targets: int) -> None:
    """Correlations are multiples of 0.05 from 0 to 1, one for each pair: at most 125 bits."""
    random = np.random.default_rng(seed)
    truth = truth_of(metric, 120, random, targets)
    tables = [truth_of(metric, 120, random, targets) for _ in range(MOST_COMPARED)]
    told = [
        each for row in error_correlations(METRICS[metric], truth, tables).correlations for each in row
    ]
    assert len(told) == MOST_COMPARED * (MOST_COMPARED - 1) / 2
    assert all(each in {round(_STEP * number, 2) for number in range(21)} for each in told)
    assert len(told) * np.log2(21) <= TABLE_BITS


@given(st.integers(0, 10_000), st.floats(0.2, 0.8))
@examples(50)
def test_of_two_classes_a_table_tells_what_the_scores_tell(seed: int, share: float) -> None:
    """For two classes, the correlation follows from the submissions and their accuracies."""
    random = np.random.default_rng(seed)
    truth, one, other = (
        pd.DataFrame({"t": np.where(random.random(300) < share, "a", "b")}) for _ in range(3)
    )
    [_, [told]] = error_correlations(METRICS["accuracy"], truth, [one, other]).correlations
    wrong, also = ((each != truth).mean().item() for each in (one, other))
    both = (wrong + also - (one != other).mean().item()) / 2
    spread = np.sqrt(wrong * (1 - wrong) * also * (1 - also))
    expected = (both - wrong * also) / spread if spread else 0.0
    assert told == pytest.approx(max(0.0, expected), abs=_STEP / 2 + 1e-9)


@pytest.mark.parametrize("metric", KINDS)
def test_few_rows_are_not_asked_about(metric: str) -> None:
    """Submissions that differ in 19 rows have correlation 1, whatever the truth is."""
    random = np.random.default_rng(1)
    truth = truth_of(metric, 200, random)
    [one] = candidates(metric, truth, [0.5], random)
    other = one.copy()
    other.iloc[:19] = truth.iloc[19:38].to_numpy()
    for true in (truth, truth.iloc[::-1].reset_index(drop=True)):
        assert error_correlations(METRICS[metric], true, [one, other]).correlations == ((), (1.0,))


def test_fifty_rows_that_differ_in_twenty_have_a_correlation() -> None:
    """Errors of 50 rows are correlated, if 20 of the predictions are others."""
    truth = pd.DataFrame({"t": np.zeros(50)})
    one = pd.DataFrame({"t": np.arange(50.0)})
    other = one.copy()
    other.iloc[:20] = one.iloc[::-1].iloc[:20].to_numpy()
    [_, [told]] = error_correlations(METRICS["rmse"], truth, [one, other]).correlations
    assert told < 1


def test_a_table_is_refused_in_a_line() -> None:
    """Texts, metrics whose rows belong together, few rows, and too many submissions have no table."""
    truth = pd.DataFrame({"t": np.arange(49.0)})
    texts = error_correlations(METRICS["exact-match"], truth, [truth])
    rows = error_correlations(CUSTOM_METRICS["bias-auc"], truth, [truth])
    few = error_correlations(METRICS["rmse"], truth, [truth, truth])
    many = error_correlations(METRICS["rmse"], truth.iloc[[0] * 100], [truth.iloc[[0] * 100]] * 9)
    assert "no errors" in texts.reason
    assert "no errors" in rows.reason
    assert few.reason == "49 validation rows are too few"
    assert "too many" in many.reason
    assert not any(each.correlations for each in (texts, rows, few, many))


def _guess(beliefs: np.ndarray, random: np.random.Generator, sure: float) -> pd.DataFrame:
    """Return the likeliest class of each row or, for some rows, any."""
    best = (beliefs + 1e-9 * random.random(beliefs.shape)).argmax(axis=1)
    return pd.DataFrame(
        {"t": np.where(random.random(len(best)) < sure, best, random.integers(0, 3, len(best)))}
    )


def _learn(beliefs: np.ndarray, guess: np.ndarray, rows: np.ndarray, right: float) -> None:
    """Update the beliefs on rows by the share of right guesses: add its log odds."""
    odds = np.log(np.clip(right, 0.02, 0.98) / (1 - np.clip(right, 0.02, 0.98)) * 2)
    beliefs[rows, guess[rows]] += odds


def _played(seed: int, *, tables: bool) -> float:
    """Return the share of labels that an attacker knows after ten rounds of eight submissions.

    It submits its beliefs with random changes, and updates them by the scores and, with `tables`, by
    error correlations: two accuracies and a correlation give the share of right answers among the rows
    on which two submissions agree.
    """
    random = np.random.default_rng(seed)
    truth = pd.DataFrame({"t": random.integers(0, 3, 1_000)})
    beliefs = np.zeros((len(truth), 3))
    for _ in range(TABLES):
        handed_in = [_guess(beliefs, random, sure=0.5) for _ in range(MOST_COMPARED)]
        scores = [round((each == truth).mean().item(), 5) for each in handed_in]
        report = error_correlations(
            METRICS["accuracy"], truth.astype(str), [each.astype(str) for each in handed_in]
        )
        guesses = [each["t"].to_numpy() for each in handed_in]
        for guess, score in zip(guesses, scores, strict=True):
            _learn(beliefs, guess, np.ones(len(truth), dtype=bool), score)
        for one, other in combinations(range(MOST_COMPARED), 2) if tables else ():
            wrong, also = 1 - scores[one], 1 - scores[other]
            spread = np.sqrt(wrong * (1 - wrong) * also * (1 - also))
            both_right = 1 - wrong - also + wrong * also + report.correlations[other][one] * spread
            agree = guesses[one] == guesses[other]
            _learn(beliefs, guesses[one], agree, both_right / max(agree.mean(), 1e-9))
    return float((beliefs.argmax(axis=1) == truth["t"]).mean())


@pytest.mark.parametrize("seed", range(3))
def test_a_player_gains_nothing_from_tables(seed: int) -> None:
    """An attacker knows no more labels with all tables of a campaign than without.

    Three points are left to chance: two standard errors of a share of 1,000 labels.
    """
    without, told = _played(seed, tables=False), _played(seed, tables=True)
    assert told - without <= 0.03
    assert without > 1 / 3


@pytest.mark.parametrize("metric", KINDS)
def test_cells_whose_truth_is_unknown_have_no_errors(metric: str) -> None:
    """With blank true values, submissions of independent errors stay apart, also for blends."""
    random = np.random.default_rng(0)
    truth = truth_of(metric, 400, random, targets=2)
    tables = candidates(metric, truth, [0.9, 0.9], random)
    partly = truth.mask(random.random(truth.shape) < 0.4)
    report = error_correlations(METRICS[metric], partly, tables)
    whole = error_correlations(METRICS[metric], truth, tables)
    assert report.correlations[1][0] == pytest.approx(whole.correlations[1][0], abs=0.15)
    assert fit_blend(METRICS[metric], partly, tables).candidates == 2

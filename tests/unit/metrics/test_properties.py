"""Properties of all metrics: direction, best value, and invariance to order."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.problem import AnswerKind
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import METRICS
from tests.examples import examples
from tests.unit.metrics.samples import ONE_COLUMN, Sample, random_sample

_SEEDS = st.integers(0, 2**32 - 1)

# Moving one row to the truth can lower these, as it changes what would be told right by chance.
_NOT_SIMPLE = {
    "cohen-kappa",
    "quadratic-weighted-kappa",
    "matthews-correlation",
    "pearson",
    "spearman",
}


def _gain(before: Sample, after: Sample) -> float:
    """Return the improvement of the second over the first."""
    difference = after.score() - before.score()
    return difference if before.metric.maximize else -difference


@pytest.mark.parametrize("name", METRICS)
@given(seed=_SEEDS)
@examples(10)
def test_the_truth_scores_best(name: str, seed: int) -> None:
    """The true values themselves score `best`, and nothing scores better."""
    sample = random_sample(METRICS[name], seed)
    perfect = sample.predict(sample.truth)
    assert _gain(sample, perfect) >= 0
    if sample.metric.best is not None:
        assert perfect.score() == pytest.approx(sample.metric.best, abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(METRICS) - _NOT_SIMPLE))
@given(seed=_SEEDS, share=st.floats(0, 1))
@examples(15)
def test_a_better_prediction_never_grades_worse(name: str, seed: int, share: float) -> None:
    """Predictions moved towards the truth score at least as well."""
    sample = random_sample(METRICS[name], seed)
    if sample.metric.answer_kind is AnswerKind.NUMBER:
        true, guess = sample.truth.astype(float), sample.prediction.astype(float)
        closer = (guess + share * (true - guess)).astype(str)
    else:
        told = np.random.default_rng(seed).uniform(size=len(sample.truth)) < share
        closer = sample.prediction.copy()
        closer[told] = sample.truth[told]
    assert _gain(sample, sample.predict(closer)) >= -1e-9


@pytest.mark.parametrize("name", [name for name, each in METRICS.items() if each.by_column])
@given(seed=_SEEDS)
@examples(5)
def test_each_of_several_targets_is_scored_on_the_rows_whose_label_is_known(
    name: str, seed: int
) -> None:
    """With blank true values, a score is the mean of those of the columns over their other rows."""
    sample = random_sample(METRICS[name], seed)
    metric, column = sample.metric, sample.truth.columns[0]
    if metric.answer_kind.may_be_blank:
        return
    blank = np.random.default_rng(seed).uniform(size=(len(sample.truth), 2)) < 0.2
    truth, prediction = (
        pd.DataFrame(dict.fromkeys("ab", each[column])) for each in (sample.truth, sample.prediction)
    )
    parsed = truth.mask(blank, "").apply(metric.parser_of_truth(2))
    predicted = prediction.apply(metric.parse)
    alone = [
        metric.score(*(each.loc[~rows, [name]] for each in (truth.apply(metric.parse_truth), predicted)))
        for name, rows in zip("ab", blank.T, strict=True)
    ]
    draws = [np.arange(len(truth)), np.arange(len(truth))[::-1]]
    expected = pytest.approx(np.mean(alone), nan_ok=True)
    assert metric.score(parsed, predicted) == expected
    assert list(metric.score_draws(parsed, predicted, draws)) == [expected, expected]


@pytest.mark.parametrize("name", METRICS)
def test_order_never_changes_a_grade(name: str, tmp_path: Path) -> None:
    """A submission with its rows and columns in another order gets the same report."""
    sample = random_sample(METRICS[name], seed=5)
    ids = pd.DataFrame({"id": [f"row-{number}" for number in range(len(sample.truth))]})
    answers = pd.concat([ids, sample.truth], axis="columns")
    form = SubmissionSchema(answers, ("id",), tuple(sample.truth.columns), sample.metric)
    sheet = Answers(form, answers)
    submission = pd.concat([ids, sample.prediction], axis="columns")
    submission.to_csv(tmp_path / "s.csv", index=False)
    shuffled = submission.sample(frac=1, random_state=1)[submission.columns[::-1]]
    shuffled.to_csv(tmp_path / "t.csv", index=False)
    report = sheet.grade(tmp_path / "s.csv")
    assert report.valid, report.message
    assert sheet.grade(tmp_path / "t.csv") == report


@pytest.mark.parametrize("name", sorted(set(METRICS) - set(ONE_COLUMN)))
def test_columns_are_averaged(name: str) -> None:
    """All target columns count: a worse second column makes a worse value."""
    sample = random_sample(METRICS[name], seed=3, columns=2)
    half_right = sample.truth.copy()
    half_right["c1"] = sample.prediction["c1"]
    assert _gain(sample.predict(half_right), sample.predict(sample.truth)) > 0


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_says_what_it_is(name: str) -> None:
    """Each metric has a direction, a reference, and a consistent best value."""
    metric = METRICS[name]
    assert metric.reference
    assert metric.best in ((1.0, None) if metric.maximize else (0.0,))

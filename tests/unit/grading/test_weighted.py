"""Metrics with weights read them from train.csv and from the true answers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, mean_pinball_loss

from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from comind.grading.grader_server import SplitGrader
from comind.grading.past_competition import grade_past
from comind.live.scoring import AnswerKey
from comind.metrics import known_metric
from comind.splits.checked_plan import check_competition
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder


def _folder(root: Path, metric: str = "weighted-mae", *, weights: bool = True) -> Path:
    """Write a competition of numbers whose train.csv and answers have weights, and test.csv has none."""
    folder = competition_folder(root, rows=120, metric=metric)
    random = np.random.default_rng(0)
    for name in ("public/train.csv", "private/answers.csv", "public/sample_submission.csv"):
        table = pd.read_csv(folder / name)
        table["label"] = random.normal(size=len(table)).round(3)
        if weights and "sample" not in name:
            table["weight"] = random.integers(1, 6, len(table))
        table.to_csv(folder / name, index=False)
    return folder


def test_weights_count_in_every_grade(tmp_path: Path) -> None:
    """Validation, out-of-fold, past and live scores are scikit-learn's with the weights."""
    competition = load_competition(_folder(tmp_path))
    check_competition(competition)
    made = make_split(competition, tmp_path / "splits", seed=0)
    assert "weight" not in (made.public / "validation.csv").read_text().splitlines()[0]
    grader = SplitGrader(made)
    zeros = tmp_path / "zeros.csv"

    def expected(truth: pd.DataFrame) -> float:
        truth[["id"]].assign(label=0).to_csv(zeros, index=False)
        zero = np.zeros(len(truth))
        return mean_absolute_error(truth["label"], zero, sample_weight=truth["weight"])

    value = expected(pd.read_csv(made.answers))
    report = grader.grade(zeros, made.sample)
    assert report.score is not None
    assert report.score.value.value == pytest.approx(value)
    value = expected(pd.read_csv(made.public / "train.csv"))
    report = grader.out_of_fold(zeros)
    assert report.score is not None
    assert report.score.value.value == pytest.approx(value)
    value = expected(pd.read_csv(competition.answers))
    assert grade_past(competition, zeros).score == pytest.approx(value)
    assert AnswerKey(competition).grade(zeros).score == grade_past(competition, zeros).score


def test_a_missing_weight_is_one_line(tmp_path: Path) -> None:
    """A train.csv without the column that the metric reads is refused."""
    with pytest.raises(CompetitionError, match="has no column 'weight', which weighted-mae reads"):
        check_competition(load_competition(_folder(tmp_path, weights=False)))


def test_a_weight_that_is_no_number_is_one_line(tmp_path: Path) -> None:
    """It is refused at arrival, not in the report of each submission."""
    folder = _folder(tmp_path)
    train = folder / "public" / "train.csv"
    table = pd.read_csv(train, dtype=str)
    table.loc[7, "weight"] = "heavy"
    table.to_csv(train, index=False)
    with pytest.raises(CompetitionError, match=r"train.csv: column 'weight': no number in 1 of"):
        check_competition(load_competition(folder))


def test_weighted_metrics_equal_their_formulas() -> None:
    """Of several columns and quantiles, with the weights of the rows."""
    random = np.random.default_rng(1)
    truth = pd.DataFrame(random.normal(size=(30, 4)), columns=list("abcd"))
    guess = pd.DataFrame(random.normal(size=(30, 4)), columns=list("abcd"))
    weight, scale = random.uniform(0.1, 2, 30), random.uniform(0.5, 3, 30)
    squares = np.sqrt(((truth - guess) ** 2).mean(axis="columns") / scale)
    scored = known_metric("wrmsse").score(truth.assign(weight=weight, scale=scale), guess)
    assert scored == pytest.approx(float((weight * squares).sum() / weight.sum()))
    quantile = random.choice([0.1, 0.5, 0.9], 30)
    one = truth[["a"]].assign(weight=weight, quantile=quantile)
    losses = [
        mean_pinball_loss([t], [p], alpha=q)
        for t, p, q in zip(truth["a"], guess["a"], quantile, strict=True)
    ]
    scored = known_metric("weighted-pinball").score(one, guess[["a"]])
    assert scored == pytest.approx(np.average(losses, weights=weight))

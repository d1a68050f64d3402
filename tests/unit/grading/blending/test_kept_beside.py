"""Where labels are predicted, blends average the probabilities or numbers that are kept beside them."""

import numpy as np
import pandas as pd
import pytest

from comind.grading.blending.cross_fit import KeptBeside, OutOfFold, fit_blend
from comind.grading.blending.selection import CandidatePool
from comind.metrics import METRICS

pytestmark = pytest.mark.slow

_CLASSES = ("a", "b", "c")
_GRADES = ("0", "1", "2", "3", "4")


def _classes(
    random: np.random.Generator, rows: int, count: int
) -> tuple[pd.DataFrame, list[pd.DataFrame], list[pd.DataFrame]]:
    """Return true classes, predicted ones, and the probabilities beside these."""
    true = random.integers(0, 3, rows)
    odds = [1.2 * np.eye(3)[true] + random.normal(0, 1, (rows, 3)) for _ in range(count)]
    chances = [np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in odds]
    names = np.array(_CLASSES, dtype=object)
    labels = [pd.DataFrame({"y": names[each.argmax(axis=1)]}) for each in chances]
    return pd.DataFrame({"y": names[true]}), labels, [pd.DataFrame(c, columns=_CLASSES) for c in chances]


def _grades(
    random: np.random.Generator, rows: int, count: int
) -> tuple[pd.DataFrame, list[pd.DataFrame], list[pd.DataFrame]]:
    """Return true grades, predicted ones, and the numbers beside these, which are a half too low."""
    true = random.integers(0, 5, rows)
    numbers = [true - 0.5 + random.normal(0, 0.8, rows) for _ in range(count)]
    labels = [pd.DataFrame({"y": np.clip(np.rint(each), 0, 4).astype(int)}) for each in numbers]
    return pd.DataFrame({"y": true}), labels, [pd.DataFrame({"y": each}) for each in numbers]


@pytest.mark.parametrize(
    ("metric", "draw", "mean", "labels"),
    [
        ("accuracy", _classes, "probability", _CLASSES),
        ("macro-f1", _classes, "probability", _CLASSES),
        ("quadratic-weighted-kappa", _grades, "number", _GRADES),
    ],
)
def test_a_stack_of_what_is_kept_beside_labels_is_better_than_one_of_labels(
    metric: str, draw: object, mean: str, labels: tuple[str, ...]
) -> None:
    """It is learned and judged by the metric of labels, and better on fresh rows than their blend."""
    random = np.random.default_rng(0)
    (truth, tables, beside), (others, predicted, kept), (fresh, new, more) = (
        draw(random, rows, 5) for rows in (300, 900, 3000)
    )
    rows = OutOfFold(others, dict(enumerate(predicted)))
    by_labels = fit_blend(METRICS[metric], truth, tables, out_of_fold=rows)
    report = fit_blend(
        METRICS[metric],
        truth,
        tables,
        out_of_fold=rows._replace(beside=dict(enumerate(kept))),
        beside=KeptBeside(mean, labels, dict(enumerate(beside))),
    )
    assert report.reason == ""
    assert (report.mean, report.labels) == (mean, labels)
    every = np.arange(len(fresh))
    means = ("rounded", "vote") if mean == "number" else ("vote",)
    found = []
    for each in (by_labels, report):
        kept_there = KeptBeside(mean, labels, dict(enumerate(more))).of(dict(enumerate(more)), range(5))
        pool = CandidatePool(METRICS[metric], fresh, new, means, beside=kept_there)
        found.append(pool.score(pool.selection_of(each), every))
    assert found[1] > found[0]


def test_bounds_between_numbers_are_learned() -> None:
    """Numbers that are a half too low get bounds that are lower than halfway between the labels."""
    random = np.random.default_rng(1)
    (truth, tables, beside), (others, predicted, kept) = (
        _grades(random, rows, 4) for rows in (300, 900)
    )
    report = fit_blend(
        METRICS["quadratic-weighted-kappa"],
        truth,
        tables,
        out_of_fold=OutOfFold(others, dict(enumerate(predicted)), beside=dict(enumerate(kept))),
        beside=KeptBeside("number", _GRADES, dict(enumerate(beside))),
    )
    assert report.stacked
    assert len(report.offsets) == 4
    assert list(report.offsets) == sorted(report.offsets)
    assert report.offsets[1] < 1.3


def test_without_out_of_fold_rows_probabilities_are_averaged_by_validation() -> None:
    """Greedy selection averages probabilities, too, where these are better than votes."""
    truth, tables, beside = _classes(np.random.default_rng(2), 600, 3)
    kept = KeptBeside("probability", _CLASSES, dict(enumerate(beside)))
    report = fit_blend(METRICS["accuracy"], truth, tables, beside=kept)
    assert report.reason == ""
    assert report.mean == "probability"
    assert not report.offsets


def test_one_candidate_with_probabilities_is_not_enough() -> None:
    """Probabilities of a single candidate change nothing."""
    truth, tables, beside = _classes(np.random.default_rng(3), 300, 3)
    kept = KeptBeside("probability", _CLASSES, {1: beside[1]})
    assert fit_blend(METRICS["accuracy"], truth, tables, beside=kept) == fit_blend(
        METRICS["accuracy"], truth, tables
    )

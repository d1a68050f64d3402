"""Attempts that read labels from their scores are found; honest ones are not."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.coded_submissions import find_coded
from comind.metrics import METRICS
from tests.examples import examples

_ROWS, _TEST = 200, 300
_Steps = list[tuple[np.ndarray, np.ndarray]]


def _found(metric: str, truth: np.ndarray, steps: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    tables = [(_table(validation), _table(test)) for validation, test in steps]
    return list(find_coded(METRICS[metric], _table(truth), tables))


def _table(values: np.ndarray) -> pd.DataFrame:
    table = pd.DataFrame(values)
    return table.rename(columns=lambda name: f"c{name}")


def _queries(
    truth: np.ndarray, base: np.ndarray, code: Callable[[int], np.ndarray], known: np.ndarray, most: int
) -> list[np.ndarray]:
    """Return submissions that code some rows each and keep what was read of the rows before."""
    found = [base]
    for first in range(0, len(truth), most):
        submission = base.copy()
        submission[:first] = known[:first]
        rows = slice(first, first + most)
        submission[rows] = code(len(submission[rows]))
        found.append(submission)
    return [*found, known]


def _attack(name: str, random: np.random.Generator) -> tuple[str, np.ndarray, _Steps]:
    """Return metric, truth and the steps of an attempt that reads labels."""
    labels = random.integers(0, 2, _ROWS).astype(float)
    honest, test = (
        1 / (1 + np.exp(-random.normal(0.8 * (2 * each - 1), 1)))
        for each in (labels, random.integers(0, 2, _TEST))
    )
    half = np.full(_ROWS, 0.5)

    def odds(count: int) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(30 * 0.5 ** np.arange(count))))

    sure = np.where(labels == 1, 1 - 1e-9, 1e-9)
    match name:
        case "a code in log odds":
            queries = _queries(labels, half, odds, sure, 8)
            return "log-loss", labels, [(each, np.full(_TEST, 0.5)) for each in queries]
        case "beside an honest model":
            queries = _queries(labels, honest, odds, sure, 8)
            return "log-loss", labels, [(each, test) for each in queries]
        case "under noise":
            queries = _queries(labels, half, odds, sure, 8)
            noise = [np.clip(each + random.normal(0, 0.1, _ROWS), 1e-9, 1 - 1e-9) for each in queries]
            hidden = [
                np.where(each == 0.5, other, each) for each, other in zip(queries, noise, strict=True)
            ]
            return "log-loss", labels, [(each, test) for each in hidden]
        case "ranks":
            queries = _queries(labels, honest, lambda n: 5.0 + np.arange(n), 20 * labels - 10, 4)
            return "roc-auc", labels, [(each, test) for each in queries]
        case "flipped labels":
            classes = (honest > 0.5).astype(float)
            steps = [np.where(np.arange(_ROWS) == row, 1 - classes, classes) for row in range(_ROWS)]
            done = np.arange(_ROWS)
            kept = [np.where(done < row, labels, each) for row, each in enumerate(steps)]
            return "accuracy", labels, [(each, test.round()) for each in [*kept, labels]]
        case "all rows weighed at once":
            classes = (honest > 0.5).astype(float)
            mixed = [np.where(random.random(_ROWS) < 0.25, 1 - classes, classes) for _ in range(60)]
            return "accuracy", labels, [(each, test.round()) for each in [classes, *mixed, labels]]
        case "numbers":
            truth = random.normal(0, 1, _ROWS)
            model = truth + random.normal(0, 0.7, _ROWS)
            queries = _queries(truth, model, lambda n: 1000 * 2.0 ** np.arange(n), truth, 2)
            return (
                "rmse",
                truth,
                [(each, random.normal(0, 1, 1) + np.zeros(_TEST)) for each in queries[:1]]
                + [(each, test) for each in queries[1:]],
            )
        case _:
            classes = np.eye(3)[random.integers(0, 3, _ROWS)]
            even, known = np.full((_ROWS, 3), 1 / 3), np.clip(classes, 1e-9, 1)
            codes = np.array([1e-9, 1e-4, 1 - 1e-4 - 1e-9])
            queries = _queries(classes, even, lambda n: np.tile(codes, (n, 1)), known, 6)
            return (
                "multiclass-log-loss",
                classes,
                [(each, np.full((_TEST, 3), 1 / 3)) for each in queries],
            )


@pytest.mark.parametrize(
    "name",
    [
        "a code in log odds",
        "beside an honest model",
        "under noise",
        "ranks",
        "flipped labels",
        "all rows weighed at once",
        "numbers",
        "three classes",
    ],
)
def test_labels_that_are_read_step_by_step_are_seen(name: str) -> None:
    """The last submission, with all that was read, is flagged, as are those that had read enough."""
    metric, truth, steps = _attack(name, np.random.default_rng(7))
    found = _found(metric, truth, steps)
    assert "of the test rows changed" in found[-1]
    assert not any(found[:3])


@pytest.mark.parametrize("name", ["a code in log odds", "ranks", "flipped labels", "numbers"])
def test_predictions_that_are_not_scored_hide_no_code(name: str) -> None:
    """What changes in cells whose label is unknown, and costs nothing, does not dilute what was read."""
    random = np.random.default_rng(7)
    metric, truth, steps = _attack(name, random)
    low, high = (truth.min(), truth.max())
    noise = [np.where(random.random(_ROWS) < 0.5, low, high) for _ in steps]
    wide = [
        (np.column_stack([own, other]), np.column_stack([test, test]))
        for (own, test), other in zip(steps, noise, strict=True)
    ]
    unknown = np.column_stack([truth, np.where(np.arange(_ROWS) < 4, truth, np.nan)])
    assert "of the test rows changed" in _found(metric, unknown, wide)[-1]


def _models(random: np.random.Generator, metric: str, count: int) -> tuple[np.ndarray, _Steps]:
    """Return truth, and predictions of linear models of several qualities for one more row each."""
    x = random.normal(0, 1, (_ROWS + _TEST, 6))
    weights = random.normal(0, random.choice([0.5, 2.0, 8.0]), 6)
    signal = x @ weights
    truth = (random.random(len(x)) < 1 / (1 + np.exp(-signal))).astype(float)
    if metric == "rmse":
        truth = signal + random.normal(0, random.choice([0.01, 1.0]), len(x))
    steps: _Steps = []
    for _ in range(count):
        seen = random.random(6) < random.choice([0.3, 0.7, 1.0])
        guess = x @ np.where(seen, weights + random.normal(0, random.choice([0.05, 0.5, 2]), 6), 0)
        if metric != "rmse":
            guess = 1 / (1 + np.exp(-guess))
            forms = [guess, guess.round(), guess.round(1), np.full(len(guess), truth.mean())]
            guess = (
                guess.round()
                if metric == "accuracy"
                else forms[random.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
            )
        if steps and metric != "accuracy" and random.random() < 0.3:
            guess = (guess + np.concatenate(steps[-1])) / 2
        steps.append((guess[:_ROWS], guess[_ROWS:]))
    return truth[:_ROWS], steps


@given(
    seed=st.integers(0, 2**32 - 1),
    metric=st.sampled_from(["log-loss", "roc-auc", "accuracy", "rmse"]),
    placeholder=st.booleans(),
)
@examples(60)
def test_honest_attempts_are_not_flagged(seed: int, metric: str, placeholder: bool) -> None:
    """Better and worse models, hard and rounded predictions, constants and blends are no queries.

    Nor is an attempt that submits a placeholder for test rows until its last step.
    """
    truth, steps = _models(np.random.default_rng(seed), metric, 12)
    assert not any(_found(metric, truth, steps))
    if placeholder:
        late = [(validation, np.zeros(_TEST)) for validation, _ in steps[:-1]]
        assert not _found(metric, truth, [*late, steps[-1]])[-1]


def test_few_steps_and_other_metrics_are_not_judged() -> None:
    """Three steps show no pattern; texts and masks have no rows that become right bit by bit."""
    metric, truth, steps = _attack("a code in log odds", np.random.default_rng(0))
    assert _found(metric, truth, steps[:3]) == [""] * 3
    texts = pd.DataFrame({"y": ["a b"] * 4})
    assert find_coded(METRICS["word-jaccard"], texts, [(texts, texts)] * 5) == ("",) * 5

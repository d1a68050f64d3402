"""A generated metric is accepted only if it ranks known good above known bad predictions."""

from collections.abc import Callable, Sequence
from io import BytesIO

import pandas as pd
import pytest

from comind.authoring.metric_checks import ScriptReport, check_metric
from comind.splits.generated_split import ScriptCheckError

ANSWERS = pd.DataFrame(
    {"id": [str(row) for row in range(30)], "y": [str(row * 7 % 30) for row in range(30)]}
)
SAMPLE = ANSWERS.assign(y="0")

Score = Callable[[pd.DataFrame, pd.DataFrame], float]


def _evaluation(
    score: Score, *, strict: bool = True
) -> Callable[[Sequence[bytes], Sequence[bytes]], list[ScriptReport]]:
    """Return a program that joins by id (by default) and scores."""

    def one(answers: bytes, prediction: bytes) -> ScriptReport:
        truth, guess = (pd.read_csv(BytesIO(each)) for each in (answers, prediction))
        if strict and set(truth["id"]) != set(guess["id"]):
            return ScriptReport(score=None, success=False, message="other ids")
        return ScriptReport(score=score(truth, guess), success=True)

    return lambda answers, predictions: list(map(one, answers, predictions))


def _mae(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    both = truth.merge(guess, on="id")
    return float((both["y_x"] - both["y_y"]).abs().mean())


def _mae_by_place(truth: pd.DataFrame, guess: pd.DataFrame) -> float:
    return float((truth["y"] - guess["y"].reindex(truth.index, fill_value=0)).abs().mean())


def test_a_good_metric_passes() -> None:
    """An error metric that joins by id and is minimized passes every check."""
    check_metric(_evaluation(_mae), ANSWERS, SAMPLE, ("y",), maximize=False)


@pytest.mark.parametrize(
    ("score", "strict", "maximize", "check"),
    [
        (_mae, True, True, "direction"),
        (_mae, False, False, "missing rows"),
        (_mae_by_place, True, False, "alignment by id"),
        (lambda truth, guess: 1.0, True, True, "shuffled truth"),
        (lambda truth, guess: -(_mae(truth, guess) ** 2), True, False, "direction"),
    ],
)
def test_a_bad_metric_is_refused_by_name(score: Score, strict: bool, maximize: bool, check: str) -> None:
    """Each kind of wrong metric fails its check."""
    evaluate = _evaluation(score, strict=strict)
    with pytest.raises(ScriptCheckError, match=f"check `{check}`"):
        check_metric(evaluate, ANSWERS, SAMPLE, ("y",), maximize=maximize)


def test_a_metric_that_changes_its_mind_is_refused() -> None:
    """The same files must score the same."""
    calls = iter(range(100))
    evaluate = _evaluation(lambda truth, guess: -_mae(truth, guess) - 1e-3 * next(calls))
    with pytest.raises(ScriptCheckError, match="check `same answer twice`"):
        check_metric(evaluate, ANSWERS, SAMPLE, ("y",), maximize=True)

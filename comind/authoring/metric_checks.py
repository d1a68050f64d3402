"""Check the scores of a generated `evaluate.py` on predictions of known quality (design, promise 2)."""

from collections.abc import Callable, Sequence

import pandas as pd

from comind.domain.value import Value
from comind.splits.generated_split import ScriptCheckError
from comind.splits.shuffling import hash_shuffled


class ScriptReport(Value):
    """The report of `evaluate.py` on one prediction file, as in the paper's appendix I.4."""

    score: float | None
    success: bool
    message: str = ""


_Evaluate = Callable[[Sequence[bytes], Sequence[bytes]], list[ScriptReport]]
"""Run `evaluate.py` on pairs of truth and predictions; return a report for each."""

_SHUFFLES = 3
_TOLERANCE = 1e-9


def check_metric(
    evaluate: _Evaluate,
    truth: pd.DataFrame,
    sample: pd.DataFrame,
    targets: tuple[str, ...],
    *,
    maximize: bool,
) -> None:
    """Check that `evaluate` is repeatable, aligned by id, strict, and ranks good above bad predictions.

    `truth` has the true answers in the shape of a submission (text cells), `sample` is an uninformed
    submission for the same ids, and `maximize` the direction that the model claims.

    Raises:
        ScriptCheckError: a check fails; the message names it.
    """
    shuffles = [_shuffled(truth, targets, seed) for seed in range(_SHUFFLES)]
    reordered = truth.iloc[hash_shuffled(range(len(truth)), 0)]
    tables = [truth, truth, reordered, sample, *shuffles, truth.iloc[1:]]
    written = _csv(truth)
    reports = evaluate([written] * len(tables), [_csv(table) for table in tables])
    perfect, again, moved, guess, *wrong, broken = reports
    best = _score("truth", perfect)
    if abs(_score("same answer twice", again) - best) > _TOLERANCE * max(1.0, abs(best)):
        raise ScriptCheckError("check `same answer twice`: the truth scores differently the second time")
    if abs(_score("alignment by id", moved) - best) > _TOLERANCE * max(1.0, abs(best)):
        raise ScriptCheckError(
            "check `alignment by id`: the truth in another order of rows scores worse"
        )
    if broken.success or broken.score is not None:
        raise ScriptCheckError("check `missing rows`: a submission without one of the ids is accepted")
    sign = 1 if maximize else -1
    uninformed = _score("sample submission", guess)
    if sign * (uninformed - best) > _TOLERANCE:
        raise ScriptCheckError(
            f"check `direction`: the sample submission scores {uninformed:.6g} and the truth "
            f"{best:.6g}, so either the score or `maximize: {str(maximize).lower()}` is wrong"
        )
    for report in wrong:
        value = _score("shuffled truth", report)
        if sign * (value - best) >= 0:
            raise ScriptCheckError(
                f"check `shuffled truth`: it scores {value:.6g}, no worse than the truth ({best:.6g})"
            )


def _score(check: str, report: ScriptReport) -> float:
    if not report.success or report.score is None:
        raise ScriptCheckError(f"check `{check}`: no score; it says: {report.message or 'nothing'}")
    return report.score


def _shuffled(truth: pd.DataFrame, targets: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Return the truth with its target rows permuted."""
    order = hash_shuffled(range(len(truth)), seed)
    moved = truth.copy()
    moved[list(targets)] = truth[list(targets)].iloc[order].to_numpy()
    return moved


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()

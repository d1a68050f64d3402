"""Coded submissions under log loss, as a model that looks for labels might submit them."""

import itertools

import numpy as np
import pandas as pd

from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import METRICS

_ROWS, _CODED = 100, 12


def test_nine_scores_do_not_reveal_a_hundred_labels() -> None:
    """Twelve labels a grading, as five digits revealed, are more than the shown digits have."""
    labels = np.random.default_rng(0).integers(0, 2, _ROWS)
    answers = pd.DataFrame({"id": np.arange(_ROWS).astype(str), "y": labels.astype(str)})
    schema = SubmissionSchema(answers[["id"]], ("id",), ("y",), METRICS["log-loss"])
    scorer = Answers(schema, answers)
    codes = np.array(list(itertools.product((0, 1), repeat=_CODED)))
    odds = 30 * 0.5 ** np.arange(_CODED)
    exact, shown = _read(scorer, codes, odds, exact=True), _read(scorer, codes, odds, exact=False)
    assert (exact == labels).sum() == _ROWS
    assert (shown == labels).sum() < 0.85 * _ROWS


def _read(scorer: Answers, codes: np.ndarray, odds: np.ndarray, *, exact: bool) -> np.ndarray:
    """Return the labels that fit best to the scores of nine submissions."""
    found = np.zeros(_ROWS, dtype=int)
    for first in range(0, _ROWS, _CODED):
        p = np.full(_ROWS, 0.5)
        p[:first] = np.where(found[:first] == 1, 1 - 1e-9, 1e-9)
        count = len(p[first : first + _CODED])
        p[first : first + _CODED] = 1 / (1 + np.exp(odds[:count]))
        score = scorer.score(pd.DataFrame({"y": p})).score
        assert score is not None
        value = score.value.value if exact else score.shown.value
        sets = np.unique(codes[:, :count], axis=0)
        loss = -np.log1p(-p[first : first + _CODED]) + sets * odds[:count]
        rest = np.log(2) * (_ROWS - first - count)
        best = np.abs((loss.sum(axis=1) + rest) / _ROWS - value).argmin()
        found[first : first + count] = sets[best]
    return found

"""Score submissions on true answers that never leave this module: a public share, and the rest.

A file of answers may say in a column `Usage` which rows are `Public` and which `Private`. Without it,
three tenths of the rows are public: those whose key hashes lowest, with the competition's id, so that
the same rows are public in every world. Where a metric cannot be told on the public rows alone, there is
no public score.
"""

import hashlib
import math
from pathlib import Path

import numpy as np
import pandas as pd

from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import CompetitionError, SubmissionError
from comind.evaluation.csv_tables import read_table
from comind.evaluation.grading import SubmissionSchema
from comind.evaluation.metrics import Metric, find_metric
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["PUBLIC_SHARE", "HiddenAnswers", "Marks"]

PUBLIC_SHARE = 0.3


class Marks(Value):
    """What a submission scores; `message` says what is wrong with one that is not valid."""

    valid: bool
    message: str = ""
    public: float | None = None
    private: float | None = None
    score: float | None = None
    """On all rows."""


class HiddenAnswers:
    """The true answers of a competition; None of what it has is given away but scores."""

    def __init__(self, competition: Competition) -> None:
        """Read the answers.

        Raises:
            CompetitionError: there are none, or they are broken.
        """
        self._metric = metric = find_metric(competition)
        where = competition.answers
        if not where.is_file():
            raise CompetitionError(f"{competition.folder}: has no private/answers.csv")
        answers = read_table(where, CompetitionError)
        plan = SplitPlan(competition, seed=0)
        for column in (*plan.ids, *plan.targets):
            if column not in answers.columns:
                raise CompetitionError(f"{where}: has no column {column!r}")
        self._form = SubmissionSchema(answers, plan.ids, plan.targets, metric)
        try:
            self._truth = pd.DataFrame(
                {name: metric.parse_truth(answers[name]) for name in plan.targets}
            ).reset_index(drop=True)
        except ValueError as error:
            raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None
        self._public, self._private = _shares(competition.id, answers, self._form.keys)

    @property
    def metric(self) -> Metric:
        """What is computed."""
        return self._metric

    def mark(self, submission: Path) -> Marks:
        """Return what the submission in a file scores."""
        try:
            prediction = self._form.read(submission)
            score = self._metric.score(self._truth, prediction)
        except (SubmissionError, ValueError) as error:
            return Marks(valid=False, message=str(error).removeprefix(f"{submission}: "))
        if not math.isfinite(score):
            return Marks(valid=False, message=f"its {self._metric.name} is not a finite number")
        return Marks(
            valid=True,
            score=score,
            public=self._on(self._public, prediction),
            private=self._on(self._private, prediction),
        )

    def _on(self, rows: np.ndarray, prediction: pd.DataFrame) -> float | None:
        """Return the score on some of the rows, shape (chosen,); None where the metric cannot tell."""
        if not len(rows):
            return None
        chosen = (table.iloc[rows].reset_index(drop=True) for table in (self._truth, prediction))
        try:
            score = self._metric.score(*chosen)
        except ValueError:
            return None
        return score if math.isfinite(score) else None


def _shares(competition: str, answers: pd.DataFrame, keys: pd.Index) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the public rows and of the private ones."""
    if "Usage" in answers.columns:
        usage = answers["Usage"].str.strip().str.lower()
        return np.flatnonzero(usage == "public"), np.flatnonzero(usage == "private")
    order = np.argsort([_lot(competition, key) for key in keys], kind="stable")
    count = min(max(1, round(PUBLIC_SHARE * len(order))), len(order) - 1)
    return np.sort(order[:count]), np.sort(order[count:])


def _lot(competition: str, key: object) -> int:
    return int.from_bytes(hashlib.sha256(f"{competition}\n{key}".encode()).digest()[:8])

"""Score submissions on the public and the private rows of the answers, which never leave this module.

The column `Usage` of the answers assigns rows to `Public` or `Private`. Without it, 30 % of the rows are
public: those with the lowest hash of competition id and key, so that the split is the same on every
server. A metric that is undefined on the public rows alone has no public score.
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
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["AnswerKey", "GradingResult"]

_PUBLIC_SHARE = 0.3


class GradingResult(Value):
    """Scores of a submission; `message` gives the reason if it is not valid."""

    valid: bool
    message: str = ""
    public: float | None = None
    private: float | None = None
    score: float | None = None
    """On all rows."""


class AnswerKey:
    """The true answers of a competition; nothing but scores is exposed."""

    def __init__(self, competition: Competition) -> None:
        """Read the answers.

        Raises:
            CompetitionError: they are missing or invalid.
        """
        where = competition.answers
        if not where.is_file():
            raise CompetitionError(f"{competition.folder}: has no private/answers.csv")
        answers = read_table(where, CompetitionError)
        plan = SplitPlan(competition, seed=0)
        self._metric = metric = plan.scored_by
        for column in (*plan.ids, *plan.targets):
            if column not in answers.columns:
                raise CompetitionError(f"{where}: has no column {column!r}")
        self._form = SubmissionSchema(answers, plan.ids, plan.targets, metric, plan.spellings)
        try:
            self._truth = self._form.parse_truth(answers)
        except CompetitionError as error:
            raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None
        self._public, self._private = _split_rows(competition.id, answers, self._form.keys)

    def grade(self, submission: Path) -> GradingResult:
        """Validate and score a submission file."""
        try:
            prediction = self._form.read(submission)
            score = self._metric.score(self._truth, prediction)
        except (SubmissionError, ValueError) as error:
            return GradingResult(valid=False, message=str(error).removeprefix(f"{submission}: "))
        if not math.isfinite(score):
            return GradingResult(valid=False, message=f"its {self._metric.name} is not a finite number")
        return GradingResult(
            valid=True,
            score=score,
            public=self._score_rows(self._public, prediction),
            private=self._score_rows(self._private, prediction),
        )

    def _score_rows(self, rows: np.ndarray, prediction: pd.DataFrame) -> float | None:
        """Return the score on the rows at these positions, shape (n,); None if it is undefined there."""
        if not len(rows):
            return None
        chosen = (table.iloc[rows].reset_index(drop=True) for table in (self._truth, prediction))
        try:
            score = self._metric.score(*chosen)
        except ValueError:
            return None
        return score if math.isfinite(score) else None


def _split_rows(
    competition: str, answers: pd.DataFrame, keys: pd.Index
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the public and of the private rows, shapes (n,) and (m,)."""
    if "Usage" in answers.columns:
        usage = answers["Usage"].str.strip().str.lower()
        return np.flatnonzero(usage == "public"), np.flatnonzero(usage == "private")
    order = np.argsort([_hash_key(competition, key) for key in keys], kind="stable")
    count = min(max(1, round(_PUBLIC_SHARE * len(order))), len(order) - 1)
    return np.sort(order[:count]), np.sort(order[count:])


def _hash_key(competition: str, key: object) -> int:
    return int.from_bytes(hashlib.sha256(f"{competition}\n{key}".encode()).digest()[:8])

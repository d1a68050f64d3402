"""Score submissions on the public and the private rows of the answers, which never leave this module.

The column `Usage` of the answers assigns rows to `Public` or `Private`. Without it, 30 % of the rows are
public: those with the lowest hash of competition id and key, so that the split is the same on every
server. A metric that is undefined on the public rows alone has no public score.
"""

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import SubmissionError
from comind.grading.true_answers import Answers

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
        self._answers = Answers.of_test(competition)
        table, keys = self._answers.table, self._answers.schema.keys
        self._public, self._private = _split_rows(competition.id, table, keys)

    def grade(self, submission: Path) -> GradingResult:
        """Validate and score a submission file."""
        try:
            prediction = self._answers.schema.read(submission)
            score = self._answers.value(prediction)
        except (SubmissionError, ValueError) as error:
            return GradingResult(valid=False, message=str(error).removeprefix(f"{submission}: "))
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
        try:
            return self._answers.value(prediction, rows)
        except SubmissionError:
            return None


def _split_rows(competition: str, truth: pd.DataFrame, keys: pd.Index) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the public and of the private rows, shapes (n,) and (m,)."""
    if "Usage" in truth.columns:
        usage = truth["Usage"].str.strip().str.lower()
        return np.flatnonzero(usage == "public"), np.flatnonzero(usage == "private")
    order = np.argsort([_hash_key(competition, key) for key in keys], kind="stable")
    count = min(max(1, round(_PUBLIC_SHARE * len(order))), len(order) - 1)
    return np.sort(order[:count]), np.sort(order[count:])


def _hash_key(competition: str, key: object) -> int:
    return int.from_bytes(hashlib.sha256(f"{competition}\n{key}".encode()).digest()[:8])

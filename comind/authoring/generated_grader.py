"""Score submissions with a generated `evaluate.py` that is sealed with the split.

Every grading runs the program in a fresh sandbox, with the labels and the files of this request alone.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from comind.authoring.script_runs import EVALUATE, ScriptEvaluation
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.errors import CompetitionError, GraderError, SubmissionError
from comind.grading.grader_port import (
    NO_FOLDS,
    BlendReport,
    CodedReport,
    ErrorReport,
    Grader,
    GradeReport,
)
from comind.grading.submission_schema import SubmissionSchema
from comind.metrics.bootstrap import cluster_members
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_table

__all__ = ["GeneratedGrader"]

_HALVES = 20
_LEAST_HALVES = 5
_Z = 1.959964  # of the standard normal, two-sided 95 %


class GeneratedGrader:
    """A `Grader` for splits whose metric is a program.

    The program scores no single rows, so the standard error is estimated from random halves of the rows,
    or of their groups, drawn without replacement (half-sample variance, McCarthy 1969).
    """

    def __init__(self, folder: SplitFolder, sandbox: Sandbox) -> None:
        """Read the split.

        Raises:
            CompetitionError: the split is incomplete.
        """
        self._split = folder.read()
        program = (folder.programs / EVALUATE).read_text(encoding="utf-8")
        self._evaluate = ScriptEvaluation(sandbox, program, folder.public)
        self._answers = read_table(folder.answers, CompetitionError)
        split = self._split
        columns = split.id_columns, split.target_columns
        self._form = SubmissionSchema(self._answers, *columns, None, kind=split.answer_kind)
        self._test = SubmissionSchema.for_test(folder)
        random = np.random.default_rng(0)
        rows = np.arange(len(self._answers))
        units = cluster_members(folder.read_groups()) or [rows[at : at + 1] for at in rows]
        halves = (random.permutation(len(units))[: len(units) // 2] for _ in range(_HALVES))
        self._draws = [rows, *(np.sort(np.concatenate([units[at] for at in half])) for half in halves)]

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Score a pair of submissions from one step."""
        try:
            prediction = self._read(validation)
            form = self._test.check(test)
            if not form.valid:
                return GradeReport(valid=False, message=f"{test.name}: {form.message}")
            values = self._scores(prediction)
            standard_error = _standard_error(values[1:] - values[0])
        except SubmissionError as error:
            return GradeReport(valid=False, message=f"{validation.name}: {error}")
        value = float(values[0])
        score = ValidationScore(
            metric=self._split.metric,
            value=MetricValue(value=value, maximize=self._split.maximize),
            interval=self._interval(value, standard_error),
            rows=len(self._answers),
        )
        return GradeReport(valid=True, score=score)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return no score: the program has answers for validation alone."""
        del predictions
        return GradeReport(valid=False, message="this evaluator has answers for validation.csv alone")

    def check(self, test: Path) -> GradeReport:
        """Check the format of a test submission."""
        return self._test.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return the paired difference of two validation submissions, on the same halves.

        Raises:
            SubmissionError: the program has no scores for one of them.
        """
        sign = 1 if self._split.maximize else -1
        scores = [self._scores(self._read(path)) for path in (one, other)]
        differences = sign * (scores[0] - scores[1])
        standard_error = _standard_error(differences[1:] - differences[0])
        value = float(differences[0])
        return Paired(
            difference=value,
            standard_error=standard_error,
            interval=Interval(low=value - _Z * standard_error, high=value + _Z * standard_error),
        )

    def fold(self, number: int) -> Grader:
        """Raise an error: the program has answers for validation alone.

        Raises:
            GraderError: always.
        """
        raise GraderError(f"fold {number}: the evaluator was written for the first validation rows")

    def blend(
        self,
        candidates: Sequence[Path],  # noqa: ARG002 - required by Grader
        folds: Mapping[int, Sequence[Path]] = NO_FOLDS,  # noqa: ARG002
    ) -> BlendReport:
        """Return no blend: it is unknown which averages suit the metric."""
        return BlendReport(reason="the metric was written for this competition")

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:  # noqa: ARG002 - required by Grader
        """Return no reasons: the program scores no single rows."""
        return CodedReport()

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:  # noqa: ARG002 - required by Grader
        """Return no correlations: the program scores no single rows."""
        return ErrorReport(reason="the metric was written for this competition")

    def _interval(self, value: float, standard_error: float) -> Interval:
        """Return the 95 % normal interval, clipped at the score of the truth."""
        margin = _Z * standard_error
        if self._split.maximize:
            return Interval(low=value - margin, high=max(value, min(value + margin, self._perfect)))
        return Interval(low=min(value, max(value - margin, self._perfect)), high=value + margin)

    @cached_property
    def _perfect(self) -> float:
        """The score of the truth."""
        [report] = self._evaluate(self._files(self._answers)[:1], self._files(self._answers)[:1])
        if report.score is None:
            raise GraderError(f"the evaluator has no score for the truth: {report.message}")
        return report.score

    def _read(self, path: Path) -> pd.DataFrame:
        """Return a submission in the order of the answers, ids included."""
        ids = self._answers[list(self._split.id_columns)]
        return pd.concat([ids, self._form.read(path)], axis="columns")

    def _scores(self, prediction: pd.DataFrame) -> np.ndarray:
        """Return the scores on all rows and each half, shape (1 + halves,); NaN where there is none.

        Raises:
            SubmissionError: there is no score on all rows.
        """
        whole, *halves = self._evaluate(self._files(self._answers), self._files(prediction))
        if whole.score is None or not whole.success:
            raise SubmissionError(whole.message or "the evaluator gives no score and no reason")
        return np.array(
            [whole.score, *(math.nan if each.score is None else each.score for each in halves)]
        )

    def _files(self, table: pd.DataFrame) -> Sequence[bytes]:
        return [
            table.iloc[draw].to_csv(index=False, lineterminator="\n").encode() for draw in self._draws
        ]


def _standard_error(deviations: np.ndarray) -> float:
    """Return the standard error from the deviations of half-sample scores.

    Raises:
        SubmissionError: too few halves have a score.
    """
    known = deviations[np.isfinite(deviations)]
    if len(known) < _LEAST_HALVES:
        raise SubmissionError("the evaluator gives no scores for halves of the rows")
    return float(np.sqrt(np.mean(known**2)))

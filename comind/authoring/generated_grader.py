"""Score submissions with a generated `evaluate.py` that is sealed with the split.

Every grading runs the program in a fresh sandbox, with the labels and the files of this request alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from comind.authoring.script_runs import EVALUATE, ScriptEvaluation
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError, GraderError, SubmissionError
from comind.grading.blending.error_correlation import correlations_on_scale
from comind.grading.grader_port import (
    NO_FOLDS,
    BlendReport,
    CodedReport,
    ErrorReport,
    Grader,
    GradeReport,
)
from comind.grading.out_of_fold import OutOfFoldScorer
from comind.grading.submission_schema import SubmissionSchema
from comind.metrics.bootstrap import cluster_members
from comind.metrics.parsing import number_parser, parse_columns
from comind.session.session_ports import Sandbox
from comind.splits.split_folder import Split, SplitFolder
from comind.tables.csv_tables import read_table

__all__ = ["GeneratedGrader"]

_HALVES = 20
_LEAST_HALVES = 5
_NUMBERS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY, AnswerKind.CLASS_PROBABILITIES)
_Z = 1.959964  # of the standard normal, two-sided 95 %


@dataclass(frozen=True)
class ProgramScores:
    """The scores of a program on a set of rows.

    The program scores no single rows, so the standard error is estimated from random halves of the rows,
    or of their groups, drawn without replacement (half-sample variance, McCarthy 1969).
    """

    split: Split
    evaluate: ScriptEvaluation
    answers: pd.DataFrame
    """The true values with the ids, text cells."""
    groups: np.ndarray | None
    """Group number of each row, shape (rows,)."""

    @cached_property
    def draws(self) -> list[np.ndarray]:
        """The positions of all rows, and those of each half."""
        random = np.random.default_rng(0)
        rows = np.arange(len(self.answers))
        units = cluster_members(self.groups) or [rows[at : at + 1] for at in rows]
        halves = (random.permutation(len(units))[: len(units) // 2] for _ in range(_HALVES))
        return [rows, *(np.sort(np.concatenate([units[at] for at in half])) for half in halves)]

    def grade(self, prediction: pd.DataFrame) -> GradeReport:
        """Score predictions with the ids, rows as in the answers.

        Raises:
            SubmissionError: the program has no score for them.
        """
        values = self._scores(self._with_ids(prediction))
        value, margin = float(values[0]), _Z * _standard_error(values[1:] - values[0])
        score = ValidationScore(
            metric=self.split.metric,
            value=MetricValue(value=value, maximize=self.split.maximize),
            interval=self._interval(value, margin),
            rows=len(self.answers),
        )
        return GradeReport(valid=True, score=score)

    def compare(self, one: pd.DataFrame, other: pd.DataFrame) -> Paired:
        """Return the paired difference of two predictions, on the same halves.

        Raises:
            SubmissionError: the program has no scores for one of them.
        """
        sign = 1 if self.split.maximize else -1
        scores = [self._scores(self._with_ids(table)) for table in (one, other)]
        differences = sign * (scores[0] - scores[1])
        standard_error = _standard_error(differences[1:] - differences[0])
        value = float(differences[0])
        return Paired(
            difference=value,
            standard_error=standard_error,
            interval=Interval(low=value - _Z * standard_error, high=value + _Z * standard_error),
        )

    def _interval(self, value: float, margin: float) -> Interval:
        """Return the 95 % normal interval, clipped at the score of the truth."""
        if self.split.maximize:
            return Interval(low=value - margin, high=max(value, min(value + margin, self._perfect)))
        return Interval(low=min(value, max(value - margin, self._perfect)), high=value + margin)

    @cached_property
    def _perfect(self) -> float:
        """The score of the truth."""
        truth = self._files(self.answers, 1)
        [report] = self.evaluate(truth, truth)
        if report.score is None:
            raise GraderError(f"the evaluator has no score for the truth: {report.message}")
        return report.score

    def _with_ids(self, prediction: pd.DataFrame) -> pd.DataFrame:
        ids = self.answers[list(self.split.id_columns)]
        return pd.concat([ids, prediction], axis="columns")

    def _scores(self, prediction: pd.DataFrame) -> np.ndarray:
        """Return the scores on all rows and each half, shape (1 + halves,); NaN where there is none.

        Raises:
            SubmissionError: there is no score on all rows.
        """
        whole, *halves = self.evaluate(self._files(self.answers), self._files(prediction))
        if whole.score is None or not whole.success:
            raise SubmissionError(whole.message or "the evaluator gives no score and no reason")
        return np.array(
            [whole.score, *(math.nan if each.score is None else each.score for each in halves)]
        )

    def _files(self, table: pd.DataFrame, most: int | None = None) -> Sequence[bytes]:
        return [
            table.iloc[draw].to_csv(index=False, lineterminator="\n").encode()
            for draw in self.draws[:most]
        ]


class GeneratedGrader:
    """A `Grader` for splits whose metric is a program."""

    def __init__(self, folder: SplitFolder, sandbox: Sandbox) -> None:
        """Read the split.

        Raises:
            CompetitionError: the split is incomplete.
        """
        self._folder, self._split = folder, folder.read()
        program = (folder.programs / EVALUATE).read_text(encoding="utf-8")
        self._evaluate = ScriptEvaluation(sandbox, program, folder.public)
        answers = read_table(folder.answers, CompetitionError)
        self._validation = ProgramScores(self._split, self._evaluate, answers, folder.read_groups())
        self._form = self._schema(answers)
        self._test = SubmissionSchema.for_test(folder)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Score a pair of submissions from one step."""
        try:
            prediction = self._form.read(validation)
            form = self._test.check(test)
            if not form.valid:
                return GradeReport(valid=False, message=f"{test.name}: {form.message}")
            return self._validation.grade(prediction)
        except SubmissionError as error:
            return GradeReport(valid=False, message=f"{validation.name}: {error}")

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Score predictions for rows of train.csv, if the program scores other rows."""
        try:
            table, truth, groups = self._train.read(predictions)
            prediction = self._schema(table).parse(table)
        except (SubmissionError, CompetitionError) as error:
            return GradeReport(valid=False, message=str(error).removeprefix(f"{predictions}: "))
        ids = table[list(self._split.id_columns)]
        answers = pd.concat([ids, truth.reset_index(drop=True)], axis="columns")
        try:
            return ProgramScores(self._split, self._evaluate, answers, groups).grade(prediction)
        except (SubmissionError, GraderError) as error:
            reason = f"the evaluator does not score these rows of train.csv: {error}"
            return GradeReport(valid=False, message=reason)

    @cached_property
    def _train(self) -> OutOfFoldScorer:
        """The labels of train.csv; loaded on first use."""
        return OutOfFoldScorer(self._folder, None)

    def check(self, test: Path) -> GradeReport:
        """Check the format of a test submission."""
        return self._test.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return the paired difference of two validation submissions.

        Raises:
            SubmissionError: one is invalid, or the program has no scores for it.
        """
        return self._validation.compare(self._form.read(one), self._form.read(other))

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
        """Return no blend: a selection needs hundreds of scores, each a run of the program."""
        return BlendReport(reason="the metric was written for this competition")

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:  # noqa: ARG002 - required by Grader
        """Return no reasons: the program scores no single rows."""
        return CodedReport()

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of errors of labels or numbers; the program is not run."""
        kind, targets = self._split.answer_kind, list(self._split.target_columns)
        if kind is not AnswerKind.LABEL and kind not in _NUMBERS:
            return ErrorReport(reason=f"predictions of type {kind} have no errors to correlate")
        try:
            tables = [self._validation.answers[targets], *map(self._form.read, submissions)]
            if kind is not AnswerKind.LABEL:
                parse = number_parser()
                tables = [parse_columns(parse, each, targets, SubmissionError) for each in tables]
        except SubmissionError as error:
            return ErrorReport(reason=str(error))
        mean = "vote" if kind is AnswerKind.LABEL else "mean"
        return correlations_on_scale(mean, tables[0], tables[1:])

    def _schema(self, rows: pd.DataFrame) -> SubmissionSchema:
        """Return the schema of predictions for these rows."""
        split = self._split
        columns = split.id_columns, split.target_columns
        return SubmissionSchema(rows, *columns, None, kind=split.answer_kind)


def _standard_error(deviations: np.ndarray) -> float:
    """Return the standard error from the deviations of half-sample scores.

    Raises:
        SubmissionError: too few halves have a score.
    """
    known = deviations[np.isfinite(deviations)]
    if len(known) < _LEAST_HALVES:
        raise SubmissionError("the evaluator gives no scores for halves of the rows")
    return float(np.sqrt(np.mean(known**2)))

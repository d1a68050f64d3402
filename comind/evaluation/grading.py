"""Compare a submission with answers: right form first, then the score."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from comind.domain.metric import MetricValue, Paired, ValidationScore
from comind.errors import ComindError, CompetitionError, SubmissionError
from comind.evaluation.blending import correlated, judge
from comind.evaluation.bootstrap import Bootstrap
from comind.evaluation.csv_tables import check_row_keys, read_table, reject_columns, row_keys
from comind.evaluation.grader_port import BlendReport, ErrorReport, GradeReport
from comind.evaluation.metrics import Metric
from comind.evaluation.metrics.base import Parse
from comind.evaluation.metrics.parsing import parse_non_empty
from comind.evaluation.parts import Breakdown

__all__ = [
    "SubmissionSchema",
    "SubmissionScorer",
    "parsed",
    "select_blend",
]


class SubmissionSchema:
    """What every submission for a set of rows must look like."""

    def __init__(
        self, rows: pd.DataFrame, ids: tuple[str, ...], targets: tuple[str, ...], metric: Metric | None
    ) -> None:
        """Take `rows`, a table of text that has the id columns of every row asked for.

        Without a metric, a cell may be any text but an empty one.
        """
        self.metric = metric
        self.ids = list(ids)
        self.targets = list(targets)
        self.keys = row_keys(rows, self.ids)

    def read(self, path: Path) -> pd.DataFrame:
        """Return the predictions in a file, parsed, in the order of the rows asked for.

        Raises:
            SubmissionError: the file is no submission for these rows.
        """
        table = read_table(path, SubmissionError)
        expected = [*self.ids, *self.targets]
        if set(table.columns) != set(expected):
            reject_columns(list(table.columns), expected)
        keys = row_keys(table, self.ids)
        check_row_keys(keys, self.keys, " and ".join(self.ids))
        order = keys.get_indexer(self.keys)
        return self.parse(table.iloc[order].reset_index(drop=True))

    def parse(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the target columns of a submission, as the metric works on them.

        Raises:
            SubmissionError: a value is missing or not of the metric's kind.
        """
        parse = parse_non_empty if self.metric is None else self.metric.parse
        return parsed(parse, table, self.targets, SubmissionError)

    def check(self, path: Path) -> GradeReport:
        """Return whether the file in `path` has this form; it is not scored."""
        try:
            self.read(path)
        except SubmissionError as error:
            return _invalid(path, error)
        return GradeReport(valid=True)


class SubmissionScorer:
    """The true values for a set of rows."""

    def __init__(
        self,
        form: SubmissionSchema,
        answers: pd.DataFrame,
        groups: np.ndarray | None = None,
        breakdown: Breakdown | None = None,
    ) -> None:
        """Take `answers`, a table of text in the shape of a submission, rows as in `form`.

        `groups` numbers the rows that belong together, shape (rows,). Without a `breakdown` no parts
        of a score are told.

        Raises:
            CompetitionError: a value is not of the metric's kind.
        """
        if form.metric is None:
            raise TypeError("a form without a metric has no answers to compare with")
        self.form = form
        self.metric = form.metric
        truth = parsed(form.metric.parse_truth, answers, form.targets, CompetitionError)
        self.truth = truth.reset_index(drop=True)
        self.groups = groups
        self._resampling = Bootstrap(len(self.truth), groups)
        self._breakdown = breakdown

    def grade(self, path: Path) -> GradeReport:
        """Return the verdict on the submission in a file; what is wrong with it is a report."""
        metric = self.metric
        try:
            prediction = self.form.read(path)
            value = metric.score(self.truth, prediction)
        except (SubmissionError, ValueError) as error:
            return _invalid(path, error)
        if not math.isfinite(value):
            return GradeReport(valid=False, message=f"its {metric.name} is not a finite number")
        score = ValidationScore(
            metric=metric.name,
            value=MetricValue(value=value, maximize=metric.maximize),
            interval=self._resampling.interval(metric, self.truth, prediction, value),
            rows=len(self.truth),
        )
        divided = self._breakdown.of(metric, self.truth, prediction) if self._breakdown else ()
        return GradeReport(valid=True, score=score, parts=divided)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better the first submission is than the second, on the same rows.

        Raises:
            SubmissionError: one of them is not valid.
        """
        tables = self.form.read(one), self.form.read(other)
        return self._resampling.compare(self.metric, self.truth, *tables)

    def errors(self, paths: Sequence[Path]) -> ErrorReport:
        """Return how far the errors of submissions go together.

        Raises:
            SubmissionError: one of them is not valid.
        """
        return correlated(self.metric, self.truth, (self.form.read(path) for path in paths))


def select_blend(parts: Sequence[tuple[SubmissionScorer, Sequence[Path]]]) -> BlendReport:
    """Return the best average of candidates, which are given the best first.

    Each part has the answers to some rows, and every candidate's submission for them, in the same order;
    it is selected and judged over all rows together.

    Raises:
        SubmissionError: a submission is not valid.
    """
    sheets = [sheet for sheet, _ in parts]
    first = sheets[0]
    truth = pd.concat([sheet.truth for sheet in sheets], ignore_index=True)
    predictions = (
        pd.concat(
            [sheet.form.read(path) for sheet, path in zip(sheets, paths, strict=True)]
        ).reset_index(drop=True)
        for paths in zip(*(paths for _, paths in parts), strict=True)
    )
    report = judge(first.metric, truth, predictions, _joined([sheet.groups for sheet in sheets]))
    columns = {"ids": tuple(first.form.ids), "targets": tuple(first.form.targets)}
    return report.model_copy(update=columns)


def _joined(groups: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Return the groups of the rows of several parts, which share none."""
    if any(each is None for each in groups):
        return None
    numbered = [(part, name) for part, names in enumerate(groups) for name in np.asarray(names)]
    return np.asarray(pd.factorize(pd.MultiIndex.from_tuples(numbered))[0])


def _invalid(path: Path, error: Exception) -> GradeReport:
    """Return what is wrong, without the place where we keep the file: its writer knows another."""
    return GradeReport(valid=False, message=str(error).removeprefix(f"{path}: "))


def parsed(
    parse: Parse, table: pd.DataFrame, columns: Iterable[str], failure: type[ComindError]
) -> pd.DataFrame:
    """Return some columns of a table of text as a metric works on them.

    Raises:
        ComindError: of the kind `failure`; a cell is not of the metric's kind.
    """
    found = {}
    for name in columns:
        try:
            found[name] = parse(table[name])
        except ValueError as error:
            raise failure(f"column {name!r}: {error}") from None
    return pd.DataFrame(found)

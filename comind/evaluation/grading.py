"""Compare a submission with answers: right form first, then the score."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from comind.domain.metric import MetricValue, Paired, ValidationScore
from comind.errors import ComindError, CompetitionError, SubmissionError
from comind.evaluation.blending.cross_fit import fit_blend
from comind.evaluation.blending.error_correlation import error_correlations
from comind.evaluation.interval import Resampling
from comind.evaluation.metrics import Metric
from comind.evaluation.metrics.base import Parse
from comind.evaluation.metrics.parsing import parse_something
from comind.evaluation.report import BlendReport, ErrorReport, GradeReport
from comind.evaluation.score_breakdown import Breakdown
from comind.evaluation.tables import read_table

__all__ = [
    "AnswerSheet",
    "SubmissionForm",
    "blend_over",
    "check_keys",
    "keys_of",
    "parsed",
    "refuse_columns",
]


class SubmissionForm:
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
        self.keys = keys_of(rows, self.ids)

    def read(self, path: Path) -> pd.DataFrame:
        """Return the predictions in a file, parsed, in the order of the rows asked for.

        Raises:
            SubmissionError: the file is no submission for these rows.
        """
        table = read_table(path, SubmissionError)
        expected = [*self.ids, *self.targets]
        if set(table.columns) != set(expected):
            refuse_columns(list(table.columns), expected)
        keys = keys_of(table, self.ids)
        check_keys(keys, self.keys, " and ".join(self.ids))
        order = keys.get_indexer(self.keys)
        return self.parse(table.iloc[order].reset_index(drop=True))

    def parse(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the target columns of a submission, as the metric works on them.

        Raises:
            SubmissionError: a value is missing or not of the metric's kind.
        """
        parse = parse_something if self.metric is None else self.metric.parse
        return parsed(parse, table, self.targets, SubmissionError)

    def check(self, path: Path) -> GradeReport:
        """Return whether the file in `path` has this form; it is not scored."""
        try:
            self.read(path)
        except SubmissionError as error:
            return _invalid(path, error)
        return GradeReport(valid=True)


class AnswerSheet:
    """The true values for a set of rows."""

    def __init__(
        self,
        form: SubmissionForm,
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
        self._resampling = Resampling(len(self.truth), groups)
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
        return error_correlations(self.metric, self.truth, (self.form.read(path) for path in paths))


def blend_over(parts: Sequence[tuple[AnswerSheet, Sequence[Path]]]) -> BlendReport:
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
    report = fit_blend(first.metric, truth, predictions, _joined([sheet.groups for sheet in sheets]))
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


def keys_of(table: pd.DataFrame, ids: list[str]) -> pd.Index:
    """Return one key a row; `7`, `7.0` and ` 7` are the same key."""
    parts = [table[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True) for name in ids]
    if len(parts) == 1:
        return pd.Index(parts[0])
    return pd.Index(list(zip(*parts, strict=True)), tupleize_cols=False)


def refuse_columns(found: list[str], expected: list[str]) -> NoReturn:
    """Say which column is missing, or which is there without being asked for.

    Raises:
        SubmissionError: always.
    """
    wanted = f"expected {', '.join(expected[:30])}"
    for name in expected:
        if name not in found:
            raise SubmissionError(f"the column {name!r} is missing; {wanted}")
    surplus = next(name for name in found if name not in expected)
    raise SubmissionError(f"the column {surplus!r} is not asked for; {wanted}")


def check_keys(found: pd.Index, expected: pd.Index, label: str) -> None:
    """Make sure that each expected key is there once, and no other; `label` names the columns.

    Raises:
        SubmissionError: one is missing, surplus or there twice.
    """
    if found.has_duplicates:
        raise SubmissionError(f"the id {found[found.duplicated()][0]!r} ({label}) appears twice")
    missing = expected.difference(found, sort=False)
    if len(missing):
        raise SubmissionError(
            f"{len(missing)} of {len(expected)} ids ({label}) are missing, for instance {missing[0]!r}"
        )
    surplus = found.difference(expected, sort=False)
    if len(surplus):
        raise SubmissionError(
            f"{len(surplus)} ids ({label}) are not asked for, for instance {surplus[0]!r}"
        )

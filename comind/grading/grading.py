"""Validate submissions and score them against known answers."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from comind.competitions.label_spelling import Spelling, label_spellings
from comind.competitions.submission_table import ExpectedSize, read_submission
from comind.competitions.table_form import submission_form
from comind.domain.metric import MetricValue, Paired, ValidationScore
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError, SubmissionError
from comind.grading.blending.cross_fit import fit_blend
from comind.grading.blending.error_correlation import error_correlations
from comind.grading.grader_port import BlendReport, ErrorReport, GradeReport, ScoreBreakdown
from comind.metrics import Metric
from comind.metrics.bootstrap import Bootstrap
from comind.metrics.parsing import parse_columns, parse_non_empty
from comind.splits.split_folder import Split, SplitFolder
from comind.tables.csv_tables import read_header, read_table, row_keys

_MOST_SURPLUS = 4  # times the expected rows; a file with more is refused before its ids are compared


class SubmissionSchema:
    """Columns, row keys and value type of valid submissions for a set of rows."""

    def __init__(
        self,
        rows: pd.DataFrame,
        ids: Sequence[str],
        targets: Sequence[str],
        metric: Metric | None,
        spellings: Mapping[str, Spelling] | None = None,
        kind: AnswerKind | None = None,
    ) -> None:
        """Create a schema.

        Args:
            rows: a table of text with the id columns of all rows to predict.
            ids: the id columns.
            targets: the columns to predict.
            metric: parses the cells; without one, any non-empty text is valid.
            spellings: classes by target column; their other spellings are accepted.
            kind: of the cells, without a metric.
        """
        self.metric = metric
        self._spellings = spellings or {}
        self.ids = list(ids)
        self.targets = list(targets)
        self.keys = row_keys(rows, self.ids)
        self.form = submission_form(self.keys, self.ids, self.targets, metric)
        kind = metric.kind if metric is not None else kind
        self._size = ExpectedSize.of(self.keys, self.targets, kind)

    @classmethod
    def for_test(cls, folder: SplitFolder) -> Self:
        """Return the schema of submissions for the test rows of a split.

        Raises:
            CompetitionError: a file of the split is missing or invalid.
        """
        split = folder.read()
        metric = folder.read_metric()
        rows = read_table(folder.public / "test.csv", CompetitionError)
        spellings = spellings_of(folder, split, metric)
        columns = split.id_columns, split.target_columns
        return cls(rows, *columns, metric, spellings, split.answer_kind)

    def read(self, path: Path) -> pd.DataFrame:
        """Read, validate and parse a submission; rows are returned in the order of the schema.

        Raises:
            SubmissionError: columns, row keys or values are invalid.
        """
        table = read_submission(path, self.ids, self.targets, self.metric, size=self._size)
        rows = len(self.keys)
        if len(table) > _MOST_SURPLUS * max(1, rows):
            raise SubmissionError(f"has {len(table)} rows, and {rows} are expected")
        if (fault := self.form.first_fault(table, cells=False)) is not None:
            raise SubmissionError(fault.line, hint=fault.hint)
        order = row_keys(table, self.ids).get_indexer(self.keys)
        return self.parse(table.iloc[order].reset_index(drop=True))

    def parse(self, table: pd.DataFrame) -> pd.DataFrame:
        """Parse the target columns of a submission.

        Raises:
            SubmissionError: a value is missing or of the wrong type.
        """
        parse = parse_non_empty if self.metric is None else self.metric.parse
        return parse_columns(parse, self._respell(table), self.targets, SubmissionError)

    def parse_truth(self, answers: pd.DataFrame) -> pd.DataFrame:
        """Parse the true values of a table of text, with labels spelled as in train.csv.

        Raises:
            CompetitionError: a value is of the wrong type.
        """
        assert self.metric is not None, "a schema without a metric has no true values"
        spelled = {
            name: parse_columns(each.match, answers, [name], CompetitionError)[name].pipe(
                each.score_values
            )
            for name, each in self._spellings.items()
        }
        answers = answers.assign(**spelled)
        truth = parse_columns(self.metric.parse_truth, answers, self.targets, CompetitionError)
        context = {name: answers[name] for name in self.metric.context}
        return truth.assign(**context).reset_index(drop=True)

    def _respell(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a submission with its labels spelled as in train.csv.

        Raises:
            SubmissionError: a label is missing, or no label of a column is a class.
        """
        found = {}
        for name, spelling in self._spellings.items():
            if not spelling.predicted:
                continue
            try:
                labels = spelling.match(table[name])
                spelling.check(labels)
            except ValueError as error:
                raise SubmissionError(f"column {name!r}: {error}") from None
            found[name] = spelling.score_values(labels)
        return table.assign(**found)

    def check(self, path: Path) -> GradeReport:
        """Validate a submission without scoring it."""
        try:
            self.read(path)
        except SubmissionError as error:
            return _invalid(path, error)
        return GradeReport(valid=True)


def finite_score(metric: Metric, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return the metric's value over all rows of parsed tables.

    Raises:
        SubmissionError: it is undefined, or not a finite number.
    """
    try:
        value = metric.score(truth, prediction)
    except ValueError as error:
        raise SubmissionError(str(error)) from None
    if not math.isfinite(value):
        raise SubmissionError(f"its {metric.name} is not a finite number")
    return value


_Breakdown = Callable[[Metric, pd.DataFrame, pd.DataFrame], tuple[ScoreBreakdown, ...]]
"""(metric, truth, prediction) -> the scores of subsets."""


class SubmissionScorer:
    """Scores submissions against the true values of a set of rows."""

    def __init__(
        self,
        schema: SubmissionSchema,
        answers: pd.DataFrame,
        groups: np.ndarray | None = None,
        breakdown: _Breakdown | None = None,
    ) -> None:
        """Parse the true values.

        Args:
            schema: the schema of submissions; it must have a metric.
            answers: a table of text in the form of a submission, rows as in `schema`.
            groups: group number of each row, shape (rows,), for the bootstrap.
            breakdown: computes scores of subsets, which are omitted without it.

        Raises:
            CompetitionError: a value is of the wrong type.
        """
        if schema.metric is None:
            raise TypeError("a schema without a metric cannot score submissions")
        self.schema = schema
        self.metric = schema.metric
        self.truth = schema.parse_truth(answers)
        self.groups = groups
        self._resampling = Bootstrap(len(self.truth), groups)
        self._breakdown = breakdown

    def grade(self, path: Path) -> GradeReport:
        """Validate and score a submission; an invalid one gets a report with the reason."""
        try:
            prediction = self.schema.read(path)
        except (SubmissionError, ValueError) as error:
            return _invalid(path, error)
        return self.score(prediction)

    def score(self, prediction: pd.DataFrame) -> GradeReport:
        """Score parsed predictions; where the metric is undefined, the report has the reason."""
        metric = self.metric
        try:
            value = finite_score(metric, self.truth, prediction)
        except SubmissionError as error:
            return GradeReport(valid=False, message=str(error))
        score = ValidationScore(
            metric=metric.name,
            value=MetricValue(value=value, maximize=metric.maximize),
            interval=self._resampling.interval(metric, self.truth, prediction, value),
            rows=len(self.truth),
        )
        divided = self._breakdown(metric, self.truth, prediction) if self._breakdown else ()
        return GradeReport(valid=True, score=score, parts=divided)

    def compare(self, one: Path, other: Path) -> Paired:
        """Compare two submissions by a paired bootstrap; positive if the first one is better.

        Raises:
            SubmissionError: one of them is invalid.
        """
        tables = self.schema.read(one), self.schema.read(other)
        return self._resampling.compare(self.metric, self.truth, *tables)

    def errors(self, paths: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of the submissions' errors.

        Raises:
            SubmissionError: one of them is invalid.
        """
        return error_correlations(self.metric, self.truth, (self.schema.read(path) for path in paths))


def spellings_of(folder: SplitFolder, split: Split, metric: Metric | None) -> Mapping[str, Spelling]:
    """Return the spellings of a split's classes, from its train.csv.

    Raises:
        CompetitionError: the file cannot be read.
    """
    if metric is None or (metric.kind is not AnswerKind.LABEL and not split.positive_class):
        return {}
    path = folder.public / "train.csv"
    columns = [name for name in read_header(path) if name in split.target_columns]
    train = pd.read_csv(path, usecols=columns, dtype=str, keep_default_na=False)
    return label_spellings(train, split.target_columns, metric, split.positive_class)


def select_blend(parts: Sequence[tuple[SubmissionScorer, Sequence[Path]]]) -> BlendReport:
    """Select the best weighted average of candidates over the rows of all parts together.

    Args:
        parts: a scorer for some rows, with each candidate's submission for these rows; candidates are
            in the same order in all parts, best first.

    Raises:
        SubmissionError: a submission is invalid.
    """
    sheets = [sheet for sheet, _ in parts]
    first = sheets[0]
    truth = pd.concat([sheet.truth for sheet in sheets], ignore_index=True)
    predictions = (
        pd.concat(
            [sheet.schema.read(path) for sheet, path in zip(sheets, paths, strict=True)]
        ).reset_index(drop=True)
        for paths in zip(*(paths for _, paths in parts), strict=True)
    )
    report = fit_blend(first.metric, truth, predictions, _joined([sheet.groups for sheet in sheets]))
    columns = {"ids": tuple(first.schema.ids), "targets": tuple(first.schema.targets)}
    return report.model_copy(update=columns)


def _joined(groups: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Concatenate the groups of several parts, which share no group."""
    if any(each is None for each in groups):
        return None
    numbered = [(part, name) for part, names in enumerate(groups) for name in np.asarray(names)]
    return np.asarray(pd.factorize(pd.MultiIndex.from_tuples(numbered))[0])


def _invalid(path: Path, error: Exception) -> GradeReport:
    """Return a report with the reason, without the file's path on the host."""
    return GradeReport(valid=False, message=str(error).removeprefix(f"{path}: "))

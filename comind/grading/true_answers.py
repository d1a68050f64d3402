"""Score submissions against true answers, which all graders have from here."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from comind.competitions.competition_checks import check_test_ids
from comind.competitions.data import CompetitionData
from comind.competitions.download.plain_download import upload_form_of
from comind.competitions.submission_table import one_row_per_id
from comind.domain.competition import Competition
from comind.domain.metric import MetricValue, Paired, ValidationScore
from comind.errors import CompetitionError, SubmissionError
from comind.grading.blending.cross_fit import KeptBeside, OutOfFold, fit_blend
from comind.grading.blending.error_correlation import error_correlations
from comind.grading.blending.selection import FREE, Costs
from comind.grading.grader_port import BlendReport, ErrorReport, GradeReport, ScoreBreakdown
from comind.grading.submission_schema import SubmissionSchema, invalid, spellings_of
from comind.metrics import Metric
from comind.metrics.bootstrap import resampling
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_table, row_keys


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


def check_answers_exist(competition: Competition) -> None:
    """Check that this is a past competition.

    Raises:
        CompetitionError: it has no answers.
    """
    if not competition.answers.is_file():
        raise CompetitionError(
            f"{competition.folder}: has no private/answers.csv",
            hint="only past competitions can be graded",
        )


_Breakdown = Callable[[Metric, pd.DataFrame, pd.DataFrame], tuple[ScoreBreakdown, ...]]
"""(metric, truth, prediction) -> the scores of subsets."""


class Answers:
    """The true values of a set of rows, and what every grader asks of them."""

    def __init__(
        self,
        schema: SubmissionSchema,
        table: pd.DataFrame,
        groups: np.ndarray | None = None,
        breakdown: _Breakdown | None = None,
    ) -> None:
        """Parse the true values.

        Args:
            schema: the schema of submissions; it must have a metric.
            table: true values as text, in the form of a submission, rows as in `schema`.
            groups: group number of each row, shape (rows,), for the bootstrap.
            breakdown: computes scores of subsets, which are omitted without it.

        Raises:
            CompetitionError: a value is of the wrong type.
        """
        if schema.metric is None:
            raise TypeError("a schema without a metric cannot score submissions")
        self.schema = schema
        self.table = table
        self.metric = schema.metric
        self.truth = schema.parse_truth(table)
        self.groups = groups
        self._resampling = resampling(schema.metric, len(self.truth), groups)
        self._breakdown = breakdown

    @classmethod
    def of_validation(
        cls, folder: SplitFolder, metric: Metric, breakdown: _Breakdown | None = None
    ) -> Self:
        """Read the sealed answers of a split's validation rows.

        Raises:
            CompetitionError: a file of the split is missing or invalid.
        """
        split = folder.read()
        columns = split.id_columns, split.target_columns
        table = one_row_per_id(read_table(folder.answers, CompetitionError), *columns, metric)
        schema = SubmissionSchema(table, *columns, metric, spellings_of(folder, split, metric))
        return cls(schema, table, folder.read_groups(), breakdown)

    @classmethod
    def of_test(cls, competition: Competition) -> Self:
        """Read `private/answers.csv`, and check that its rows match those of test.csv one to one.

        Raises:
            CompetitionError: the answers are missing or invalid.
        """
        check_answers_exist(competition)
        where = competition.answers
        upload = upload_form_of(competition.folder)
        table = upload.here(read_table(where, CompetitionError))
        data = CompetitionData.read(competition)
        check_test_ids(data)
        for column in (*data.ids, *data.targets, *data.context):
            if column not in table.columns:
                raise CompetitionError(f"{where}: has no column {column!r}")
        metric = data.scored_by
        table = one_row_per_id(table, data.ids, data.targets, metric)
        schema = SubmissionSchema(table, data.ids, data.targets, metric, data.spellings, upload=upload)
        expected = row_keys(data.test, list(data.ids))
        if schema.keys.has_duplicates or not len(expected) or set(schema.keys) != set(expected):
            raise CompetitionError(
                f"{where}: does not have the ids of public/test.csv, each once",
                hint=f"{len(table)} answers, {len(expected)} rows of test.csv",
            )
        try:
            return cls(schema, table)
        except CompetitionError as error:
            raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None

    def value(self, prediction: pd.DataFrame, rows: np.ndarray | None = None) -> float:
        """Return the metric's value of parsed predictions, over all rows or those at some positions.

        Raises:
            SubmissionError: it is undefined, or not a finite number.
        """
        if rows is None:
            return finite_score(self.metric, self.truth, prediction)
        tables = (table.iloc[rows].reset_index(drop=True) for table in (self.truth, prediction))
        return finite_score(self.metric, *tables)

    def grade(self, path: Path) -> GradeReport:
        """Validate and score a submission; an invalid one gets a report with the reason."""
        try:
            prediction = self.schema.read(path)
        except (SubmissionError, ValueError) as error:
            return invalid(path, error)
        return self.score(prediction)

    def score(self, prediction: pd.DataFrame) -> GradeReport:
        """Score parsed predictions; where the metric is undefined, the report has the reason."""
        metric = self.metric
        try:
            value = self.value(prediction)
            interval = self._resampling.interval(metric, self.truth, prediction, value)
        except SubmissionError as error:
            return GradeReport(valid=False, message=str(error))
        score = ValidationScore(
            metric=metric.name,
            value=MetricValue(value=value, maximize=metric.maximize),
            interval=interval,
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


def select_blend(
    parts: Sequence[tuple[Answers, Sequence[Path]]],
    out_of_fold: OutOfFold | None = None,
    beside: KeptBeside | None = None,
    costs: Costs = FREE,
) -> BlendReport:
    """Select the best weighted average of candidates over the rows of all parts together, or a stack.

    Args:
        parts: a scorer for some rows, with each candidate's submission for these rows; candidates are
            in the same order in all parts, best first.
        out_of_fold: further rows, on which a stack is learned.
        beside: what candidates keep beside labels, for the rows of a single part.
        costs: what the members' programs may take.

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
    groups = _joined([sheet.groups for sheet in sheets])
    report = fit_blend(
        first.metric, truth, predictions, groups, out_of_fold=out_of_fold, beside=beside, costs=costs
    )
    columns = {"ids": tuple(first.schema.ids), "targets": tuple(first.schema.targets)}
    return report.model_copy(update=columns)


def _joined(groups: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Concatenate the groups of several parts, which share no group."""
    if any(each is None for each in groups):
        return None
    numbered = [(part, name) for part, names in enumerate(groups) for name in np.asarray(names)]
    return np.asarray(pd.factorize(pd.MultiIndex.from_tuples(numbered))[0])

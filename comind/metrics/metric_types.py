"""Base classes of metrics: computed per row, per column, or on whole tables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind

__all__ = [
    "PLAIN",
    "ColumnMetric",
    "ColumnStatistic",
    "Metric",
    "MetricInfo",
    "Names",
    "Parse",
    "RowMetric",
    "Rows",
    "Statistic",
    "TableMetric",
    "f1_of_counts",
    "known_cells",
    "mean_over_columns",
    "per_row",
]


PLAIN = MetricTraits()
"""Traits of a metric that nothing special is trained for."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """Name, direction and answer type of a metric."""

    name: str
    _: KW_ONLY
    maximize: bool
    answer_kind: AnswerKind
    """Type of the target columns of a submission."""


class Names(NamedTuple):
    """Names by which pages and hosts mean a metric, separated by ", "; only what is certain."""

    words: str = ""
    """Looked for on pages, too."""
    names: str = ""
    """Count only where a metric is named, by Kaggle or in competition.yaml."""
    columns: Literal["one", "many", "any"] = "one"
    """How many target columns they go with."""
    understood: str = ""
    """Words beside a name that belong to the metric."""


Parse = Callable[["pd.Series[str]"], "pd.Series"]
"""Parses the text of a column; raises ValueError with a message for the author of the submission."""

Rows = Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
"""(truth, prediction) -> per-row values, shape (rows, k)."""

Statistic = Callable[[np.ndarray], float]
"""Maps row positions, which may repeat, to the value over them; ValueError if it is undefined."""

ColumnStatistic = Callable[["pd.Series", "pd.Series"], Statistic]
"""(truth, prediction) of one column -> its statistic. What all draws share is precomputed here."""


@dataclass(frozen=True, slots=True)
class Metric(MetricInfo, ABC):
    """A metric: parses and scores predictions.

    Truth and prediction are tables with the same target columns and the same rows in the same order,
    parsed by `parse_truth` and `parse`.
    """

    reference: str
    """The library function that computes the same value, or the formula."""
    _: KW_ONLY
    parse: Parse
    truth_parser: Parse | None = None
    """Parses true values, if their format differs from that of predictions."""
    best: float | None = None
    """The value of a perfect submission, if it does not depend on the competition."""
    context: tuple[str, ...] = ()
    """Further columns of the truth, such as the group of a row; they are not predicted."""
    context_parser: Parse | None = None
    """Parses these columns, which are text without it."""
    by_column: bool = False
    """Whether the value is the mean of the values of the single target columns."""
    traits: MetricTraits = PLAIN
    """What is trained and averaged for it."""
    called: Names | None = None
    """Its other names; those that the rest of a page has to confirm are in metrics.yaml."""
    rare: bool = False
    """Whether few past competitions use it: it can be named, and is not among the known ones."""
    of_texts: str = ""
    """Name of the metric that takes its place where labels are free text."""
    by_program: bool = False
    """Whether a program scores files of whole rows, each once: slowly, and several side by side."""
    row_separator: str = ""
    """Separator of the values of a cell, where a submission may have a row for each instead."""

    def parse_truth(self, column: "pd.Series[str]") -> "pd.Series":
        """Parse a column of true values."""
        return (self.truth_parser or self.parse)(column)

    def parser_of_truth(self, targets: int) -> Parse:
        """Return the parser of a column of true values, one of so many target columns.

        Of several, each scored by itself, a blank cell is a value that is not known, and missing.
        """
        by_itself = targets > 1 and self.by_column and not self.answer_kind.may_be_blank
        return known_cells(self.parse_truth) if by_itself else self.parse_truth

    def parse_context(self, column: "pd.Series[str]") -> "pd.Series":
        """Parse a further column of the truth."""
        return column if self.context_parser is None else self.context_parser(column)

    @abstractmethod
    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function that computes the value over some rows of these tables.

        Raises:
            ValueError: the metric is undefined on these tables.
        """

    def known_statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return `statistic`, of each column over the rows whose true value is known.

        Raises:
            ValueError: the metric is undefined on these tables.
        """
        known = truth[prediction.columns].notna().to_numpy()
        if not self.by_column or known.all():
            return self.statistic(truth, prediction)
        places = np.cumsum(known, axis=0) - 1  # among the known rows of the column
        statistics = [
            self.statistic(truth.loc[rows, [name]], prediction.loc[rows, [name]])
            for name, rows in zip(prediction.columns, known.T, strict=True)
        ]

        def statistic(draw: np.ndarray) -> float:
            drawn = [places[draw[known[draw, column]], column] for column in range(known.shape[1])]
            if not all(map(len, drawn)):
                raise ValueError("a column has no known true value")
            return float(np.mean([each(rows) for each, rows in zip(statistics, drawn, strict=True)]))

        return statistic

    def score(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
        """Return the value over all rows; it may be NaN or infinite.

        Raises:
            ValueError: the metric is undefined on these rows, such as ROC AUC with one class.
        """
        with np.errstate(all="ignore"):
            return self.known_statistic(truth, prediction)(np.arange(len(truth)))

    def score_draws(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw of row positions, shape (draws,); NaN if undefined."""
        values = []
        with np.errstate(all="ignore"):
            statistic = self.known_statistic(truth, prediction)
            for draw in draws:
                try:
                    values.append(statistic(draw))
                except ValueError:
                    values.append(np.nan)
        return np.array(values, dtype=float)

    def score_all(self, truth: pd.DataFrame, predictions: Sequence[pd.DataFrame]) -> np.ndarray:
        """Return the value of each prediction over all rows, shape (predictions,); NaN if undefined."""
        values = []
        for prediction in predictions:
            try:
                values.append(self.score(truth, prediction))
            except ValueError:
                values.append(np.nan)
        return np.array(values, dtype=float)


@dataclass(frozen=True, slots=True)
class RowMetric(Metric):
    """A metric that is a function of per-row values averaged over the rows.

    `rows` returns shape (rows, k); `finish` maps their means, shape (k,), to the value.
    """

    rows: Rows
    _: KW_ONLY
    finish: Callable[[np.ndarray], float] = itemgetter(0)
    row_bounds: tuple[float, float] | None = None
    """Range of per-row values, if the metric is a plain mean of bounded values."""

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function of row positions; per-row values are computed once."""
        values = self.rows(truth, prediction)
        return lambda draw: float(self.finish(values[draw].mean(axis=0)))


@dataclass(frozen=True, slots=True)
class ColumnMetric(Metric):
    """A metric of a column as a whole, such as a rank correlation; the mean over the target columns.

    Library calls for a thousand bootstrap draws take minutes, so these metrics are implemented here and
    tested against the library.
    """

    column: ColumnStatistic
    _: KW_ONLY
    by_column: bool = True

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function of row positions: the mean of the columns' statistics."""
        statistics = [self.column(truth[name], prediction[name]) for name in truth.columns]
        return lambda draw: float(np.mean([statistic(draw) for statistic in statistics]))


@dataclass(frozen=True, slots=True)
class TableMetric(Metric):
    """A metric of whole tables, such as a mean over groups of rows."""

    value: Callable[[pd.DataFrame, pd.DataFrame], float]

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function of row positions that recomputes the metric."""
        return lambda draw: float(self.value(truth.iloc[draw], prediction.iloc[draw]))


def known_cells(parse: Parse) -> Parse:
    """Return a parser for which blank cells are missing values, and others those of `parse`."""

    def parse_known(column: "pd.Series[str]") -> "pd.Series":
        known = column.str.strip() != ""
        return parse(column) if known.all() else parse(column[known]).reindex(column.index)

    return parse_known


def mean_over_columns(cell: Callable[..., float]) -> Rows:
    """Return per-row values, shape (rows, 1): the mean over columns of `cell(true, predicted)`."""

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        columns = [
            [cell(true, pred) for true, pred in zip(truth[name], prediction[name], strict=True)]
            for name in truth.columns
        ]
        return np.asarray(np.mean(np.array(columns, dtype=float), axis=0)[:, None])

    return rows


def per_row(cell: Callable[..., float | tuple[float, ...]]) -> Rows:
    """Return per-row values, shape (rows, k): `cell(true, predicted)` of the first target column."""

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        both = zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True)
        return np.array([np.atleast_1d(cell(true, pred)) for true, pred in both], dtype=float)

    return rows


def f1_of_counts(means: np.ndarray) -> float:
    """Return F1 for means of true positives, false positives and false negatives; 0 if undefined."""
    below = 2 * means[0] + means[1] + means[2]
    return float(2 * means[0] / below) if below > 0 else 0.0

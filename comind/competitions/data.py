"""A competition's tables, the roles of their columns, and its metric."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import pandas as pd

from comind.competitions.download.plain_download import source_of
from comind.competitions.label_spelling import Spelling, label_spellings
from comind.competitions.positive_class import (
    has_positive_class,
    infer_positive_class,
    metric_of_labels,
)
from comind.domain.competition import SAMPLE_SUBMISSION, TABLES, Competition, IdParts
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.metrics import Metric, MetricInfo, find_metric
from comind.metrics.functions import FunctionMetric
from comind.metrics.parsing import are_number_lists
from comind.tables.csv_tables import read_table, row_keys

_FEW_CLASSES, _MOST_CLASSES = 20, 0.1
_BINARY = 2


@dataclass(frozen=True, eq=False)
class CompetitionData:
    """The tables of a competition (cells as text), the roles of their columns, and its metric."""

    competition: Competition
    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame
    metric: MetricInfo
    """A `Metric`, or what is known of a generated evaluator's."""
    known_hashes: dict[tuple[int, ...], str] = field(default_factory=dict)
    """Hashes of public files that have been read once, see `hash_tree`."""

    @classmethod
    def read(cls, competition: Competition, metric: Metric | None = None) -> Self:
        """Read the three tables; without `metric`, the competition's own is looked up.

        Raises:
            CompetitionError: a table is missing or unreadable, or the metric is unknown.
        """
        named = find_metric(competition) if metric is None else metric
        known: dict[tuple[int, ...], str] = {}
        data = cls(competition, *_read_tables(competition, known), named, known)
        found = metric_of_labels(named, data.train, data.labels)
        if (
            isinstance(found, FunctionMetric)
            and data.one_hot
            and found.answer_kind is AnswerKind.PROBABILITY
        ):
            found = replace(found, answer_kind=AnswerKind.CLASS_PROBABILITIES)
        return replace(data, metric=found)

    @classmethod
    def read_without_metric(cls, competition: Competition) -> Self:
        """Read the three tables of a competition that names no metric; infer its type of answers.

        Raises:
            CompetitionError: a table is missing or unreadable.
        """
        unknown = MetricInfo(name="unknown", maximize=True, answer_kind=AnswerKind.LABEL)
        known: dict[tuple[int, ...], str] = {}
        data = cls(competition, *_read_tables(competition, known), unknown, known)
        return replace(data, metric=replace(unknown, answer_kind=_infer_answer_kind(data)))

    @property
    def sources(self) -> Mapping[str, str]:
        """The text of the metric's own file by name, if it has one; sealed with the split."""
        return self.metric.sources if isinstance(self.metric, FunctionMetric) else {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Id columns of a submission."""
        return self.competition.id_columns

    @property
    def train_ids(self) -> tuple[str, ...]:
        """The same columns in train.csv, which may have other names."""
        return self.competition.train_id_columns or self.ids

    @property
    def labels(self) -> tuple[str, ...]:
        """Label columns of train.csv."""
        return self.competition.label_columns

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Columns of a submission beside its ids."""
        if self.competition.target_columns == SAMPLE_SUBMISSION:
            return tuple(str(column) for column in self.sample.columns if column not in self.ids)
        return tuple(self.competition.target_columns)

    @property
    def inputs(self) -> list[str]:
        """Columns of test.csv, by their names in train.csv."""
        renamed = dict(zip(self.ids, self.train_ids, strict=True))
        return [renamed.get(column, column) for column in self.test.columns]

    @property
    def shown(self) -> list[str]:
        """The inputs that are no labels."""
        return [name for name in self.inputs if name not in self.labels]

    @property
    def renamed_test(self) -> pd.DataFrame:
        """test.csv with the names that its columns have in train.csv."""
        return self.test.set_axis(self.inputs, axis="columns")

    @property
    def withheld(self) -> list[str]:
        """Columns of train.csv not shown of held-out rows: labels, and those that test.csv lacks."""
        shown = set(self.shown)
        return [name for name in self.train.columns if name not in shown]

    @cached_property
    def is_arranged(self) -> bool:
        """Whether the folder was arranged from a download, so that it can be made again."""
        return source_of(self.competition.folder) is not None

    @property
    def one_hot(self) -> bool:
        """Whether the target columns are the classes of the one label."""
        return is_one_hot(self.train, self.labels, self.targets, self.metric.answer_kind)

    @cached_property
    def positive_class(self) -> str:
        """The class that counts as 1; empty where labels are 0 and 1, or the metric has none.

        Raises:
            CompetitionError: two classes are words, and it is open which of them it is.
        """
        given = self.competition.positive_class
        if not has_positive_class(self.metric) or self.one_hot:
            return ""
        found = set()
        for name in self.targets:
            if name in self.train.columns:
                try:
                    found.add(infer_positive_class(self.train[name], given=given, text=self._page))
                except CompetitionError as error:
                    where = f"{self.competition.folder}: public/train.csv"
                    raise CompetitionError(f"{where}: {error}", hint=error.hint) from None
        return found.pop() if len(found) == 1 else ""

    @property
    def scored_by(self) -> Metric:
        """The metric, of a competition that names one.

        Raises:
            TypeError: it names none, so that its evaluator is a program.
        """
        if not isinstance(self.metric, Metric):
            raise TypeError("a generated evaluator is no metric")
        return self.metric

    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """The classes of train.csv by target column, which submissions may spell otherwise."""
        return label_spellings(self.train, self.targets, self.metric, self.positive_class)

    @property
    def _page(self) -> str:
        page = self.competition.public / "description.md"
        return page.read_text(errors="replace") if page.is_file() else ""

    @cached_property
    def unknown_labels(self) -> Mapping[str, int]:
        """The number of train rows without a label, of each of several targets that has such rows."""
        targets = [name for name in self.targets if name in self.train.columns]
        if len(targets) == 1:
            return {}
        blank = {name: int((self.train[name].str.strip() == "").sum()) for name in targets}
        return {name: count for name, count in blank.items() if count}

    @property
    def context(self) -> tuple[str, ...]:
        """Further columns of train.csv that the metric reads, such as weights."""
        return self.metric.context if isinstance(self.metric, Metric) else ()

    def truth(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the true values of the target columns for labelled rows; one-hot for classes.

        The columns that the metric reads beside them follow.

        Raises:
            CompetitionError: a target is neither a column of train.csv nor a class of its label.
        """
        try:
            found = target_values(rows, self.labels, self.targets, one_hot=self.one_hot)
        except CompetitionError as error:
            raise CompetitionError(f"{self.competition.folder}: {error}", hint=error.hint) from None
        return found.assign(**{name: rows[name].to_numpy() for name in self.context})

    def sample_values(self, rows: int) -> pd.DataFrame:
        """Return the target values of the sample submission, repeated to `rows` rows."""
        values = self.sample[list(self.targets)]
        times = math.ceil(rows / len(values)) if len(values) else 0
        return pd.concat([values] * times, ignore_index=True).head(rows)


def is_one_hot(
    train: pd.DataFrame, labels: Sequence[str], targets: Sequence[str], answer_kind: AnswerKind
) -> bool:
    """Return whether the target columns are the classes of the one label of `train`."""
    if len(labels) != 1 or set(targets) <= set(train.columns):
        return False
    if answer_kind is AnswerKind.CLASS_PROBABILITIES:
        return True
    return not set(targets).isdisjoint(train[labels[0]])


def target_values(
    rows: pd.DataFrame, labels: Sequence[str], targets: Sequence[str], *, one_hot: bool
) -> pd.DataFrame:
    """Return the true values of the target columns for labelled rows; one-hot for classes.

    Raises:
        CompetitionError: a target is neither a column of train.csv nor a class of its label.
    """
    if one_hot:
        label = rows[labels[0]].reset_index(drop=True)
        return pd.DataFrame({name: (label == name).astype(int) for name in targets})
    missing = [column for column in targets if column not in rows.columns]
    if missing:
        raise CompetitionError(
            f"the target column {missing[0]!r} is neither a column of train.csv nor a class of "
            f"{labels[0]!r}",
            hint="target_columns in competition.yaml name what a submission has beside its ids",
        )
    return rows[list(targets)].reset_index(drop=True)


def _read_tables(
    competition: Competition, known: dict[tuple[int, ...], str]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Read train.csv, test.csv and sample_submission.csv, with joined ids where tables lack them.

    Their hashes are added to `known`.
    """
    paths = [competition.public / name for name in TABLES]
    train, test, sample = (read_table(path, CompetitionError, known) for path in paths)
    if (parts := competition.id_parts) is not None:
        train_id = (competition.train_id_columns or competition.id_columns)[0]
        try:
            test = _with_joined_ids(test, competition.id_columns[0], parts, "test.csv")
            train = _with_joined_ids(train, train_id, parts, "train.csv")
        except CompetitionError as error:
            where = f"{competition.folder}: public/{error}"
            raise CompetitionError(where, hint=error.hint) from None
    return train, test, sample


def _with_joined_ids(table: pd.DataFrame, name: str, parts: IdParts, file: str) -> pd.DataFrame:
    """Return a table with the id `name` as its first column, such as `Oslo_7`, unless it has it.

    Numbers are joined in their plain spelling, `7` for `7.0`. Rows are numbered where joined ids are not
    unique, as in a train.csv with several rows of one id.

    Raises:
        CompetitionError: `file` lacks one of the columns.
    """
    if name in table.columns:
        return table
    if missing := [column for column in parts.columns if column not in table.columns]:
        columns = ", ".join(map(str, table.columns[:30]))
        raise CompetitionError(f"{file} has no column {missing[0]!r}", hint=f"its columns are {columns}")
    cells = zip(*(row_keys(table, [column]) for column in parts.columns), strict=True)
    ids = pd.Series([parts.separator.join(row) for row in cells], dtype=str)
    if file == "train.csv" and ids.duplicated().any():
        ids = pd.Series(range(len(table))).astype(str)
    found = table.copy()
    found.insert(0, name, ids.to_numpy())
    return found


def _infer_answer_kind(data: CompetitionData) -> AnswerKind:
    """Infer the type of answers from the labels and the sample submission."""
    if data.one_hot:
        return AnswerKind.CLASS_PROBABILITIES
    shared = [column for column in data.targets if column in data.train.columns]
    column = shared[0] if shared else data.labels[0]
    cells = data.train[column]
    numbers = pd.to_numeric(cells, errors="coerce")
    sample = pd.to_numeric(data.sample[data.targets[0]], errors="coerce")
    distinct = cells.nunique()
    if numbers.notna().all():
        whole = (numbers == numbers.round()).all()
        between = bool(((sample > 0) & (sample < 1)).any())
        if distinct <= _BINARY and (between or len(data.targets) > 1):
            return AnswerKind.PROBABILITY
        return AnswerKind.LABEL if whole and distinct <= _FEW_CLASSES else AnswerKind.NUMBER
    if are_number_lists(cells.unique()):
        return AnswerKind.TEXT
    few = distinct <= max(_FEW_CLASSES, _MOST_CLASSES * len(cells))
    return AnswerKind.LABEL if few else AnswerKind.TEXT

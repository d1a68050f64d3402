"""What is decided about a split before a file is written."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd

from comind.domain.competition import SAMPLE_SUBMISSION, TABLES, Competition, SplitRule
from comind.errors import CompetitionError
from comind.evaluation.metrics import MetricFacts, find_metric
from comind.evaluation.splits.detect import detect_rule
from comind.evaluation.splits.holdout import choose_validation_rows
from comind.evaluation.splits.quality import SplitQuality, assess_split
from comind.evaluation.splits.relations import PooledRows
from comind.evaluation.splits.rule_search import Comparison, compare, find_rule
from comind.evaluation.splits.target_values import is_one_hot, target_values
from comind.evaluation.tables import read_table
from comind.system.files import hash_tree

__all__ = ["SplitPlan"]

_LAYOUT = 3  # part of every key: raise it when the same inputs give other files
_FINDER = 1
"""Part of the key where no rule is given: raise it when the same tables give another rule.

Splits whose rule was found before this was part of the key are named anew, and made once more; a
campaign that has one goes on with it, as its log names the split.
"""


class SplitPlan:
    """Tables, columns, metric and rule of one competition."""

    imitates = True
    """Whether test rows are looked at closely, to find a rule; a rule that is given stands."""
    linked = False
    """Whether files that stay as they are may be hard links to those given: it can be made again."""
    left_out: Sequence[int] = ()
    """Positions of labelled rows that are neither learnt from nor held back: later ones, in folds."""
    programs: Mapping[str, str] = MappingProxyType({})
    """Programs that are frozen with the split, by file name; none where the metric is one of ours."""

    def __init__(self, competition: Competition, seed: int, metric: MetricFacts | None = None) -> None:
        """Read the three tables; the metric is the one that the folder names, unless one is given.

        Raises:
            CompetitionError: a table is missing or unreadable, or the metric is not known.
        """
        self.competition = competition
        self.seed = seed
        self.ids = competition.id_columns
        """Id columns of a submission."""
        self.train_ids = competition.train_id_columns or self.ids
        """The same columns in train.csv, where it may name them otherwise."""
        self.labels = competition.label_columns
        """Columns of train.csv that are sealed together."""
        self.metric: MetricFacts = metric or find_metric(competition)
        self.train, self.test, self.sample = (
            read_table(competition.public / name, CompetitionError) for name in TABLES
        )

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Columns of a submission beside its ids."""
        if self.competition.target_columns == SAMPLE_SUBMISSION:
            return tuple(str(column) for column in self.sample.columns if column not in self.ids)
        return tuple(self.competition.target_columns)

    @property
    def inputs(self) -> list[str]:
        """Columns of test.csv, by the names that train.csv has for them."""
        renamed = dict(zip(self.ids, self.train_ids, strict=True))
        return [renamed.get(column, column) for column in self.test.columns]

    @property
    def withheld(self) -> list[str]:
        """Columns of train.csv that a held-back row does not show: labels, and what test.csv lacks."""
        shown = set(self.inputs) - set(self.labels)
        return [name for name in self.train.columns if name not in shown]

    @property
    def one_hot(self) -> bool:
        """Whether the target columns are the classes of the one label."""
        return is_one_hot(self.train, self.labels, self.targets, self.metric.kind)

    @cached_property
    def rule_with_reason(self) -> tuple[SplitRule, str]:
        """The folder's rule, or the one that imitates how the test rows were set apart."""
        if self.competition.split is not None:
            return self.competition.split, "competition.yaml says so"
        return self._imitated or self._plain

    @cached_property
    def _plain(self) -> tuple[SplitRule, str]:
        """The rule that a look at each column gives."""
        test = self.test.set_axis(self.inputs, axis="columns")
        return detect_rule(self.train, test, self.labels, self.metric.kind)

    @cached_property
    def _imitated(self) -> tuple[SplitRule, str] | None:
        """The finer rule that a closer look gives, where it gives another one."""
        if self.competition.split is not None or not self.imitates:
            return None
        return find_rule(self.compared, self._plain[0])

    @cached_property
    def pool(self) -> PooledRows:
        """The rows of train and test, in the columns that both have."""
        shown = [name for name in self.inputs if name not in self.labels]
        test = self.test.set_axis(self.inputs, axis="columns")[shown]
        return PooledRows(self.train, test, self.train_ids)

    @cached_property
    def compared(self) -> Comparison:
        """How test rows stand to those of train."""
        return compare(self.pool)

    def standing(self, positions: list[int]) -> SplitQuality:
        """Return how these validation rows stand to the rest of train, beside test rows to train."""
        rule, _ = self.rule_with_reason
        return assess_split(self.pool, self.compared, rule, np.array(positions))

    def validation_rows(self) -> list[int]:
        """Return the positions of the rows to hold back, ascending.

        Raises:
            CompetitionError: the rule does not fit the data.
        """
        try:
            return choose_validation_rows(self.train, self.rule_with_reason[0], self.seed)
        except CompetitionError as error:
            raise CompetitionError(f"{self.competition.folder}: {error}") from None

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the true values of the target columns for some labelled rows; one-hot for classes.

        Raises:
            CompetitionError: a target is neither a column of train.csv nor a class of its label.
        """
        try:
            return target_values(rows, self.labels, self.targets, one_hot=self.one_hot)
        except CompetitionError as error:
            raise CompetitionError(f"{self.competition.folder}: {error}", hint=error.hint) from None

    def sample_values(self, rows: int) -> pd.DataFrame:
        """Return the sample submission's own target values, repeated to `rows` rows."""
        values = self.sample[list(self.targets)]
        times = math.ceil(rows / len(values)) if len(values) else 0
        return pd.concat([values] * times, ignore_index=True).head(rows)

    @cached_property
    def key(self) -> str:
        """Name of the split: the competition and a hash of everything that the split depends on."""
        parts = [
            _LAYOUT,
            self.seed,
            self.metric.name,
            dict(self.programs),
            self.competition.model_dump_json(exclude={"folder"}),
            hash_tree(self.competition.public),
        ]
        if self.competition.split is None and self.imitates:  # it follows from what is hashed
            parts.append(_FINDER)
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return f"{self.competition.id}-{digest[:12]}"

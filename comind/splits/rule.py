"""The rows that a split rule holds out: a pure function of table, rule and seed."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd

from comind.domain.competition import PERIODS, SplitRule
from comind.errors import CompetitionError
from comind.splits.grouping import (
    KEYS,
    Codes,
    ColumnGrouping,
    Grouping,
    crossed_folds,
    kinds_of_grouping,
    linked_groups,
    row_groups,
    shuffled_codes,
)
from comind.splits.shuffling import (
    Positions,
    balanced,
    hash_order,
    hash_shuffled,
    members_of,
    round_robin,
    validation_size,
)
from comind.splits.times import last_of_each, last_rows, times_of_rows

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

FOLDS = 5
"""Folds of train.csv for cross-validation."""
_FOLDS_SEED = 1_000  # added to the seed, so that these folds are independent of the validation rows
_FORMATS = {"day": "%Y-%m-%d", "week": "%G-%V", "month": "%Y-%m", "year": "%Y"}


_Folds = Iterator[tuple[Positions, Positions | list[int]]]
"""Rows of each fold, and those excluded from it."""


class Fold(NamedTuple):
    """Positions of rows, ascending."""

    rows: list[int]
    """The validation rows."""
    excluded: list[int]
    """Rows that are in neither part."""


@dataclass(frozen=True)
class Rule(ABC):
    """A rule that selects the validation rows (the holdout) of labelled rows; a class for each kind."""

    stored: SplitRule
    """As in competition.yaml and split.json."""

    @classmethod
    def of(cls, stored: SplitRule) -> Self:
        """Return what a stored rule does.

        Raises:
            CompetitionError: keys of a grouping are missing, or superfluous; a line for the key `split`.
        """
        rule = _RULES[stored.kind](stored)
        assert isinstance(rule, cls)
        rule.check()
        return rule

    def check(self) -> None:
        """Check the keys of groupings.

        Raises:
            CompetitionError: some are missing, or superfluous.
        """
        for name in KEYS:
            if getattr(self.stored, name):
                raise CompetitionError(f"{name!r} requires a group split, or a time split of ids")

    @property
    @abstractmethod
    def description(self) -> str:
        """The rows that it holds out, in words."""

    def folds(self, table: pd.DataFrame, seed: int) -> Iterator[Fold]:
        """Yield the folds of a table of text cells.

        Fold 0 has the validation rows of the split itself. Further folds are disjoint: the next rows, or
        groups, of the same shuffle, or the time before. Time folds exclude the later rows, and folds by
        several groupings those with groups of both parts.

        Raises:
            CompetitionError: the rule does not fit the table.
        """
        self._check_columns(table)
        count = validation_size(len(table), self.stored.fraction)
        if not 0 < count < len(table):
            raise CompetitionError(f"train.csv has {len(table)} rows, too few to hold some back")
        for rows, excluded in self._folds(table, seed, count):
            yield Fold(np.sort(rows).tolist(), np.asarray(excluded).tolist())

    def choose(self, table: pd.DataFrame, seed: int, number: int = 0) -> Fold:
        """Return one fold; empty if the table is too small for so many.

        Raises:
            CompetitionError: the rule does not fit the table.
        """
        return next(itertools.islice(self.folds(table, seed), number, None), Fold([], []))

    def fold_numbers(self, table: pd.DataFrame, seed: int, folds: int = FOLDS) -> Positions:
        """Return the fold of each row for cross-validation, shape (rows,), integers from 0.

        Random and stratified rules assign shuffled rows (of each class) round-robin; groups stay whole,
        and the largest is assigned first, each to the smallest fold; by time, folds are consecutive, 0
        the earliest, with equal times in one fold, and with `within` so for each period. If that gives a
        single fold, rows are assigned at random. The same table, rule and seed give the same folds on
        every machine.

        Raises:
            CompetitionError: the rule does not fit the table.
        """
        self._check_columns(table)
        table = table.reset_index(drop=True)
        found = self._fold_numbers(table, seed + _FOLDS_SEED, folds)
        one = len(np.unique(found)) == 1
        return round_robin(len(table), None, seed + _FOLDS_SEED, folds) if one else found

    def as_cv(self, table: pd.DataFrame, seed: int = 0, folds: int = FOLDS) -> "BaseCrossValidator":
        """Return the folds of `fold_numbers` as scikit-learn takes them, for features in the same order.

        No fold trains on rows of its validation groups or, by time, on later folds.

        Raises:
            CompetitionError: the rule does not fit the table.
        """
        from comind.splits.rule_folds import RuleFolds

        groupings = self.stored.groupings if self.stored.also else ()
        groups = [Grouping.of(each).names(table).to_numpy() for each in groupings]
        numbers = self.fold_numbers(table, seed, folds)
        return RuleFolds(numbers, groups, in_order=self.stored.kind == "time")

    @abstractmethod
    def _folds(self, table: pd.DataFrame, seed: int, count: int) -> _Folds: ...

    @abstractmethod
    def _fold_numbers(self, table: pd.DataFrame, seed: int, folds: int) -> Positions: ...

    def _check_columns(self, table: pd.DataFrame) -> None:
        for name in self.stored.used_columns:
            if name not in table.columns:
                raise CompetitionError(f"the split's column {name!r} is not in train.csv")

    def _fault(self, text: str) -> CompetitionError:
        return CompetitionError(f"the split's column {self.stored.column!r}{text}")


class Random(Rule):
    """Rows at random."""

    @property
    def description(self) -> str:
        """The rows that it holds out, in words."""
        return "rows at random"

    def _folds(self, table: pd.DataFrame, seed: int, count: int) -> _Folds:
        order = hash_order(range(len(table)), seed)
        for first in range(0, len(table), count):
            yield order[first : first + count], []

    def _fold_numbers(self, table: pd.DataFrame, seed: int, folds: int) -> Positions:
        return round_robin(len(table), None, seed, folds)


class Stratified(Rule):
    """Rows of each class in proportion; each class keeps at least one row for training."""

    @property
    def description(self) -> str:
        """The rows that it holds out, in words."""
        return f"rows at random, each value of {self.stored.column} in proportion"

    def _folds(self, table: pd.DataFrame, seed: int, count: int) -> _Folds:
        members = members_of(table[self.stored.column], hash_order(range(len(table)), seed))
        share = count / len(table)
        most = {label: len(rows) - 1 for label, rows in members.items()}
        taken = {
            label: min(most[label], math.floor(len(rows) * share)) for label, rows in members.items()
        }
        remainder = {label: (len(rows) * share) % 1.0 for label, rows in members.items()}
        # Rows left over by rounding go to the classes with the largest remainders.
        for label in sorted(members, key=lambda label: (-remainder[label], str(label))):
            if sum(taken.values()) < count and taken[label] < most[label]:
                taken[label] += 1
        if not sum(taken.values()):
            raise self._fault(" has no class with two rows; it cannot be stratified")
        for fold in itertools.count():
            parts = [members[label][fold * number :][:number] for label, number in taken.items()]
            if not any(map(len, parts)):
                return
            yield np.concatenate(parts), []

    def _fold_numbers(self, table: pd.DataFrame, seed: int, folds: int) -> Positions:
        classes, _ = pd.factorize(table[self.stored.column], sort=True)
        return round_robin(len(table), classes, seed, folds)


class ByGroup(Rule):
    """Whole groups, as many as come closest to the number of rows.

    With `also`, validation and training rows have no group of any of the groupings in common; rows that
    mix are in neither part, unless chains of such rows are small groups by themselves.
    """

    def check(self) -> None:
        """Check the keys of each grouping."""
        for each in self.stored.groupings:
            Grouping.of(each)

    @property
    def groups(self) -> str:
        """The name of its groups, in the plural."""
        return " and ".join(Grouping.of(each).plural for each in self.stored.groupings)

    @property
    def description(self) -> str:
        """The rows that it holds out, in words."""
        return f"whole {self.groups}, chosen at random"

    def _folds(self, table: pd.DataFrame, seed: int, count: int) -> _Folds:
        if self.stored.also and (crossed := self._crossed(table, seed)):
            folds = crossed_folds(crossed, count)
            if (first := next(folds, None)) is None:
                what = " and ".join(repr(name) for name in self.stored.used_columns)
                raise CompetitionError(
                    f"the split's columns {what}: no rows share nothing with the others"
                )
            for rows, excluded in itertools.chain([first], folds):
                yield np.array(rows), excluded
            return
        members = members_of(row_groups(table, self.stored), np.arange(len(table)))
        if len(members) < 2:  # noqa: PLR2004 - for training, for validation
            what = ", ".join(self.stored.used_columns)
            raise CompetitionError(f"the split's column {what!r} has one group only")
        names = hash_shuffled(list(members), seed)
        last = len(names) - 1  # fold 0 leaves one group for training; later folds leave earlier ones
        while names:
            parts, size = list[Positions](), 0
            for name in names[:last]:
                group = members[name]
                if parts and abs(size + len(group) - count) >= abs(size - count):
                    break
                parts.append(group)
                size += len(group)
            yield np.concatenate(parts), []
            names, last = names[len(parts) :], len(names)

    def _crossed(self, table: pd.DataFrame, seed: int) -> list[Codes]:
        """Number the groups of each grouping in a shuffled order; empty if components are small."""
        groupings = [row_groups(table, each).reset_index(drop=True) for each in self.stored.groupings]
        return [] if linked_groups(groupings) is not None else shuffled_codes(groupings, seed)

    def _fold_numbers(self, table: pd.DataFrame, seed: int, folds: int) -> Positions:
        return balanced(row_groups(table, self.stored), seed, folds)


class ByTime(Rule):
    """The last `horizon_days` of a column, in its own units if it holds plain numbers, or the last rows.

    With `within` the last ones of each day, week, month or year, or of each group of a column; with
    `earliest` the first ones in place of the last.
    """

    def check(self) -> None:
        """Check the keys of the groups within which rows are ordered."""
        if self.within_groups is None and self._series is None:
            super().check()

    @property
    def within_groups(self) -> ColumnGrouping | None:
        """The groups, if any, that the times are ordered within; None for calendar periods."""
        within = self.stored.within
        return None if within is None or within in PERIODS else self._by_ids(within)

    @property
    def within_name(self) -> str:
        """Name of the period or group that the times are ordered within; empty for none."""
        groups = self.within_groups
        return self.stored.within or "" if groups is None else f"{groups.column}{groups.part}"

    @property
    def _series(self) -> ColumnGrouping | None:
        """The series whose ids have the times, if the rule's column holds ids."""
        kind = kinds_of_grouping().get(self.stored.by)
        if kind is None or not kind.has_times:
            return None
        within = (None, *PERIODS, self.stored.column)
        return self._by_ids(str(self.stored.column)) if self.stored.within in within else None

    def _by_ids(self, column: str) -> ColumnGrouping:
        """Return the grouping of a column that `by` names."""
        values = {name: getattr(self.stored, name) for name in KEYS}
        grouping = Grouping.of(SplitRule(kind="group", column=column, **values))
        if not (isinstance(grouping, ColumnGrouping) and grouping.of_ids):
            raise CompetitionError("'by' requires a group split, or a time split of ids")
        return grouping

    @property
    def description(self) -> str:
        """The rows that it holds out, in words."""
        days = self.stored.horizon_days
        end = "first" if self.stored.earliest else "last"
        last = f"the {end} {days} days" if days else f"the {end} rows"
        each = f" of each {self.within_name}" if self.stored.within else ""
        return f"{last}{each} by {self.stored.column}"

    def times(self, table: pd.DataFrame) -> "pd.Series[Any]":
        """Parse the rule's column as UTC times or, if all cells are numbers, as numbers.

        Raises:
            CompetitionError: a cell is neither.
        """
        text = table[str(self.stored.column)].str.strip()
        if (series := self._series) is not None:
            text = pd.Series(series.times(text.to_frame()), name=text.name)
        plain = pd.to_numeric(text, errors="coerce")
        return plain if plain.notna().all() else times_of_rows(text)

    def periods(self, table: pd.DataFrame, times: "pd.Series[Any]") -> "pd.Series[str] | None":
        """Return the calendar period or the group of each row that its time is ordered within.

        Raises:
            CompetitionError: `within` is a calendar period, and the times are numbers.
        """
        within = self.stored.within
        if (groups := self.within_groups) is not None:
            return groups.names(table)
        if within is None:
            return None
        if times.dtype.kind in "iuf":
            raise CompetitionError(
                f"the split's column {times.name!r} holds numbers, which have no {within}"
            )
        return pd.Series(times.dt.strftime(_FORMATS[within]))

    def _folds(self, table: pd.DataFrame, seed: int, count: int) -> _Folds:
        """Yield the last rows in time, then those before them, and so on, each with the later rows."""
        table = table.reset_index(drop=True)
        times, within = self.order(table)
        days = self.stored.horizon_days
        rest, later = np.arange(len(table)), np.empty(0, dtype=np.intp)
        while len(rest) > count:
            part = times.iloc[rest].reset_index(drop=True)
            if within is None:
                parts = [last_rows(part, days, count)]
            else:
                periods = within.iloc[rest].reset_index(drop=True)
                parts = last_of_each(part, periods, days, seed, count)
            if not any(map(len, parts)):
                break
            for rows in parts:
                yield rest[rows], later
            held_out = np.zeros(len(rest), dtype=np.bool_)
            held_out[np.concatenate(parts)] = True
            later = np.union1d(later, rest[held_out])
            rest = rest[~held_out]
        if not len(later):
            which = f"no {self.within_name} has rows" if self.stored.within else "no rows are left"
            side = "after" if self.stored.earliest else "before"
            raise self._fault(f": {which} {side} the ones held back")

    def order(self, table: pd.DataFrame) -> "tuple[pd.Series[Any], pd.Series[str] | None]":
        """Return the times of rows, larger for those held out, and their periods."""
        times = self.times(table)
        within = self.periods(table, times)
        return times.max() - times if self.stored.earliest else times, within

    def _fold_numbers(self, table: pd.DataFrame, seed: int, folds: int) -> Positions:  # noqa: ARG002 - no chance
        times, within = self.order(table)
        named = np.array(["all"] * len(times) if within is None else within.tolist(), dtype=str)
        together = times.groupby(named)
        places = (together.rank(method="min") - 1) * folds // together.transform("size")
        return places.to_numpy(dtype=int)


_RULES: Mapping[str, type[Rule]] = {
    "random": Random,
    "stratified": Stratified,
    "group": ByGroup,
    "time": ByTime,
}
"""By `kind` of the stored rule."""

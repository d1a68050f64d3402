"""Groupings say which rows a rule keeps together; each file of `groupings/` has one.

By several groupings at once, such as users and items, each group of each has a level between 0 and 1. A
row is held out where all its groups have levels within an interval, and trains where none has; rows that
mix are excluded.

The stored form of a grouping is a `SplitRule` of kind `group`. A new kind of grouping is one file: a
class with the value of `by` and the keys that it takes as fields.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import ValidationError

from comind.domain.competition import SplitRule
from comind.domain.value import Value, describe_error
from comind.errors import CompetitionError
from comind.splits.pooled_rows import PooledRows, Relation
from comind.splits.shuffling import hash_shuffled

SEPARATOR = "\x1f"
"""Joins the cells of one row to a name."""
_PACKAGE = "comind.splits.groupings"
KEYS = ("by", "parts", "separator", "width", "columns", "sizes")
"""Keys of a stored grouping beside its column."""
_LARGEST_COMPONENT = 0.5
_LEAST_KEPT = 0.5  # of the rows, for training
_LEAST_HELD_OUT = 0.25  # of the requested number of rows

_Levels = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
"""The number of each row's group, in the order in which groups are held out."""


class Grouping(Value):
    """The groups of rows by some columns; the fields are its keys in `competition.yaml`."""

    by: ClassVar[str | None]
    """The value of the key `by`."""
    of_ids: ClassVar[bool] = False
    """Whether it says how ids name the series within which a time split orders rows."""
    has_times: ClassVar[bool] = False
    """Whether the ids have times, too."""
    of_duplicates: ClassVar[bool] = False
    """Whether its groups are equal rows, which other groupings explain where there are any."""
    is_certain: ClassVar[bool] = False
    """Whether the form of the ids alone proves it, so that no relation between rows overrules it."""

    @property
    def plural(self) -> str:
        """The name of its groups, in the plural."""
        raise NotImplementedError

    @property
    def related(self) -> str:
        """The end of the phrase "rows are ..." for rows with others of their group in train."""
        return f"of {self.plural} that have other rows in train"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the name of each row's group; any subset that holds whole groups has the same groups.

        Raises:
            CompetitionError: a cell cannot be parsed.
        """
        raise NotImplementedError

    def times(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the times in the ids, which `names` removes, as text."""
        raise NotImplementedError

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield the relations, by this grouping, that may separate test rows from train."""
        yield from ()

    @classmethod
    def further_candidates(cls, pool: PooledRows, explained: Collection[str]) -> Iterator[Relation]:
        """Yield candidates of columns other than those in which a grouping is `explained`."""
        yield from ()

    @classmethod
    def of_column(cls, train: "pd.Series[str]", test: "pd.Series[str]") -> "ColumnGroups | None":
        """Return the groups of a column's cells, where a plain rule may be by this grouping."""
        return None

    @property
    def rule(self) -> SplitRule:
        """The stored form."""
        return SplitRule(kind="group", by=self.by, **self.model_dump())

    @classmethod
    def of(cls, rule: SplitRule) -> "Grouping":
        """Return the grouping of a stored rule without its `also`.

        Raises:
            CompetitionError: keys are missing, or superfluous; the message is one for the key `split`.
        """
        kind = kinds_of_grouping().get(rule.by)
        if kind is None:
            known = ", ".join(repr(name) for name in kinds_of_grouping() if name)
            raise CompetitionError(f"'by' is one of {known}, not {rule.by!r}")
        given = {name: value for name in ("column", *KEYS[1:]) if (value := getattr(rule, name))}
        required = [name for name, field in kind.model_fields.items() if field.is_required()]
        if "column" in required and "column" not in given:
            raise CompetitionError(f"a {rule.kind} split requires 'column'")
        if other := [name for name in given if name not in kind.model_fields]:
            uses = f"'by: {rule.by}' uses {' and '.join(map(repr, required))}"
            fault = f"{uses}; {other[0]!r} is not allowed" if rule.by else f"{other[0]!r} requires 'by'"
            raise CompetitionError(fault)
        if missing := [name for name in required if name not in given]:
            raise CompetitionError(f"'by: {rule.by}' requires {missing[0]!r}")
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            raise CompetitionError(describe_error(error, given)[1]) from None


class ColumnGroups(NamedTuple):
    """The groups of the cells of one column, by a plain rule."""

    grouping: Grouping
    reason: str
    """What it means if no group is in both train and test."""
    train: "pd.Series[Any]"
    """Any name of each row's group."""
    test: "pd.Series[Any]"


class ColumnGrouping(Grouping):
    """The groups by the cells of one column."""

    column: str

    @property
    def part(self) -> str:
        """The part of a cell that names its group, in parentheses; empty for all of it."""
        return ""

    @property
    def plural(self) -> str:
        """The name of its groups, in the plural."""
        return f"groups of one {self.column}{self.part}"


@cache
def kinds_of_grouping() -> dict[str | None, type[Grouping]]:
    """Return the classes in the files of `groupings/` by the value of `by`, in the files' order."""
    found: dict[str | None, type[Grouping]] = {}
    for file in sorted(iter_modules(import_module(_PACKAGE).__path__), key=lambda file: file.name):
        module = import_module(f"{_PACKAGE}.{file.name}")
        for each in vars(module).values():
            if isinstance(each, type) and each.__module__ == module.__name__ and "by" in vars(each):
                assert issubclass(each, Grouping)
                found[each.by] = each
    return found


def row_groups(table: pd.DataFrame, rule: SplitRule) -> "pd.Series[str]":
    """Return the group of each row by a rule of kind `group`, as text.

    Of several groupings, rows linked by a chain of shared groups are one group, if no such group has
    more than half of the rows; otherwise the groups are those of the first grouping.

    Raises:
        CompetitionError: a cell cannot be parsed as the rule requires.
    """
    groups = [Grouping.of(each).names(table) for each in rule.groupings]
    linked = linked_groups(groups) if rule.also else None
    return groups[0] if linked is None else linked


def linked_groups(groupings: "list[pd.Series[str]]") -> "pd.Series[str] | None":
    """Return the connected components of rows that share a group in any of several groupings.

    A component is named by the position of its first row. None if one has more than half of the rows.
    """
    rows = len(groupings[0])
    numbers = [pd.factorize(groups)[0] for groups in groupings]
    first = rows + np.cumsum([0, *(each.max(initial=-1) + 1 for each in numbers)])
    ends = np.concatenate([each + start for each, start in zip(numbers, first, strict=False)])
    component = connected(np.tile(np.arange(rows), len(numbers)), ends, int(first[-1]))[:rows]
    _, at, found, sizes = np.unique(
        component, return_index=True, return_inverse=True, return_counts=True
    )
    if sizes.max(initial=0) > _LARGEST_COMPONENT * rows:
        return None
    return pd.Series(at[found].astype(str), index=groupings[0].index, dtype=str)


def connected(starts: "np.ndarray", ends: "np.ndarray", nodes: int) -> "np.ndarray[Any, Any]":
    """Return the number of each node's connected component, shape (nodes,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(ends)), (starts, ends)), shape=(nodes, nodes))
    return np.asarray(connected_components(links, directed=False)[1])


def shuffled_codes(groupings: "Sequence[pd.Series[str]]", seed: int) -> list[Codes]:
    """Number the groups of each grouping in a shuffled order."""
    numbered = []
    for number, groups in enumerate(groupings):
        codes, names = pd.factorize(f"{number}:" + groups)
        place = pd.Index(hash_shuffled(names.tolist(), seed)).get_indexer(names)
        numbered.append(place[codes])
    return numbered


def crossed_folds(groupings: Sequence[Codes], count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of each fold's validation rows and of its excluded rows, both ascending.

    A fold has `count` rows or, if training rows would then be fewer than half, so many that these are
    half, but at least a quarter of `count`. The groups of further groupings are ordered by themselves
    or, where that excludes fewer rows, as the groups of the first that they occur with (so that groups
    nested in others are held out with them). Ends when the groups are used up.
    """
    options = [
        _crossed_folds(levels, count) for levels in (_levels(groupings), _levels_of_first(groupings))
    ]
    started = [(first, folds) for folds in options if (first := next(folds, None)) is not None]
    if started:
        first, folds = min(started, key=lambda one: len(one[0][1]))
        yield first
        yield from folds


def _crossed_folds(levels: _Levels, count: int) -> Iterator[tuple[list[int], list[int]]]:
    end = _next_end(levels, start := 0.0, count)
    while end is not None:
        inside = (levels > start) & (levels <= end)
        held_out, touched = inside.all(axis=1), inside.any(axis=1)
        yield np.flatnonzero(held_out).tolist(), np.flatnonzero(touched & ~held_out).tolist()
        end = _next_end(levels, start := end, count)


def _levels(groupings: Sequence[Codes]) -> _Levels:
    """Return the level of each row in each grouping: the share of rows in groups up to its own."""
    return np.column_stack([np.bincount(each).cumsum()[each] / len(each) for each in groupings])


def _levels_of_first(groupings: Sequence[Codes]) -> _Levels:
    """Return levels by the first grouping; a group of another has the median of its rows' levels."""
    first = _levels(groupings[:1])[:, 0]
    columns = [first]
    for groups in groupings[1:]:
        order = np.lexsort((first, groups))
        sizes = np.bincount(groups)
        columns.append(first[order][sizes.cumsum() - sizes // 2 - 1][groups])
    return np.column_stack(columns)


def _next_end(levels: _Levels, start: float, count: int) -> float | None:
    """Return the end of the interval above `start` that holds out rows; None if too few are left."""
    free = np.where(levels > start, levels, np.inf)
    ends = np.unique(free[np.isfinite(free)])
    whole = np.sort(levels.max(axis=1)[(levels > start).all(axis=1)])
    held_out = np.searchsorted(whole, ends, "right")
    kept = len(levels) - np.searchsorted(np.sort(free.min(axis=1)), ends, "right")
    enough = held_out >= max(1, _LEAST_HELD_OUT * count)
    enough &= kept > 0
    if not enough.any():
        return None
    full = np.flatnonzero(held_out >= count)
    half = np.flatnonzero(kept >= _LEAST_KEPT * len(levels))
    at = max(int(enough.argmax()), int(half[-1]) if len(half) else 0)
    return float(ends[min(at, int(full[0])) if len(full) else at])

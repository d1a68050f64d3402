"""Which rows each kind of split holds back; a pure function of the table, the rule and the seed.

Rows and groups are ordered by a hash, so the same split comes out on every machine and with every
version of every library.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.evaluation.splits.groups import row_groups, row_periods, row_times

__all__ = ["choose_fold", "choose_validation_rows", "hash_shuffled", "iter_folds", "validation_size"]

T = TypeVar("T")

_SHARE, _LEAST, _MOST = 0.1, 300, 0.25


def choose_validation_rows(table: pd.DataFrame, rule: SplitRule, seed: int) -> list[int]:
    """Return the positions of the validation rows of `table` (text cells), ascending.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    rows, _ = choose_fold(table, rule, seed, 0)
    return rows


def choose_fold(
    table: pd.DataFrame, rule: SplitRule, seed: int, number: int
) -> tuple[list[int], list[int]]:
    """Return the positions of one fold's rows, and of rows left out of it, as `iter_folds` has them.

    A fold that the table does not bear is empty.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    return next(itertools.islice(iter_folds(table, rule, seed), number, None), ([], []))


def iter_folds(table: pd.DataFrame, rule: SplitRule, seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of each fold's validation rows, and of rows left out of it; both ascending.

    Fold 0 holds the validation rows of the split itself; those of the next folds are others, taken by
    the same rule: the next rows, or groups, of the same shuffle, or the stretch of time before. Only
    there rows are left out, those that are later than the fold's.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    for name in rule.used_columns:
        if name not in table.columns:
            raise CompetitionError(f"the split's column {name!r} is not in train.csv")
    size = validation_size(len(table), rule.fraction)
    if not 0 < size < len(table):
        raise CompetitionError(f"train.csv has {len(table)} rows, too few to hold some back")
    folds: Iterator[list[int]]
    match rule.kind:
        case "random":
            order = hash_shuffled(range(len(table)), seed)
            folds = (order[first : first + size] for first in range(0, len(table), size))
        case "stratified":
            folds = _stratified(table, rule, seed, size)
        case "group":
            folds = _whole_groups(table, rule, seed, size)
        case "time":
            yield from _stretches(table, rule, seed, size)
            return
    for rows in folds:
        yield sorted(rows), []


def validation_size(rows: int, fraction: float | None) -> int:
    """Return how many rows to hold back: a tenth, but 300 while that is at most a quarter."""
    if fraction is not None:
        return max(1, round(rows * fraction)) if rows else 0
    return max(round(rows * _SHARE), min(_LEAST, math.floor(rows * _MOST)))


def hash_shuffled(items: Sequence[T], seed: int) -> list[T]:
    """Return `items` in an order that depends on them and the seed alone."""

    def key(item: T) -> bytes:
        return hashlib.sha256(f"{seed}:{item}".encode()).digest()

    return sorted(items, key=key)


def _members(labels: "pd.Series", order: list[int]) -> dict[str, list[int]]:
    """Return the rows of each label, in the given order."""
    members: dict[str, list[int]] = {}
    values = labels.tolist()
    for row in order:
        members.setdefault(values[row], []).append(row)
    return members


def _stratified(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> Iterator[list[int]]:
    """Yield rows of each class in proportion; a class with two rows or more keeps one to learn from.

    A class of one row stays with the rows to learn from.
    """
    members = _members(table[rule.column], hash_shuffled(range(len(table)), seed))
    share = count / len(table)
    most = {label: len(rows) - 1 for label, rows in members.items()}
    taken = {label: min(most[label], math.floor(len(rows) * share)) for label, rows in members.items()}
    remainder = {label: (len(rows) * share) % 1.0 for label, rows in members.items()}
    # The rows that rounding left over go to the classes that lost most by it.
    for label in sorted(members, key=lambda label: (-remainder[label], str(label))):
        if sum(taken.values()) < count and taken[label] < most[label]:
            taken[label] += 1
    if not sum(taken.values()):
        raise CompetitionError(
            f"the split's column {rule.column!r} has no class with two rows; it cannot be stratified"
        )
    for fold in itertools.count():
        parts = (members[label][fold * number :][:number] for label, number in taken.items())
        rows = [row for part in parts for row in part]
        if not rows:
            return
        yield rows


def _whole_groups(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> Iterator[list[int]]:
    """Yield whole groups, until the next one would lead further from `count` than stopping does."""
    members = _members(row_groups(table, rule), list(range(len(table))))
    if len(members) < 2:  # noqa: PLR2004 - one to learn from, one to validate on
        what = ", ".join(rule.used_columns)
        raise CompetitionError(f"the split's column {what!r} has one group only")
    names = hash_shuffled(list(members), seed)
    last = len(names) - 1  # is there to learn from, at first; later others are
    while names:
        rows, taken = list[int](), 0
        for name in names[:last]:
            group = members[name]
            if rows and abs(len(rows) + len(group) - count) >= abs(len(rows) - count):
                break
            rows += group
            taken += 1
        yield rows
        names, last = names[taken:], len(names)


def _stretches(
    table: pd.DataFrame, rule: SplitRule, seed: int, count: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the last rows in time, then those before them, and so on; each time with what is later."""
    times = row_times(table, rule).reset_index(drop=True)
    within = None
    if rule.within is not None:
        within = row_periods(table, times, rule.within).reset_index(drop=True)
    rest, later = list(range(len(table))), list[int]()
    while len(rest) > count:
        part = times.iloc[rest].reset_index(drop=True)
        try:
            if within is None:
                parts = [_tail(part, rule, count)]
            else:
                parts = _tails(part, within.iloc[rest].reset_index(drop=True), rule, seed, count)
        except CompetitionError:
            if later:
                return
            raise
        for rows in parts:
            yield sorted(rest[row] for row in rows), sorted(later)
        gone = {rest[row] for rows in parts for row in rows}
        later += gone
        rest = [row for row in rest if row not in gone]


def _tail(times: "pd.Series", rule: SplitRule, count: int) -> list[int]:
    """Take the rows after a moment: the last days, or the last rows; equal times stay together."""
    if rule.horizon_days is None:
        start = times.sort_values().iloc[len(times) - count]
        late = times >= start
        if late.all():  # so many rows have the first time; then hold back what comes after it
            late = times > start
    else:
        days = rule.horizon_days
        span = days if times.dtype.kind in "iuf" else pd.Timedelta(days=days)
        late = times > times.max() - span
    if late.all() or not late.any():
        raise CompetitionError(
            f"the split's column {rule.column!r}: no rows are left before the ones held back"
        )
    return [int(row) for row in late.to_numpy().nonzero()[0]]


def _tails(
    times: "pd.Series", within: "pd.Series[str]", rule: SplitRule, seed: int, count: int
) -> list[list[int]]:
    """Take the last rows of each stretch of time, or of each group; each keeps rows to learn from.

    Where these would be far more than `count`, they are several parts: the tails of some, chosen by the
    seed, then those of others.
    """
    if rule.horizon_days is None:  # the last quarter of its rows, and of two rows one
        place, size = times.groupby(within).rank(method="max"), times.groupby(within).transform("size")
        late = place > size - (size * _MOST).clip(lower=1).round()
    else:
        plain = times.dtype.kind in "iuf"
        span = rule.horizon_days if plain else pd.Timedelta(days=rule.horizon_days)
        late = times > times.groupby(within).transform("max") - span
    late &= ~late.groupby(within).transform("all")
    if not late.any():
        raise CompetitionError(
            f"the split's column {rule.column!r}: no {rule.within} has rows before the ones held back"
        )
    rows = [int(row) for row in late.to_numpy().nonzero()[0]]
    if len(rows) <= max(count, _MOST * len(times)):
        return [rows]
    tails = _members(within, rows)
    parts: list[list[int]] = [[]]
    for name in hash_shuffled(list(tails), seed):
        if len(parts[-1]) >= count:
            parts.append([])
        parts[-1] += tails[name]
    return parts

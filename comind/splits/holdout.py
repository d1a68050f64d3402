"""Choose the rows that each kind of split rule holds out, a pure function of table, rule and seed.

Rows and groups are ordered by a hash, so splits are the same on every machine and with every version of
every library.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.crossed_groups import Codes, crossed_folds
from comind.splits.groups import (
    check_rule_columns,
    linked_groups,
    row_groups,
    row_periods,
    row_times,
)

T = TypeVar("T")
Positions = npt.NDArray[np.intp]

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
    """Return the positions of one fold's validation rows, and of rows excluded from it.

    Empty if the table is too small for so many folds; see `iter_folds`.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    return next(itertools.islice(iter_folds(table, rule, seed), number, None), ([], []))


def iter_folds(table: pd.DataFrame, rule: SplitRule, seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of each fold's validation rows, and of rows excluded from it; both ascending.

    Fold 0 has the validation rows of the split itself. Further folds are disjoint: the next rows, or
    groups, of the same shuffle, or the time before. Time folds exclude the later rows, and folds by
    several groupings those with groups of both parts.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    check_rule_columns(table, rule)
    size = validation_size(len(table), rule.fraction)
    if not 0 < size < len(table):
        raise CompetitionError(f"train.csv has {len(table)} rows, too few to hold some back")
    folds: Iterator[Positions]
    match rule.kind:
        case "random":
            order = _hash_order(range(len(table)), seed)
            folds = (order[first : first + size] for first in range(0, len(table), size))
        case "stratified":
            folds = _stratified(table, rule, seed, size)
        case "group" if rule.also and (crossed := _crossed(table, rule, seed)):
            yield from _crossed_folds(crossed, rule, size)
            return
        case "group":
            folds = _whole_groups(table, rule, seed, size)
        case "time":
            yield from _time_folds(table, rule, seed, size)
            return
    for rows in folds:
        yield np.sort(rows).tolist(), []


def validation_size(rows: int, fraction: float | None) -> int:
    """Return the number of rows to hold out: a tenth, at least 300 if that is at most a quarter."""
    if fraction is not None:
        return max(1, round(rows * fraction)) if rows else 0
    return max(round(rows * _SHARE), min(_LEAST, math.floor(rows * _MOST)))


def hash_shuffled(items: Sequence[T], seed: int) -> list[T]:
    """Shuffle `items` by a hash of the seed and each item."""
    return [items[place] for place in _hash_order(items, seed).tolist()]


def _hash_order(items: Sequence[object], seed: int) -> Positions:
    """Return the positions of `items` in the order of `hash_shuffled`."""
    numbers = np.fromiter((_number(seed, item) for item in items), dtype=np.uint64, count=len(items))
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    if (ordered[1:] == ordered[:-1]).any():  # improbable, but for equal items
        return np.array(sorted(range(len(items)), key=lambda place: _digest(seed, items[place])))
    return order


def _digest(seed: int, item: object) -> bytes:
    return hashlib.sha256(f"{seed}:{item}".encode()).digest()


def _number(seed: int, item: object) -> int:
    """Return the first 64 bits of the hash, which order items as all of it does."""
    return int.from_bytes(_digest(seed, item)[:8], "big")


def _members(labels: "pd.Series", order: Positions) -> dict[str, Positions]:
    """Group rows by label, in the given order; labels in the order of their first row."""
    codes, values = pd.factorize(labels.iloc[order], use_na_sentinel=False)
    rows = order[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(codes, minlength=len(values)))
    return dict(zip(values.tolist(), np.split(rows, ends[:-1]), strict=False))


def _stratified(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> Iterator[Positions]:
    """Yield rows of each class in proportion; each class keeps at least one row for training."""
    members = _members(table[rule.column], _hash_order(range(len(table)), seed))
    share = count / len(table)
    most = {label: len(rows) - 1 for label, rows in members.items()}
    taken = {label: min(most[label], math.floor(len(rows) * share)) for label, rows in members.items()}
    remainder = {label: (len(rows) * share) % 1.0 for label, rows in members.items()}
    # Rows left over by rounding go to the classes with the largest remainders.
    for label in sorted(members, key=lambda label: (-remainder[label], str(label))):
        if sum(taken.values()) < count and taken[label] < most[label]:
            taken[label] += 1
    if not sum(taken.values()):
        raise CompetitionError(
            f"the split's column {rule.column!r} has no class with two rows; it cannot be stratified"
        )
    for fold in itertools.count():
        parts = [members[label][fold * number :][:number] for label, number in taken.items()]
        rows = np.concatenate(parts)
        if not len(rows):
            return
        yield rows


def _whole_groups(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> Iterator[Positions]:
    """Yield whole groups, as many as come closest to `count` rows."""
    members = _members(row_groups(table, rule), np.arange(len(table)))
    if len(members) < 2:  # noqa: PLR2004 - for training, for validation
        what = ", ".join(rule.used_columns)
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
        yield np.concatenate(parts)
        names, last = names[len(parts) :], len(names)


def _crossed(table: pd.DataFrame, rule: SplitRule, seed: int) -> list[Codes]:
    """Number the groups of each grouping in a shuffled order; empty if components are small."""
    groupings = [row_groups(table, each).reset_index(drop=True) for each in rule.groupings]
    if linked_groups(groupings) is not None:
        return []
    numbered = []
    for number, groups in enumerate(groupings):
        codes, names = pd.factorize(f"{number}:" + groups)
        place = pd.Index(hash_shuffled(names.tolist(), seed)).get_indexer(names)
        numbered.append(place[codes])
    return numbered


def _crossed_folds(
    groupings: list[Codes], rule: SplitRule, count: int
) -> Iterator[tuple[list[int], list[int]]]:
    folds = crossed_folds(groupings, count)
    first = next(folds, None)
    if first is None:
        what = " and ".join(repr(name) for name in rule.used_columns)
        raise CompetitionError(f"the split's columns {what}: no rows share nothing with the others")
    yield first
    yield from folds


def _time_folds(
    table: pd.DataFrame, rule: SplitRule, seed: int, count: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the last rows in time, then those before them, and so on, each with the later rows."""
    times = row_times(table, rule).reset_index(drop=True)
    within = None
    if rule.within is not None:
        within = row_periods(table, times, rule).reset_index(drop=True)
    rest, later = np.arange(len(table)), np.empty(0, dtype=np.intp)
    while len(rest) > count:
        part = times.iloc[rest].reset_index(drop=True)
        try:
            if within is None:
                parts = [_last_rows(part, rule, count)]
            else:
                parts = _last_of_each(part, within.iloc[rest].reset_index(drop=True), rule, seed, count)
        except CompetitionError:
            if len(later):
                return
            raise
        for rows in parts:
            yield np.sort(rest[rows]).tolist(), later.tolist()
        held_out = np.zeros(len(rest), dtype=np.bool_)
        held_out[np.concatenate(parts)] = True
        later = np.union1d(later, rest[held_out])
        rest = rest[~held_out]


def _span(times: "pd.Series", days: int) -> "int | pd.Timedelta":
    """Return a horizon in the unit of the times, which may be plain numbers."""
    return days if times.dtype.kind in "iuf" else pd.Timedelta(days=days)


def _last_rows(times: "pd.Series", rule: SplitRule, count: int) -> Positions:
    """Return the rows of the last days, or the last rows; equal times stay together."""
    if rule.horizon_days is None:
        start = times.sort_values().iloc[len(times) - count]
        late = times >= start
        if late.all():  # most rows have the first time
            late = times > start
    else:
        late = times > times.max() - _span(times, rule.horizon_days)
    if late.all() or not late.any():
        raise CompetitionError(
            f"the split's column {rule.column!r}: no rows are left before the ones held back"
        )
    return np.flatnonzero(late)


def _last_of_each(
    times: "pd.Series", within: "pd.Series[str]", rule: SplitRule, seed: int, count: int
) -> list[Positions]:
    """Return the last rows of each period or group, which each keep rows for training.

    If these are far more than `count`, they are divided into several folds by shuffled groups.
    """
    if rule.horizon_days is None:  # the last quarter of its rows, and of two rows one
        place, size = times.groupby(within).rank(method="max"), times.groupby(within).transform("size")
        late = place > size - (size * _MOST).clip(lower=1).round()
    else:
        span = _span(times, rule.horizon_days)
        late = times > times.groupby(within).transform("max") - span
    late &= ~late.groupby(within).transform("all")
    if not late.any():
        raise CompetitionError(
            f"the split's column {rule.column!r}: no {rule.within_name} has rows before the ones held "
            "back"
        )
    rows = np.flatnonzero(late)
    if len(rows) <= max(count, _MOST * len(times)):
        return [rows]
    tails = _members(within, rows)
    parts: list[list[Positions]] = [[]]
    taken = 0
    for name in hash_shuffled(list(tails), seed):
        if taken >= count:
            parts.append([])
            taken = 0
        parts[-1].append(tails[name])
        taken += len(tails[name])
    return [np.concatenate(part) for part in parts]

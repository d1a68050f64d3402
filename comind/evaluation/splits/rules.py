"""Which rows each kind of split holds back; a pure function of the table, the rule and the seed.

Rows and groups are ordered by a hash, so the same split comes out on every machine and with every
version of every library.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import TypeVar

import pandas as pd

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.evaluation.splits.answer_files import picture_of

__all__ = ["choose_rows", "groups_of", "shuffled", "times_of", "validation_count"]

T = TypeVar("T")

_SHARE, _LEAST, _MOST = 0.1, 300, 0.25


def choose_rows(table: pd.DataFrame, rule: SplitRule, seed: int) -> list[int]:
    """Return the positions of the validation rows of `table` (text cells), ascending.

    Raises:
        CompetitionError: the rule does not fit the table.
    """
    if rule.column is not None and rule.column not in table.columns:
        raise CompetitionError(f"the split's column {rule.column!r} is not in train.csv")
    count = validation_count(len(table), rule.fraction)
    if not 0 < count < len(table):
        raise CompetitionError(f"train.csv has {len(table)} rows, too few to hold some back")
    match rule.kind:
        case "random":
            rows = shuffled(range(len(table)), seed)[:count]
        case "stratified":
            rows = _stratified(table, rule, seed, count)
        case "group":
            rows = _whole_groups(table, rule, seed, count)
        case "time":
            rows = _tail(table, rule, count)
    return sorted(rows)


def validation_count(rows: int, fraction: float | None) -> int:
    """Return how many rows to hold back: a tenth, but 300 while that is at most a quarter."""
    if fraction is not None:
        return max(1, round(rows * fraction)) if rows else 0
    return max(round(rows * _SHARE), min(_LEAST, math.floor(rows * _MOST)))


def groups_of(table: pd.DataFrame, rule: SplitRule) -> "pd.Series":
    """Return the group of each row, as text."""
    if rule.by == "date":
        return pd.Series(times_of(table, rule).dt.strftime("%Y-%m-%d"))
    return picture_of(table[rule.column]) if rule.by == "picture" else table[rule.column]


def times_of(table: pd.DataFrame, rule: SplitRule) -> "pd.Series":
    """Return the split's column as times or, where it holds plain numbers, as those.

    Raises:
        CompetitionError: a cell holds neither.
    """
    text = table[rule.column].str.strip()
    plain = pd.to_numeric(text, errors="coerce")
    if rule.by is None and plain.notna().all():
        return plain
    times = pd.to_datetime(text, errors="coerce", format="mixed", utc=True)
    if times.isna().any():
        first = text[times.isna()].iloc[0]
        raise CompetitionError(f"the split's column {rule.column!r} holds no time: {first!r}")
    return times


def shuffled(items: Sequence[T], seed: int) -> list[T]:
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


def _stratified(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> list[int]:
    """Take from each class in proportion; a class with two rows or more keeps one to learn from.

    A class of one row stays with the rows to learn from.
    """
    members = _members(table[rule.column], shuffled(range(len(table)), seed))
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
    return [row for label, number in taken.items() for row in members[label][:number]]


def _whole_groups(table: pd.DataFrame, rule: SplitRule, seed: int, count: int) -> list[int]:
    """Take whole groups until the next one would lead further from `count` than stopping does."""
    members = _members(groups_of(table, rule), list(range(len(table))))
    if len(members) < 2:  # noqa: PLR2004 - one to learn from, one to validate on
        raise CompetitionError(f"the split's column {rule.column!r} has one group only")
    rows: list[int] = []
    for name in shuffled(list(members), seed)[:-1]:
        group = members[name]
        if rows and abs(len(rows) + len(group) - count) >= abs(len(rows) - count):
            break
        rows += group
    return rows


def _tail(table: pd.DataFrame, rule: SplitRule, count: int) -> list[int]:
    """Take the rows after a moment: the last days, or the last rows; equal times stay together."""
    times = times_of(table, rule)
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

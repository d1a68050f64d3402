"""Search for the split rule that reproduces how the test rows were separated from train.

Test labels are never known; the comparison uses the columns that train and test share, ids included.
Each column by itself gives a plain rule; relations between rows give finer ones.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.splits.adversarial_validation import adversarial_auc
from comind.splits.grouping import kinds_of_grouping, row_groups
from comind.splits.pooled_rows import (
    LEAST_RELATED,
    MOST_SEPARATED,
    PooledRows,
    Relation,
    related_share,
)
from comind.splits.relations import (
    LARGEST_GROUP,
    LEAST_GROUPS,
    FollowedInTime,
    NearestNeighbour,
    SameGroup,
)
from comind.splits.rule import Rule
from comind.splits.time_order import LEAST_PERIODS, PRESENT, time_candidates
from comind.splits.times import SAMPLE, dates_of_both
from comind.tables.mapped_table import release_memory
from comind.tables.unified_cells import unify

_FEWEST_A_CLASS = 5  # labelled rows, on average; below, a class may have none to hold out
_LATER = 0.99  # share of train rows before the median test row, at least
_IMPROBABLE = 14.0  # as a natural logarithm: one in a million
_MOST_COLUMNS = 20  # of groups within which time order is examined
_QUARTER = 4
_LONGEST = 100_000  # range of a numeric time; beyond, its unit is seconds rather than days
_MOST_GROUPINGS = 3
_RELATED = 0.05  # share of validation rows; below, a grouping follows from the others
_LATER_ROWS, _NAMED_PLACE, _GROUPS, _DUPLICATES, _CONTINUOUS, _GUESSED_PLACE = range(6)
_BY_COLUMN = (_GROUPS, _CONTINUOUS)

RuleWithReason = tuple[SplitRule, str]


@dataclass(frozen=True, slots=True)
class RelationShares:
    """The shares of train and test rows related to train by one relation."""

    relation: Relation
    train: float
    """Of train rows, to the other train rows; what random test rows would have."""
    test: float
    """Of test rows, to train rows."""

    @classmethod
    def of(cls, relation: Relation) -> "RelationShares":
        """Measure a relation."""
        pool = relation.pool
        if isinstance(relation, NearestNeighbour):
            each = relation.train_distances, relation.test_distances
            return cls(relation, *(float((near <= relation.radius).mean()) for near in each))
        test = related_share(relation, pool.test, pool.train)
        return cls(relation, related_share(relation, pool.train), test)

    @property
    def reason(self) -> str:
        """The two shares, in words."""
        return (
            f"{self.test:.0%} of test rows, but {self.train:.0%} of train rows, are "
            f"{self.relation.description}"
        )

    def is_separated(self) -> bool:
        """Return whether so few test rows are related that a random test set is improbable."""
        rows = len(self.relation.pool.test)
        by_chance = -rows * math.log1p(-min(self.train, 1 - 1e-9))
        return self.test <= MOST_SEPARATED and by_chance >= _IMPROBABLE


@dataclass(frozen=True, slots=True)
class Comparison:
    """Test rows compared with train rows."""

    shares: list[RelationShares]
    """One for each relation that many train rows have to each other."""
    adversarial: tuple[float, str] | None
    """ROC AUC of a classifier of test against train rows, and the column with the most importance."""
    features: tuple[str, ...] = ()
    """The columns that it compares: no ids, and none with groups that train and test do not share."""

    def separated(self) -> list[RelationShares]:
        """Return the relations that separated the test rows and can be split by, the preferred first."""
        return sorted(filter(_is_separated, self.shares), key=_precedence)


def plain_rule(
    train: pd.DataFrame, test: pd.DataFrame, labels: tuple[str, ...], answer_kind: AnswerKind
) -> RuleWithReason:
    """Return the rule that the columns show one by one, and the reason.

    Cells are text; columns of `test` are named as in `train`.
    """
    shared = [column for column in test.columns if column in train.columns]
    for find in (_follows, _has_other_groups):
        for column in shared:
            found = find(*unify(train[column], test[column])[:2])
            release_memory()
            if found is not None:
                return found
    if len(labels) == 1 and answer_kind.of_classes:
        classes = train[labels[0]].nunique()
        if 1 < classes <= max(2, len(train) // _FEWEST_A_CLASS):
            rule = SplitRule(kind="stratified", column=labels[0])
            return rule, f"the label {labels[0]!r} has {classes} classes, kept in proportion"
    return SplitRule(kind="random"), "neither time, groups nor classes separate test rows from train"


def _follows(train: "pd.Series[str]", test: "pd.Series[str]") -> RuleWithReason | None:
    """Return a time rule if the test rows follow, or precede, the train rows in a column of dates."""
    dates = dates_of_both(train, test)
    if dates is None:
        return None
    last = dates.train.max()
    for earliest, verb in ((False, "follow"), (True, "precede")):
        before, after = ((last - each if earliest else each) for each in dates[:2])
        if (before <= after.quantile(0.5)).mean() < _LATER or after.max() <= before.max():
            continue
        days = max(1, (after.max() - max(before.max(), after.min())).days)
        span = (before.max() - before.min()).days
        horizon = max(1, min(days, span // _QUARTER))
        name = str(train.name)
        rule = SplitRule(kind="time", column=name, earliest=earliest, horizon_days=horizon)
        return rule, f"in {name!r} the test rows {verb} the training rows, by {days} days{dates.note}"
    return None


def _has_other_groups(train: "pd.Series[str]", test: "pd.Series[str]") -> RuleWithReason | None:
    """Return a group rule if groups of a column repeat within train and never appear in test."""
    for kind in kinds_of_grouping().values():
        found = kind.of_column(train, test)
        if found is not None and _are_disjoint(found.train, found.test):
            return found.grouping.rule, found.reason
    return None


def _are_disjoint(train: "pd.Series[Any]", test: "pd.Series[Any]") -> bool:
    if train.isin(test.head(SAMPLE)).any():
        return False
    counts = train.value_counts()
    repeats = counts.median() >= 2  # noqa: PLR2004 - a value that appears twice
    spread = len(counts) >= LEAST_GROUPS and counts.iloc[0] <= LARGEST_GROUP * len(train)
    return bool(repeats and spread and not test.isin(counts.index).any())


def compare(pool: PooledRows) -> Comparison:
    """Compare test rows with train rows by every candidate relation.

    Large tables are sampled, the same rows each time; the train rows they are related to are not.
    """
    if not pool.is_large_enough:
        return Comparison([], None)
    comparison = Comparison(list(_all_shares(pool)), None)
    groups = [each for each in comparison.separated() if _rank(each) in _BY_COLUMN]
    columns = {each.relation.rule.column for each in groups}
    features = tuple(name for name in pool.feature_columns if name not in columns)
    adversarial = adversarial_auc(pool, features, pool.test, pool.train)
    return Comparison(comparison.shares, adversarial, features)


def _all_shares(pool: PooledRows) -> Iterator[RelationShares]:
    """Yield the shares of groups, orders in time, places and duplicates that many train rows have."""
    kinds = kinds_of_grouping().values()
    found = list(_informative(each for kind in kinds for each in kind.candidates(pool)))
    groups = [each for each in found if each.relation.rule.column is not None]
    groups.sort(key=lambda each: pool.columns.index(str(each.relation.rule.column)))
    yield from groups
    explained = {str(each.relation.rule.column) for each in groups if each.is_separated()}
    yield from _informative(one for kind in kinds for one in kind.further_candidates(pool, explained))
    yield from _informative(time_candidates(pool, _shared_groups(groups)))
    yield from sorted((each for each in found if each.relation.rule.column is None), key=_rank)


def _informative(relations: Iterator[Relation]) -> Iterator[RelationShares]:
    """Yield the shares of relations that many train rows have to each other."""
    return (each for each in map(RelationShares.of, relations) if each.train >= LEAST_RELATED)


def _shared_groups(shares: list[RelationShares]) -> list[SameGroup]:
    """Return groups that train has of most test rows: whole columns first, and text before numbers."""
    fit = []
    for each in shares:
        relation, kind = each.relation, kinds_of_grouping()[each.relation.rule.by]
        if each.test < PRESENT or not kind.of_ids or not isinstance(relation, SameGroup):
            continue
        if LEAST_PERIODS <= len(relation.sizes) <= len(relation.pool.train) // 2:
            fit.append(relation)
    fit.sort(key=lambda each: (each.rule.by or "", each.pool.is_numeric(str(each.rule.column))))
    return fit[:_MOST_COLUMNS]


def _precedence(each: RelationShares) -> tuple[int, float]:
    """Return the place of a relation among others that separated the test rows; the least is preferred.

    Order in time precedes places and groups, and these duplicates. The coarsest groups are taken: rows
    of new patients are also rows of new visits. Groups of continuous numbers, and coordinates by their
    values alone, are the last.
    """
    relation = each.relation
    if isinstance(relation, FollowedInTime):
        return _LATER_ROWS, 0
    if kinds_of_grouping()[relation.rule.by].of_duplicates:
        return _DUPLICATES, 0
    if isinstance(relation, NearestNeighbour):
        return _GUESSED_PLACE if relation.is_guessed else _NAMED_PLACE, each.test - each.train
    assert isinstance(relation, SameGroup)
    continuous = relation.rule.column in relation.pool.continuous_columns
    return _CONTINUOUS if continuous else _GROUPS, len(relation.sizes)


def _is_separated(each: RelationShares) -> bool:
    """Return whether a relation separated the test rows, and a split by it is possible."""
    relation = each.relation
    if isinstance(relation, NearestNeighbour) and _rank(each) != _DUPLICATES:
        return True  # the radius has been fitted by the difference
    if not each.is_separated() or not isinstance(relation, SameGroup):
        return each.is_separated()
    column = relation.rule.column
    return relation.can_be_held_out() and (column is None or relation.pool.is_full(column))


def _rank(each: RelationShares) -> int:
    return _precedence(each)[0]


def find_rule(comparison: Comparison, plain: RuleWithReason) -> RuleWithReason:
    """Return the rule that explains the comparison, or the plain one, with the reason.

    Kept are an order in time that a column shows by itself, and groups that the form of ids proves.
    """
    rule, _ = plain
    if rule.kind == "time" or kinds_of_grouping()[rule.by].is_certain:
        return plain
    separated = comparison.separated()
    for each in separated:
        if isinstance(each.relation, FollowedInTime):
            return _with_horizon(each.relation), each.reason
        if (fitted := _fitted(each, separated)) is not None:
            found = _with_further_groupings(fitted, each.reason, separated)
            return plain if found[0] == rule else found
    return plain


def _fitted(each: RelationShares, separated: list[RelationShares]) -> SplitRule | None:
    """Return the rule by a relation; None of places that are no fewer than the groups of other rules."""
    relation = each.relation
    if not isinstance(relation, NearestNeighbour):
        return relation.rule
    rule = relation.fitted_rule()
    if rule is None or _rank(each) != _NAMED_PLACE:
        return rule
    counts = [count for rank, count in map(_precedence, separated) if rank in _BY_COLUMN]
    pool = relation.pool
    sample = pool.table(rule.columns).iloc[pool.sample(pool.train)]
    return rule if not counts or row_groups(sample, rule).nunique() < counts[0] else None


def _with_further_groupings(
    rule: SplitRule, reason: str, separated: list[RelationShares]
) -> RuleWithReason:
    """Add groupings until validation rows are as separate from train as test rows are.

    Test rows of new users and of new items share neither with train; a split by users alone leaves items
    on both sides. The coarsest groups are tried first, then duplicates. A grouping that follows from the
    others is left out, and one that would leave too few rows.
    """
    reasons = [reason]
    for each in separated:
        if len(rule.groupings) == _MOST_GROUPINGS:
            break
        relation = each.relation
        if _rank(each) not in (_GROUPS, _DUPLICATES) or relation.rule in rule.groupings:
            continue
        if _related(rule, relation) > _RELATED:
            more = rule.model_copy(update={"also": (*rule.also, relation.rule)})
            if _related(more, relation) <= _RELATED:
                rule = more
                reasons.append(each.reason)
    return rule, "; ".join(reasons)


def _related(rule: SplitRule, relation: Relation) -> float:
    """Return the share of a rule's validation rows related to its training rows; 1 if it has none."""
    pool = relation.pool
    try:
        rows, excluded = Rule.of(rule).choose(pool.train_table(rule.used_columns), 0)
    except CompetitionError:
        return 1.0
    rest = pool.train_without(np.union1d(rows, excluded).astype(np.intp))
    return related_share(relation, np.array(rows, dtype=np.intp), rest)


def _with_horizon(later: FollowedInTime) -> SplitRule:
    """Return the rule with the test set's time span as horizon, at most a quarter of train's.

    Without a horizon, which is a whole number, the rule takes a share of the rows.
    """
    pool, times = later.pool, later.times
    within = later.within if later.within is not None else np.zeros(len(pool), dtype=np.intp)
    first = np.full(within.max() + 1, np.inf)
    last, test_last = -first, -first
    np.minimum.at(first, within[pool.train], times[pool.train])
    np.maximum.at(last, within[pool.train], times[pool.train])
    np.maximum.at(test_last, within[pool.test], times[pool.test])
    both = np.isfinite(first) & np.isfinite(test_last)
    ahead = float(np.median((test_last - last)[both]))
    quarter = float(np.median((last - first)[both])) / _QUARTER
    in_days = later.in_days or bool((times == times.round()).all() and np.ptp(times) <= _LONGEST)
    days = int(min(max(1, math.ceil(ahead)), quarter))
    return later.rule.model_copy(update={"horizon_days": days}) if in_days and days >= 1 else later.rule

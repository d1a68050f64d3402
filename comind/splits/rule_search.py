"""Search for the split rule that reproduces how the test rows were separated from train.

Test labels are never known; the comparison uses the columns that train and test share, ids included.
`detect` compares each column by itself; this search adds the last rows of each period or group, numbers
that count time, tokens of composite ids, coordinates and near-duplicates.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from comind.domain.competition import SplitRule
from comind.splits.adversarial_validation import adversarial_auc
from comind.splits.candidates import (
    continuous_columns,
    duplicate_candidates,
    feature_columns,
    group_candidates,
    spatial_candidates,
    time_candidates,
    time_columns,
)
from comind.splits.further_groupings import add_groupings
from comind.splits.groups import row_groups
from comind.splits.id_prefixes import separating_width
from comind.splits.relations import (
    FollowedInTime,
    NearestNeighbour,
    PooledRows,
    Relation,
    SameGroup,
    related_share,
)
from comind.splits.spatial import fit_block_rule, fit_duplicate_rule, fit_radius

MOST_SEPARATED = 0.02
"""Largest share of related test rows where a relation separated them; above 0, as ids have errors."""

_LEAST_TRAIN = 0.3  # share of related train rows from which on a relation is informative
_PRESENT = 0.8  # share of test rows whose period or group train has, too
_LEAST_GROUPS, _LARGEST_GROUP = 5, 0.5
_LEAST_PERIODS = 3
_NAMED, _GUESSED, _DUPLICATES = 0.4, 0.6, 0.2  # least difference between the shares
_IMPROBABLE = 14.0  # as a natural logarithm: one in a million
_MOST_COLUMNS = 20  # of groups within which time order is examined
_NAMED_GROUPS = (None, "parts", "prefix", "series")  # within which time order is examined
_QUARTER = 4
_LONGEST = 100_000  # range of a numeric time; beyond, its unit is seconds rather than days


@dataclass(frozen=True, slots=True)
class RelationShares:
    """The shares of train and test rows related to train by one relation."""

    relation: Relation
    train: float
    """Of train rows, to the other train rows; what random test rows would have."""
    test: float
    """Of test rows, to train rows."""

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


_RuleWithReason = tuple[SplitRule, str]


def compare(pool: PooledRows) -> Comparison:
    """Compare test rows with train rows by every candidate relation.

    Large tables are sampled, the same rows each time; the train rows they are related to are not.
    """
    if not pool.is_large_enough:
        return Comparison([], None)
    shares = [each for each in _all_shares(pool) if each.train >= _LEAST_TRAIN]
    groups = {each.relation.rule.column for _, _, each in _group_shares(_separated(shares))}
    features = tuple(name for name in feature_columns(pool) if name not in groups)
    return Comparison(shares, adversarial_auc(pool, features, pool.test, pool.train), features)


def find_rule(comparison: Comparison, plain: SplitRule) -> _RuleWithReason | None:
    """Return the rule that explains the comparison; None where that is the `plain` one.

    Precedence: order in time, then groups and places, then duplicates. Of several that fit, the
    coarsest is taken: rows of new patients are also rows of new visits.
    """
    if plain.kind == "time" or plain.by == "picture":
        return None
    separated = _separated(comparison.shares)
    for each in separated:
        if isinstance(each.relation, FollowedInTime):
            return _with_horizon(each.relation), each.reason
    group, count = _group_rule(separated)
    for found in (
        _place_rule(separated, count),
        group,
        _duplicate_rule(separated),
        _place_rule(separated, math.inf, guessed=True),
    ):
        if found is not None:
            whole = _with_further_groupings(*found, separated)
            return None if whole[0] == plain else whole
    return None


def _separated(shares: list[RelationShares]) -> list[RelationShares]:
    """Return those that separated the test rows; places have been tested by `fit_radius`."""
    return [each for each in shares if each.relation.rule.by == "place" or each.is_separated()]


def _with_further_groupings(
    rule: SplitRule, reason: str, separated: list[RelationShares]
) -> _RuleWithReason:
    """Add groupings, the coarsest first, then duplicates."""
    pool = separated[0].relation.pool
    groups = [each for _, _, each in sorted(_group_shares(separated), key=lambda one: one[:2])]
    names = continuous_columns(pool)
    others = [each for each in groups if each.relation.rule.column not in names]
    others += [each for each in separated if _keeps_duplicates(each.relation)]
    whole, reasons = add_groupings(pool, rule, [(each.relation, each.reason) for each in others])
    return whole, "; ".join(filter(None, (reason, reasons)))


def _all_shares(pool: PooledRows) -> list[RelationShares]:
    shares = [_shares(each) for each in group_candidates(pool)]
    shares = [each for each in shares if each.train >= _LEAST_TRAIN]
    shares += _shares_of_prefixes(pool, {each.relation.rule.column for each in _separated(shares)})
    groups = _shared_groups(shares)
    for column in time_columns(pool):
        for later in time_candidates(pool, column, groups):
            periods, present = later.shared_periods()
            if present >= _PRESENT and (later.within is None or periods >= _LEAST_PERIODS):
                shares.append(_shares(later))
    shares += [_shares(p) for p in spatial_candidates(pool, guessed=False) if fit_radius(p) >= _NAMED]
    for duplicates in duplicate_candidates(pool):
        if isinstance(duplicates, SameGroup):
            shares.append(_shares(duplicates))
        elif fit_radius(duplicates) >= _DUPLICATES and (rule := fit_duplicate_rule(duplicates)):
            duplicates.rule = rule
            shares.append(_shares(duplicates))
    shares += [_shares(p) for p in spatial_candidates(pool, guessed=True) if fit_radius(p) >= _GUESSED]
    return shares


def _shares_of_prefixes(pool: PooledRows, explained: set[str | None]) -> Iterator[RelationShares]:
    """Yield the shares of ids with equal first characters, for columns without another grouping."""
    for name in pool.columns:
        is_id = name in pool.ids or not pool.is_numeric(name)
        if not is_id or name in explained or pool.is_datetime(name):
            continue
        if width := separating_width(pool, name):
            yield _shares(
                SameGroup(pool, SplitRule(kind="group", column=name, by="prefix", width=width))
            )


def _shares(relation: Relation) -> RelationShares:
    if isinstance(relation, NearestNeighbour):
        each = relation.train_distances, relation.test_distances
        train, test = (float((distances <= relation.radius).mean()) for distances in each)
        return RelationShares(relation, train, test)
    pool = relation.pool
    test = related_share(relation, pool.test, pool.train)
    return RelationShares(relation, related_share(relation, pool.train), test)


def _shared_groups(shares: list[RelationShares]) -> list[SameGroup]:
    """Return groups that train has of most test rows: whole columns first, and text before numbers."""
    relations = [each.relation for each in shares if each.test >= _PRESENT]
    columns = [
        each for each in relations if isinstance(each, SameGroup) and each.rule.by in _NAMED_GROUPS
    ]
    most = len(columns[0].pool.train) // 2 if columns else 0
    fit = [each for each in columns if _LEAST_PERIODS <= len(each.sizes) <= most]
    fit.sort(key=lambda each: (each.rule.by or "", each.pool.is_numeric(str(each.rule.column))))
    return fit[:_MOST_COLUMNS]


def _group_rule(separated: list[RelationShares]) -> tuple[_RuleWithReason | None, float]:
    """Return the rule of the coarsest groups with its reason, and how many groups train has."""
    fit = _group_shares(separated)
    if not fit:
        return None, math.inf
    continuous, count, best = min(fit, key=lambda one: one[:2])
    duplicates = _duplicate_rule(separated) if continuous else None
    return duplicates or (best.relation.rule, best.reason), count


def _group_shares(separated: list[RelationShares]) -> list[tuple[bool, int, RelationShares]]:
    """Return the groupings that can be held out: whether of continuous numbers, how many, the shares."""
    fit = []
    for each in separated:
        relation = each.relation
        if not isinstance(relation, SameGroup) or relation.rule.by == "twins":
            continue
        if relation.rule.column is None or not relation.pool.is_full(relation.rule.column):
            continue
        if _can_be_held_out(relation):
            continuous = relation.rule.column in continuous_columns(relation.pool)
            fit.append((continuous, len(relation.sizes), each))
    return fit


def _duplicate_rule(separated: list[RelationShares]) -> _RuleWithReason | None:
    """Return the rule that keeps equal rows together, else nearly equal ones, with its reason."""
    for each in separated:
        if _keeps_duplicates(each.relation):
            return each.relation.rule, each.reason
    return None


def _keeps_duplicates(relation: Relation) -> bool:
    if relation.rule.by != "twins":
        return False
    return not isinstance(relation, SameGroup) or _can_be_held_out(relation)


def _can_be_held_out(relation: SameGroup) -> bool:
    """Return whether there are enough groups, none of them more than half of train."""
    sizes, rows = relation.sizes, len(relation.pool.train)
    return len(sizes) >= _LEAST_GROUPS and int(sizes[0]) <= _LARGEST_GROUP * rows


def _place_rule(
    separated: list[RelationShares], fewer_than: float, *, guessed: bool = False
) -> _RuleWithReason | None:
    """Return the rule of spatial blocks with its reason, if it has fewer blocks than `fewer_than`."""
    places = [each for each in separated if each.relation.rule.by == "place"]
    for each in sorted(places, key=lambda each: each.test - each.train):
        if not isinstance(each.relation, NearestNeighbour) or each.relation.guessed != guessed:
            continue
        rule = fit_block_rule(each.relation)
        if rule is None:
            continue
        pool = each.relation.pool
        sample = pool.table(rule.columns).iloc[pool.sample(pool.train)]
        if row_groups(sample, rule).nunique() < fewer_than:
            return rule, each.reason
    return None


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

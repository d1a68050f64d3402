"""Find out how the test rows were set apart, and the rule that sets validation rows apart likewise.

Labels of test rows are never known; what train and test share, ids included, is all there is to compare.
`detect` says what a plain look at each column gives; what is found here is finer: the last rows of each
month or group, numbers that count time, parts of composite ids, places, twins.
"""

import math
from dataclasses import dataclass

import numpy as np

from comind.domain.competition import SplitRule
from comind.evaluation.splits.adversarial_validation import adversarial_auc
from comind.evaluation.splits.candidates import (
    continuous_columns,
    duplicate_candidates,
    feature_columns,
    group_candidates,
    spatial_candidates,
    time_candidates,
    time_columns,
)
from comind.evaluation.splits.groups import row_groups
from comind.evaluation.splits.relations import (
    FollowedInTime,
    NearestNeighbour,
    PooledRows,
    Relation,
    SameGroup,
    share,
)
from comind.evaluation.splits.spatial import fit_block_rule, fit_duplicate_rule, measure

__all__ = ["FEW", "Comparison", "Found", "RelationShares", "compare", "find_rule"]

FEW = 0.02
"""Of test rows stand near train rows, at most, where they were set apart; ids are not always clean."""

_TIED = 0.3  # of train rows to each other, at least, for a relation to say anything
_PRESENT = 0.8  # of test rows are in a stretch or group that train has, too
_LEAST_GROUPS, _LARGEST_GROUP = 5, 0.5
_LEAST_STRETCHES = 3
_NAMED, _GUESSED, _TWINS = 0.4, 0.6, 0.2  # what the shares must differ by
_IMPROBABLE = 14.0  # as a natural logarithm: one in a million
_MOST_COLUMNS = 20  # of groups, in each of which the last rows are looked at
_QUARTER = 4
_LONGEST = 100_000  # units of a plain number; beyond, they are seconds rather than days


@dataclass(frozen=True, slots=True)
class RelationShares:
    """A relation, and how many rows stand so to train."""

    relation: Relation
    train: float
    """Share of the rows of train that stand so to others of train, as random test rows would."""
    test: float
    """Share of test rows that stand so to rows of train."""

    @property
    def reason(self) -> str:
        """The two shares, in words."""
        return (
            f"{self.test:.0%} of test rows, but {self.train:.0%} of train rows, are {self.relation.told}"
        )

    def is_clear(self) -> bool:
        """Whether hardly a test row stands so, which rows drawn at random would hardly do."""
        rows = len(self.relation.pool.test)
        by_chance = -rows * math.log1p(-min(self.train, 1 - 1e-9))
        return self.test <= FEW and by_chance >= _IMPROBABLE


@dataclass(frozen=True, slots=True)
class Comparison:
    """Test rows beside rows of train."""

    apart: list[RelationShares]
    """How many stand near to train rows, in each way in which many rows of train do."""
    told: tuple[float, str] | None
    """The area under the ROC curve of a model that tells them apart; the column that helps it most."""


Found = tuple[SplitRule, str]
"""A rule that imitates the test set, and why it does."""


def compare(pool: PooledRows) -> Comparison:
    """Return how test rows stand to those of train.

    Of large parts some rows are asked about, always the same ones; all rows that these may stand near
    to are looked at.
    """
    if not pool.tells:
        return Comparison([], None)
    told = adversarial_auc(pool, feature_columns(pool), pool.test, pool.train)
    return Comparison([each for each in _apart_by(pool) if each.train >= _TIED], told)


def _apart_by(pool: PooledRows) -> list[RelationShares]:
    """Return all ways in which rows may stand near train rows."""
    found = [_apart(pool, each) for each in group_candidates(pool)]
    found = [each for each in found if each.train >= _TIED]
    columns = _columns_in_both(found)
    for times in time_columns(pool):
        for later in time_candidates(pool, times, columns):
            stretches, present = later.shared()
            if present >= _PRESENT and (later.within is None or stretches >= _LEAST_STRETCHES):
                found.append(_apart(pool, later))
    for place in spatial_candidates(pool, guessed=False):
        found += _near(pool, place, _NAMED)
    for twins in duplicate_candidates(pool):
        if isinstance(twins, SameGroup):
            found.append(_apart(pool, twins))
        elif measure(twins) >= _TWINS and (rule := fit_duplicate_rule(twins)) is not None:
            twins.rule = rule
            found.append(_apart(pool, twins))
    for place in spatial_candidates(pool, guessed=True):
        found += _near(pool, place, _GUESSED)
    return found


def find_rule(compared: Comparison, plain: SplitRule) -> Found | None:
    """Return the rule that the comparison speaks for; None where that is the plain one.

    Last in time goes before groups and places, and these before twins. Of several that fit, the
    coarsest is taken: rows of new patients are also rows of new visits.
    """
    if plain.kind == "time" or plain.by == "picture":
        return None
    # Of places `measure` has said already that test rows lie farther away.
    clear = [each for each in compared.apart if each.relation.rule.by == "place" or each.is_clear()]
    for each in clear:
        if isinstance(each.relation, FollowedInTime):
            return _with_horizon(each.relation), each.reason
    group, count = _group(clear)
    for found in (_place(clear, count), group, _twins(clear), _place(clear, math.inf, guessed=True)):
        if found is not None:
            return None if found[0] == plain else found
    return None


def _apart(pool: PooledRows, relation: Relation) -> RelationShares:
    if isinstance(relation, NearestNeighbour):
        train, test = (float((each <= relation.radius).mean()) for each in relation.apart)
        return RelationShares(relation, train, test)
    test = share(relation, pool, pool.test, pool.train)
    return RelationShares(relation, share(relation, pool, pool.train), test)


def _near(pool: PooledRows, near: NearestNeighbour, least: float) -> list[RelationShares]:
    """Return nearness over some columns, where test rows are farther away by at least so much."""
    return [_apart(pool, near)] if measure(near) >= least else []


def _columns_in_both(found: list[RelationShares]) -> list[SameGroup]:
    """Return the columns of groups, few of them, of which most test rows have theirs in train."""
    relations = [each.relation for each in found if each.test >= _PRESENT]
    columns = [each for each in relations if isinstance(each, SameGroup) and each.rule.by is None]
    most = len(columns[0].pool.train) // 2 if columns else 0
    fit = [each for each in columns if _LEAST_STRETCHES <= len(each.sizes) <= most]
    words = [each for each in fit if not each.pool.is_number(str(each.rule.column))]
    return [*words, *(each for each in fit if each not in words)][:_MOST_COLUMNS]


def _group(clear: list[RelationShares]) -> tuple[Found | None, float]:
    """Return the coarsest groups that train and test do not share, and how many train has."""
    fit = []
    for each in clear:
        relation = each.relation
        if not isinstance(relation, SameGroup) or relation.rule.by == "twins":
            continue
        if relation.rule.column is None or not relation.pool.is_full(relation.rule.column):
            continue
        if _divides(relation):
            measured = relation.rule.column in continuous_columns(relation.pool)
            fit.append((measured, len(relation.sizes), each))
    if not fit:
        return None, math.inf
    measured, count, best = min(fit, key=lambda one: one[:2])
    twins = _twins(clear) if measured else None
    return twins or (best.relation.rule, best.reason), count


def _twins(clear: list[RelationShares]) -> Found | None:
    """Return the groups of equal rows, else those of nearly equal ones."""
    for each in clear:
        relation = each.relation
        if relation.rule.by == "twins" and (not isinstance(relation, SameGroup) or _divides(relation)):
            return relation.rule, each.reason
    return None


def _divides(relation: SameGroup) -> bool:
    """Whether the groups are so many, and the largest so small, that some can be held back."""
    sizes, rows = relation.sizes, len(relation.pool.train)
    return len(sizes) >= _LEAST_GROUPS and int(sizes.iloc[0]) <= _LARGEST_GROUP * rows


def _place(clear: list[RelationShares], fewer_than: float, *, guessed: bool = False) -> Found | None:
    """Return blocks of the plane that imitate the test rows' distance, unless groups are as coarse."""
    places = [each for each in clear if each.relation.rule.by == "place"]
    for each in sorted(places, key=lambda each: each.test - each.train):
        if not isinstance(each.relation, NearestNeighbour) or each.relation.guessed != guessed:
            continue
        rule = fit_block_rule(each.relation)
        if rule is None:
            continue
        pool = each.relation.pool
        blocks = row_groups(pool.table(rule.columns).iloc[pool.some(pool.train)], rule).nunique()
        if blocks < fewer_than:
            return rule, each.reason
    return None


def _with_horizon(later: FollowedInTime) -> SplitRule:
    """Return the rule with as long a tail as the test rows have, but at most a quarter of train's time.

    Without a horizon, which is a whole number, the rule takes a share of the rows.
    """
    pool, moments = later.pool, later.moments
    within = later.within if later.within is not None else np.zeros(len(pool), dtype=np.intp)
    first = np.full(within.max() + 1, np.inf)
    last, test_last = -first, -first
    np.minimum.at(first, within[pool.train], moments[pool.train])
    np.maximum.at(last, within[pool.train], moments[pool.train])
    np.maximum.at(test_last, within[pool.test], moments[pool.test])
    both = np.isfinite(first) & np.isfinite(test_last)
    ahead = float(np.median((test_last - last)[both]))
    quarter = float(np.median((last - first)[both])) / _QUARTER
    counted = later.in_days or bool((moments == moments.round()).all() and np.ptp(moments) <= _LONGEST)
    days = int(min(max(1, math.ceil(ahead)), quarter))
    return later.rule.model_copy(update={"horizon_days": days}) if counted and days >= 1 else later.rule

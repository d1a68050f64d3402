"""Compare a finished split with the test set: is validation related to train as test is?

Validation rows that share a group, a duplicate or later rows with train, where test rows do not, make
validation easier than test, and its scores optimistic (leakage).
"""

import math
from dataclasses import dataclass

import numpy as np

from comind.domain.competition import SplitRule
from comind.splits.adversarial_validation import adversarial_auc
from comind.splits.grouping import row_groups
from comind.splits.pooled_rows import (
    MOST_MEASURED,
    MOST_SEPARATED,
    PooledRows,
    Positions,
    Relation,
    related_share,
)
from comind.splits.relations import FollowedInTime, GroupNumbers, SameGroup
from comind.splits.search import Comparison, RelationShares
from comind.splits.split_folder import RelatedShare
from comind.splits.time_order import PRESENT

_MOST_SHARES = 12
_GAP = 0.05  # least difference of test from random rows; below, validation cannot be much easier
_MARGIN, _STANDARD_ERRORS = 0.15, 3.0
_AUC_MARGIN = 0.25  # of 2 - 2 AUC
_MOST_PER_GROUP = 5.0  # rows of a large group differ in other relations than the rule's own
_OVERLAP = 1.1  # changes of the group along time, to the number of groups


@dataclass(frozen=True, slots=True)
class SplitQuality:
    """A measure of how well a split reproduces the relation of test to train."""

    shares: tuple[RelatedShare, ...] = ()
    test: int = 0
    """Number of test rows."""
    validation: int = 0
    """Number of validation rows."""
    rows_per_group: float = 1.0
    """Mean number of rows held out together; they count as one in standard errors."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each relation in which validation is easier than test beyond noise, worst first."""
        worst_first = sorted(self.shares, key=lambda share: share.test - share.validation)
        return tuple(
            f"validation is easier than test: {share.validation:.0%} of its rows, but {share.test:.0%} "
            f"of test rows, are {share.rows}"
            for share in worst_first
            if share.validation - share.test > self._margin(share)
        )

    @property
    def confidence(self) -> float | None:
        """Confidence that validation represents test, from 0 to 1; None if unknown.

        It is one less the largest difference between the two shares, less half the inverse square root
        of the number of independent test rows (the largest standard error of a share).
        """
        if not self.shares:
            return None
        worst = max(
            abs(share.validation - share.test) / (2 if share.compared else 1) for share in self.shares
        )
        return round(max(0.0, 1.0 - worst - 0.5 * math.sqrt(self.rows_per_group / self.test)), 2)

    def _margin(self, share: RelatedShare) -> float:
        """Return the largest difference that noise explains, or that is negligible."""
        whole = share.own or share.compared  # what rows hold is largely what their groups hold
        per_group = self.rows_per_group if whole else min(self.rows_per_group, _MOST_PER_GROUP)
        if share.test <= MOST_SEPARATED:  # not by chance of how its groups fell
            per_group = 1.0
        test, validation = (
            max(1.0, min(each, MOST_MEASURED) / per_group) for each in (self.test, self.validation)
        )
        both = (share.test * test + share.validation * validation) / (test + validation)
        noise = math.sqrt(both * (1 - both) * (1 / test + 1 / validation))
        return max(_AUC_MARGIN if share.compared else _MARGIN, _STANDARD_ERRORS * noise)


def assess_split(
    pool: PooledRows,
    comparison: Comparison,
    rule: SplitRule,
    rows: Positions,
    excluded: Positions | None = None,
) -> SplitQuality:
    """Compare the validation rows of a rule with the test rows, each in relation to train.

    `excluded` rows are in neither part.
    """
    if not pool.is_large_enough:
        return SplitQuality()
    rows_per_group = 1.0
    if rule.kind == "group":
        groups = row_groups(pool.train_table(rule.used_columns), rule)
        rows_per_group = len(groups) / max(1, groups.nunique())
    removed = rows if excluded is None else np.union1d(rows, excluded)
    shares = _related_shares(pool, comparison, rule, rows, pool.train_without(removed))
    return SplitQuality(shares, len(pool.test), len(rows), rows_per_group)


def _related_shares(
    pool: PooledRows, comparison: Comparison, rule: SplitRule, rows: Positions, rest: Positions
) -> tuple[RelatedShare, ...]:
    """Return the related shares of test and validation rows, those of the rule's own relation first.

    Other relations are left out where test rows are related as random rows would be.
    """
    own = [each for each in comparison.shares if _is_of(each, rule)]
    parents = [each.relation for each in comparison.shares if each.test >= PRESENT]
    other = [
        each
        for each in comparison.shares
        if each not in own
        and each.train - each.test >= _GAP
        and not _is_implied(each, own)
        and not _is_of_periods(each, own, parents)
        and not _is_constant(each)
    ]
    other.sort(key=lambda each: each.test - each.train)
    shares = [
        RelatedShare(
            rows=each.relation.description,
            test=round(each.test, 4),
            validation=round(related_share(each.relation, rows, rest), 4),
            own=each in own,
        )
        for each in [*own, *other][:_MOST_SHARES]
    ]
    similarity = _similarity(pool, comparison, rows, rest)
    return (*shares, similarity) if similarity is not None else tuple(shares)


def _is_of(each: RelationShares, rule: SplitRule) -> bool:
    """Return whether a relation is one that the rule splits by."""
    fitted = {"sizes": (), "also": (), "horizon_days": None, "fraction": None}
    own = [one.model_copy(update=fitted) for one in rule.groupings]
    return each.relation.rule.model_copy(update=fitted) in own


def _is_constant(each: RelationShares) -> bool:
    """Return whether all of train is one group, such as the folder in `train/80.png`."""
    return isinstance(each.relation, SameGroup) and len(each.relation.sizes) == 1


def _is_of_periods(each: RelationShares, own: list[RelationShares], parents: list[Relation]) -> bool:
    """Return whether the groups of a relation are periods of the time that the rule orders rows by.

    These, such as the months in ids of days, do not overlap in time, or not within a coarser group that
    test rows share with train. That test rows begin a period says nothing of how they were chosen.
    """
    groups = each.relation
    if not own or not isinstance(own[0].relation, FollowedInTime) or not isinstance(groups, SameGroup):
        return False
    train = groups.pool.train
    codes, times = groups.numbers[train], own[0].relation.times[train]
    coarser = [
        one for one in parents if isinstance(one, SameGroup) and len(one.sizes) < len(groups.sizes)
    ]
    within = (one.numbers[train] for one in coarser)
    return any(_is_disjoint_in_time(codes, times, one) for one in (np.zeros_like(codes), *within))


def _is_disjoint_in_time(codes: GroupNumbers, times: "np.ndarray", within: GroupNumbers) -> bool:
    """Return whether groups of two rows and more, on average, follow each other within coarser ones."""
    order = np.lexsort((codes, times, within))
    pairs = np.column_stack([within, codes])[order]
    changes = int((pairs[1:] != pairs[:-1]).any(axis=1).sum())
    distinct = len(np.unique(pairs, axis=0))
    return distinct <= len(codes) / 2 and changes <= _OVERLAP * distinct


def _is_implied(each: RelationShares, own: list[RelationShares]) -> bool:
    """Return whether a relation follows from the rule's own: order in time by the same column."""
    if each.is_separated() or not own or not isinstance(own[0].relation, FollowedInTime):
        return False
    rule = each.relation.rule
    return isinstance(each.relation, FollowedInTime) and rule.column == own[0].relation.rule.column


def _similarity(
    pool: PooledRows, comparison: Comparison, rows: Positions, rest: Positions
) -> RelatedShare | None:
    """Return how similar test rows, and validation rows, are to train by adversarial validation."""
    test, validation = comparison.adversarial, adversarial_auc(pool, comparison.features, rows, rest)
    if test is None or validation is None:
        return None
    return RelatedShare(
        rows=f"like train rows in what they hold, above all in {test[1]!r} (2 - 2 AUC of trees)",
        test=round(min(1.0, 2 - 2 * test[0]), 2),
        validation=round(min(1.0, 2 - 2 * validation[0]), 2),
        compared=True,
    )

"""Add groupings to a group rule until its validation rows are as separate from train as test rows are.

Test rows of new users and of new items share neither with train; a split by users alone leaves items on
both sides.
"""

from collections.abc import Iterable

import numpy as np

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.holdout import choose_fold
from comind.splits.relations import PooledRows, Relation, related_share

_MOST_GROUPINGS = 3
_RELATED = 0.05  # share of validation rows; below, a grouping follows from the others


def add_groupings(
    pool: PooledRows, rule: SplitRule, others: Iterable[tuple[Relation, str]]
) -> tuple[SplitRule, str]:
    """Add those of the other groupings to a group rule that do not follow from it; return the reasons.

    `others` are relations that separate test rows from train, the preferred first, each with its reason.
    One is left out if the rule would leave too few rows.
    """
    reasons = []
    for relation, reason in others:
        if len(rule.groupings) == _MOST_GROUPINGS:
            break
        if relation.rule in rule.groupings or _related(pool, rule, relation) <= _RELATED:
            continue
        more = rule.model_copy(update={"also": (*rule.also, relation.rule)})
        if _related(pool, more, relation) <= _RELATED:
            rule = more
            reasons.append(reason)
    return rule, "; ".join(reasons)


def _related(pool: PooledRows, rule: SplitRule, relation: Relation) -> float:
    """Return the share of a rule's validation rows related to its training rows; 1 if it has none."""
    try:
        rows, excluded = choose_fold(pool.train_table(rule.used_columns), rule, 0, 0)
    except CompetitionError:
        return 1.0
    rest = pool.train_without(np.union1d(rows, excluded).astype(np.intp))
    return related_share(relation, np.array(rows, dtype=np.intp), rest)

"""How validation rows stand to the rest of train, beside how test rows stand to train.

Where validation rows have their group, their twin or later rows in train and test rows have not,
validation is easier than test, and its scores promise too much.
"""

import math
from dataclasses import dataclass

from comind.domain.competition import SplitRule
from comind.evaluation.splits.adversarial_validation import adversarial_auc
from comind.evaluation.splits.candidates import feature_columns
from comind.evaluation.splits.groups import row_groups
from comind.evaluation.splits.relations import FollowedInTime, PooledRows, Positions, share
from comind.evaluation.splits.rule_search import FEW, Comparison, RelationShares
from comind.evaluation.splits.split_folder import RelatedShare

__all__ = ["SplitQuality", "assess_split"]

_MOST_TIES = 12
_GAP = 0.05  # of test rows to what random ones would have; else validation cannot be much easier
_MARGIN, _STANDARD_ERRORS = 0.15, 3.0
_ALIKE_MARGIN = 0.25  # 2 - 2 AUC
_ALIKE = 5.0  # in another respect than the rule's own, rows of a large group say more than one would
_ASKED = 4_000  # rows of a part, at most


@dataclass(frozen=True, slots=True)
class SplitQuality:
    """What a split is worth as an imitation of the test set."""

    ties: tuple[RelatedShare, ...] = ()
    test: int = 0
    """How many test rows there are."""
    validation: int = 0
    """How many validation rows there are."""
    together: float = 1.0
    """How many rows are held back together, on average, and say no more than one would."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each way in which validation is easier than test, beyond noise, worst first."""
        worst_first = sorted(self.ties, key=lambda tie: tie.test - tie.validation)
        return tuple(
            f"validation is easier than test: {tie.validation:.0%} of its rows, but {tie.test:.0%} "
            f"of test rows, are {tie.rows}"
            for tie in worst_first
            if tie.validation - tie.test > self._margin(tie)
        )

    @property
    def sure(self) -> float | None:
        """How sure it is that validation stands to train as test does, from 0 to 1; None if not known.

        That is one, less the largest difference between the two shares, less the standard error of a
        share of so many test rows.
        """
        if not self.ties:
            return None
        worst = max(abs(tie.validation - tie.test) / (2 if tie.compared else 1) for tie in self.ties)
        return round(max(0.0, 1.0 - worst - 0.5 * math.sqrt(self.together / self.test)), 2)

    def _margin(self, tie: RelatedShare) -> float:
        """Return the difference that noise explains, or that is not worth a word."""
        together = self.together if tie.own else min(self.together, _ALIKE)
        if tie.test <= FEW:  # that no test row stands so is no accident of its group
            together = 1.0
        test, validation = (
            max(1.0, min(each, _ASKED) / together) for each in (self.test, self.validation)
        )
        both = (tie.test * test + tie.validation * validation) / (test + validation)
        noise = math.sqrt(both * (1 - both) * (1 / test + 1 / validation))
        return max(_ALIKE_MARGIN if tie.compared else _MARGIN, _STANDARD_ERRORS * noise)


def assess_split(
    pool: PooledRows, compared: Comparison, rule: SplitRule, rows: Positions
) -> SplitQuality:
    """Return how the validation rows of a rule stand to the rest, beside test rows to train."""
    if not pool.tells:
        return SplitQuality()
    together = 1.0
    if rule.kind == "group":
        groups = row_groups(pool.train_table(rule.used_columns), rule)
        together = len(groups) / max(1, groups.nunique())
    ties = _ties(pool, compared, rule, rows)
    return SplitQuality(ties, test=len(pool.test), validation=len(rows), together=together)


def _ties(
    pool: PooledRows, compared: Comparison, rule: SplitRule, rows: Positions
) -> tuple[RelatedShare, ...]:
    """Return what test and validation rows share with the rows to learn from, the rule's own first.

    Left out is what says nothing: relations in which test rows stand as random ones would, but for the
    rule's own.
    """
    rest = pool.others(rows)
    own = [each for each in compared.apart if _is_of(each, rule)]
    other = [
        each
        for each in compared.apart
        if each not in own and each.train - each.test >= _GAP and not _follows_from(each, own)
    ]
    other.sort(key=lambda each: each.test - each.train)
    ties = [
        RelatedShare(
            rows=each.relation.told,
            test=round(each.test, 4),
            validation=round(share(each.relation, pool, rows, rest), 4),
            own=each in own,
        )
        for each in [*own, *other][:_MOST_TIES]
    ]
    alike = _alike(pool, compared.told, rows, rest)
    return (*ties, alike) if alike is not None else tuple(ties)


def _is_of(each: RelationShares, rule: SplitRule) -> bool:
    """Whether a relation is what the rule goes by."""
    names = ("kind", "column", "by", "parts", "columns", "within")
    return all(getattr(each.relation.rule, name) == getattr(rule, name) for name in names)


def _follows_from(each: RelationShares, own: list[RelationShares]) -> bool:
    """Whether a relation follows from the rule's own, more or less: both go by time, in one column."""
    if each.is_clear() or not own or not isinstance(own[0].relation, FollowedInTime):
        return False
    rule = each.relation.rule
    return isinstance(each.relation, FollowedInTime) and rule.column == own[0].relation.rule.column


def _alike(
    pool: PooledRows, test: tuple[float, str] | None, rows: Positions, rest: Positions
) -> RelatedShare | None:
    """Return how hard it is to tell test rows, and validation rows, from those to learn from."""
    validation = adversarial_auc(pool, feature_columns(pool), rows, rest)
    if test is None or validation is None:
        return None
    return RelatedShare(
        rows=f"like train rows in what they hold, above all in {test[1]!r} (2 - 2 AUC of trees)",
        test=round(min(1.0, 2 - 2 * test[0]), 2),
        validation=round(min(1.0, 2 - 2 * validation[0]), 2),
        compared=True,
    )

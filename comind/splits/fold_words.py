"""Say in words which rows the folds of a split rule have."""

from comind.domain.competition import SplitRule
from comind.splits.grouping import Grouping
from comind.splits.rule import ByTime, Rule


def describe_folds(stored: SplitRule) -> str:
    """Return the rows of each fold of `Rule.fold_numbers`: at random, whole groups, or consecutive.

    Of several groupings it names the first, whose groups no fold cuts.
    """
    rule = Rule.of(stored)
    if isinstance(rule, ByTime):
        first = "latest" if stored.earliest else "earliest"
        each = f" of each {rule.within_name}" if stored.within else ""
        return f"consecutive rows{each} by {stored.column}, fold 0 the {first}"
    if stored.kind == "group":
        return f"whole {Grouping.of(stored.groupings[0]).plural}, folds of about equal size"
    return rule.description

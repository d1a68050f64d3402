"""Plan the split of a competition without a metric, by a generated program."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import pandas as pd

from comind.domain.competition import Competition, SplitRule
from comind.domain.problem import AnswerKind
from comind.metrics import MetricInfo
from comind.splits.split_checks import HeldOutRows
from comind.splits.split_plan import SplitPlan

_FEW_CLASSES, _MOST_CLASSES = 20, 0.1
_RULE_VERSION = 2  # part of the key: before, splits did not store the rule


def plan_without_metric(competition: Competition) -> SplitPlan:
    """Plan a split of a competition without a metric; the kind of answers is inferred."""
    return _UnscoredPlan(competition)


class _UnscoredPlan(SplitPlan):
    """A split by a rule that a model is asked to write as a program."""

    searches_rule = False  # a model must be able to write it

    def __init__(self, competition: Competition) -> None:
        unknown = MetricInfo(name="unknown", maximize=True, kind=AnswerKind.LABEL)
        super().__init__(competition, seed=0, metric=unknown)
        self.metric = replace(unknown, kind=_infer_kind(self))


class GeneratedPlan(SplitPlan):
    """A split by the rows that a checked program holds out, with the programs to seal.

    Its rule is the one that the program was asked for and checked against: groups and folds go by it.
    """

    searches_rule = False
    separates_twins = False

    def __init__(
        self,
        competition: Competition,
        metric: MetricInfo,
        held_back: HeldOutRows,
        programs: Mapping[str, str],
    ) -> None:
        super().__init__(competition, seed=0, metric=metric)
        self._held_back = held_back
        self.programs = programs

    @property
    def _suffixes(self) -> list[tuple[int, ...]]:
        return [(_RULE_VERSION,)]

    @cached_property
    def rule_with_reason(self) -> tuple[SplitRule, str]:
        """The rule that the program was asked for, with the reason."""
        rule, reason = super().rule_with_reason
        return rule, f"{reason}; a program that the model wrote chose the rows"

    def validation_rows(self) -> list[int]:
        """Return the positions of the rows that the program holds out."""
        return self._held_back.rows

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the answers of the program."""
        del rows
        return self._held_back.answers[list(self.targets)]


def _infer_kind(plan: SplitPlan) -> AnswerKind:
    """Infer the kind of answers from the labels and the sample submission."""
    if plan.one_hot:
        return AnswerKind.CLASS_PROBABILITIES
    shared = [column for column in plan.targets if column in plan.train.columns]
    column = shared[0] if shared else plan.labels[0]
    cells = plan.train[column]
    numbers = pd.to_numeric(cells, errors="coerce")
    sample = pd.to_numeric(plan.sample[plan.targets[0]], errors="coerce")
    distinct = cells.nunique()
    if numbers.notna().all():
        whole = (numbers == numbers.round()).all()
        between = bool(((sample > 0) & (sample < 1)).any())
        if distinct <= 2 and (between or len(plan.targets) > 1):  # noqa: PLR2004 - yes and no
            return AnswerKind.PROBABILITY
        return AnswerKind.LABEL if whole and distinct <= _FEW_CLASSES else AnswerKind.NUMBER
    few = distinct <= max(_FEW_CLASSES, _MOST_CLASSES * len(cells))
    return AnswerKind.LABEL if few else AnswerKind.TEXT

"""How a competition without a known metric is split, once its evaluator is written."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from comind.domain.competition import Competition, SplitRule
from comind.domain.problem import AnswerKind
from comind.evaluation.metrics import MetricFacts
from comind.evaluation.scripts.split_checks import HeldOutRows
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["GeneratedPlan", "plan_without_metric"]

_FEW_CLASSES, _MOST_CLASSES = 20, 0.1


def plan_without_metric(competition: Competition) -> SplitPlan:
    """Return the tables of a competition whose metric is not known; the kind of answer is guessed."""
    unknown = MetricFacts(name="unknown", maximize=True, kind=AnswerKind.LABEL)
    plan = SplitPlan(competition, seed=0, metric=unknown)
    plan.metric = replace(unknown, kind=_guess_kind(plan))
    plan.searches_rule = False  # a model must be able to write the rule as a program
    return plan


class GeneratedPlan(SplitPlan):
    """The rows that a checked program holds back, and the programs that go with them."""

    searches_rule = False

    def __init__(
        self,
        competition: Competition,
        metric: MetricFacts,
        held_back: HeldOutRows,
        programs: Mapping[str, str],
    ) -> None:
        super().__init__(competition, seed=0, metric=metric)
        self._held_back = held_back
        self.programs = programs

    @property
    def rule_with_reason(self) -> tuple[SplitRule, str]:
        """What stands in for a rule; the program is the rule."""
        return SplitRule(kind="random"), "a program that the model wrote chose the rows"

    def validation_rows(self) -> list[int]:
        """Return the positions of the rows that the program holds back."""
        return self._held_back.rows

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the answers as the program gives them."""
        del rows
        return self._held_back.answers[list(self.targets)]


def _guess_kind(plan: SplitPlan) -> AnswerKind:
    """Read off labels and sample submission what the target columns hold."""
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

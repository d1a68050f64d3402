"""Plan the split of a competition without a metric, by a generated program."""

from collections.abc import Mapping
from dataclasses import replace

from comind.competitions.data import CompetitionData
from comind.metrics import MetricInfo
from comind.splits.split_checks import HeldOutRows
from comind.splits.split_plan import (
    SplitPlan,
    assess_rows,
    compare_tables,
    hashed_key,
    key_parts,
    plain_rule,
)

_RULE_VERSION = 2  # part of the key: before, splits did not store the rule


def plan_by_program(
    data: CompetitionData, metric: MetricInfo, held_out: HeldOutRows, programs: Mapping[str, str]
) -> SplitPlan:
    """Plan a split by the rows that a checked program holds out, with the programs to seal.

    Its rule is the one that the program was asked for and checked against: groups and folds go by it.
    """
    data = replace(data, metric=metric)
    rule, reason = plain_rule(data)
    parts = [*key_parts(data, 0, programs), _RULE_VERSION]
    return SplitPlan(
        data=data,
        seed=0,
        key=hashed_key(data.competition, parts),
        rule=rule,
        reason=f"{reason}; a program that the model wrote chose the rows",
        rows=held_out.rows,
        quality=assess_rows(data, compare_tables(data), rule, held_out.rows, ()),
        answers=held_out.answers[list(data.targets)],
        programs=programs,
    )

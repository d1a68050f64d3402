"""Divide validation rows into blocks by the split rule, to report scores by block."""

import numpy as np
import pandas as pd

from comind.domain.competition import SplitRule
from comind.evaluation.score_breakdown import LEAST_ROWS, MOST_BLOCKS, Blocks
from comind.evaluation.splits.groups import row_groups, row_times
from comind.evaluation.splits.split_folder import Split

__all__ = ["blocks_of"]

_DAYS = 2  # blocks that span more are named by dates without times


def blocks_of(split: Split, validation: pd.DataFrame) -> Blocks | None:
    """Return the blocks of the rows of validation.csv, text cells.

    Blocks of a time split are consecutive and of about equal size; otherwise they are the groups (or
    classes) with at least 20 rows. None if the rule has no column, or it is a label or not in the table.
    """
    names = dict(zip(split.train_id_columns, split.id_columns, strict=True))
    shown = names.get(split.rule.column or "", split.rule.column)
    hidden = (*split.label_columns, *split.target_columns)
    if shown not in validation.columns or shown in hidden or split.rule.column in hidden:
        return None
    rule = split.rule.model_copy(update={"column": shown})
    blocks = _time_blocks(validation, rule) if rule.kind == "time" else _group_blocks(validation, rule)
    return Blocks(str(shown), *blocks)


def _time_blocks(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    """Cut the rows into blocks by time; equal times are in one block."""
    times = row_times(table, rule).reset_index(drop=True)
    places = (times.rank(method="min") - 1) * MOST_BLOCKS // len(times)
    numbers, _ = pd.factorize(places, sort=True)
    ends = times.groupby(numbers).agg(["min", "max"])
    form = "%Y-%m-%d" if _spans_days(times) else "%Y-%m-%d %H:%M"
    plain = times.dtype.kind in "iuf"
    first, last = (
        [f"{end:.12g}" if plain else end.strftime(form) for end in ends[side]] for side in ("min", "max")
    )
    named = zip(first, last, strict=True)
    return tuple(one if one == other else f"{one} to {other}" for one, other in named), numbers


def _spans_days(times: "pd.Series") -> bool:
    """Return whether blocks of these times span days; False for numbers."""
    span = times.max() - times.min()
    return isinstance(span, pd.Timedelta) and span.days >= _DAYS * MOST_BLOCKS


def _group_blocks(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    groups = row_groups(table, rule).reset_index(drop=True)
    sizes = groups.value_counts()
    large = sorted(sizes.index[sizes >= LEAST_ROWS])
    places = pd.Index(large).get_indexer(pd.Index(groups))
    return tuple(large), np.asarray(places)

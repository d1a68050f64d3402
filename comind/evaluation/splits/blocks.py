"""Blocks of validation rows that the rule of a split names and that validation.csv shows."""

import numpy as np
import pandas as pd

from comind.domain.competition import SplitRule
from comind.evaluation.parts import LEAST_ROWS, MOST_BLOCKS, Blocks
from comind.evaluation.splits.groups import row_groups, row_times
from comind.evaluation.splits.split_folder import Split

__all__ = ["blocks_of"]

_DAYS = 2  # a block of times that covers more is named by its dates


def blocks_of(split: Split, validation: pd.DataFrame) -> Blocks | None:
    """Return the blocks of the rows of validation.csv, a table of text; None where there are none.

    Of a time split these are parts of about as many rows, in the order of time, else the groups (or
    classes of a visible column) that have enough rows. None also where the rule's column is a label or
    is not shown.
    """
    names = dict(zip(split.train_id_columns, split.id_columns, strict=True))
    shown = names.get(split.rule.column or "", split.rule.column)
    hidden = (*split.label_columns, *split.target_columns)
    if shown not in validation.columns or shown in hidden or split.rule.column in hidden:
        return None
    rule = split.rule.model_copy(update={"column": shown})
    blocks = _of_time(validation, rule) if rule.kind == "time" else _of_groups(validation, rule)
    return Blocks(str(shown), *blocks)


def _of_time(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the blocks by time; rows of one time are in one block."""
    times = row_times(table, rule).reset_index(drop=True)
    places = (times.rank(method="min") - 1) * MOST_BLOCKS // len(times)
    numbers, _ = pd.factorize(places, sort=True)
    ends = times.groupby(numbers).agg(["min", "max"])
    form = "%Y-%m-%d" if _long(times) else "%Y-%m-%d %H:%M"
    plain = times.dtype.kind in "iuf"
    first, last = (
        [f"{end:.12g}" if plain else end.strftime(form) for end in ends[side]] for side in ("min", "max")
    )
    named = zip(first, last, strict=True)
    return tuple(one if one == other else f"{one} to {other}" for one, other in named), numbers


def _long(times: "pd.Series") -> bool:
    """Whether each block of these times, if they are some, covers days."""
    span = times.max() - times.min()
    return isinstance(span, pd.Timedelta) and span.days >= _DAYS * MOST_BLOCKS


def _of_groups(table: pd.DataFrame, rule: SplitRule) -> tuple[tuple[str, ...], np.ndarray]:
    groups = row_groups(table, rule).reset_index(drop=True)
    sizes = groups.value_counts()
    large = sorted(sizes.index[sizes >= LEAST_ROWS])
    places = pd.Index(large).get_indexer(pd.Index(groups))
    return tuple(large), np.asarray(places)

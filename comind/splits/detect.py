"""Detect a split rule by comparing each column of train and test by itself.

Used where the competition names no rule: validation rows should relate to train as test rows do.
"""

from typing import Any

import pandas as pd

from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.splits.groups import PIXEL, image_of_pixel, parse_times
from comind.tables.mapped_table import release_memory

_LEAST_GROUPS = 5
_LARGEST_GROUP = 0.5
_FEWEST_A_CLASS = 5  # labelled rows, on average; below, a class may have none to hold out
_SAMPLE = 1_000
_LATER = 0.99  # share of train rows before the median test row, at least


def detect_rule(
    train: pd.DataFrame, test: pd.DataFrame, labels: tuple[str, ...], kind: AnswerKind
) -> tuple[SplitRule, str]:
    """Return the rule that fits the data, and the reason.

    Cells are text; columns of `test` are named as in `train`.
    """
    shared = [column for column in test.columns if column in train.columns]
    for find in (_by_time, _by_group):
        for column in shared:
            found = find(train[column], test[column])
            release_memory()
            if found is not None:
                return found
    if len(labels) == 1 and kind.of_classes:
        classes = train[labels[0]].nunique()
        if 1 < classes <= max(2, len(train) // _FEWEST_A_CLASS):
            rule = SplitRule(kind="stratified", column=labels[0])
            return rule, f"the label {labels[0]!r} has {classes} classes, kept in proportion"
    return SplitRule(kind="random"), "neither time, groups nor classes separate test rows from train"


def _by_time(train: "pd.Series[str]", test: "pd.Series[str]") -> tuple[SplitRule, str] | None:
    """Return a time rule if the test rows follow the train rows in a column of dates."""
    before, after = _dates(train), _dates(test)
    if before is None or after is None:
        return None
    follows = (before <= after.quantile(0.5)).mean() >= _LATER and after.max() > before.max()
    if not follows:
        return None
    start = max(before.max(), after.min())
    days = max(1, (after.max() - start).days)
    span = (before.max() - before.min()).days
    rule = SplitRule(kind="time", column=str(train.name), horizon_days=max(1, min(days, span // 4)))
    return rule, f"in {train.name!r} the test rows follow the training rows, by {days} days"


def _by_group(train: "pd.Series[str]", test: "pd.Series[str]") -> tuple[SplitRule, str] | None:
    """Return a group rule if values or dates repeat within train and never appear in test."""
    if _are_disjoint_groups(train, test):
        rule = SplitRule(kind="group", column=str(train.name))
        return rule, f"no value of {train.name!r} appears in both train and test, though many repeat"
    pixels = (cells.str.fullmatch(PIXEL).all() for cells in (train.head(_SAMPLE), train))
    if all(pixels) and _are_disjoint_groups(image_of_pixel(train), image_of_pixel(test)):
        rule = SplitRule(kind="group", column=str(train.name), by="picture")
        return rule, f"{train.name!r} names pixels, and no picture has pixels in both train and test"
    before, after = _dates(train), _dates(test)
    if before is None or after is None:
        return None
    if not _are_disjoint_groups(before.dt.floor("D"), after.dt.floor("D")):
        return None
    rule = SplitRule(kind="group", column=str(train.name), by="date")
    return rule, f"no date of {train.name!r} appears in both train and test"


def _are_disjoint_groups(train: "pd.Series[Any]", test: "pd.Series[Any]") -> bool:
    if train.isin(test.head(_SAMPLE)).any():
        return False
    counts = train.value_counts()
    repeats = counts.median() >= 2  # noqa: PLR2004 - a value that appears twice
    spread = len(counts) >= _LEAST_GROUPS and counts.iloc[0] <= _LARGEST_GROUP * len(train)
    return bool(repeats and spread and not test.isin(counts.index).any())


def _dates(column: "pd.Series[str]") -> "pd.Series | None":
    """Parse a column as times; None if a cell is a number or no time."""
    text = column.str.strip()
    for cells in (text.head(_SAMPLE), text):  # a sample rejects most columns
        if not len(cells) or not cells.str.contains(r"\d[-/:]\d", regex=True).all():
            return None
    times = parse_times(text)
    return None if times.isna().any() else times

"""Metrics of run-length encoded masks: runs are (start, length) pairs, pixels are numbered from 1."""

from functools import partial

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import (
    Metric,
    RowMetric,
    Rows,
    TableMetric,
    mean_over_columns,
    per_row,
)
from comind.metrics.parsing import parse_masks

_THRESHOLDS = np.arange(0.5, 1.0, 0.05)  # with numpy's rounding errors, such as in 0.55
_SALT_PIXELS = 101 * 101
_DICE, _HAUSDORFF = 0.4, 0.6
_MUCH_LARGER = 10  # larger masks get the maximum distance, which saves hours


def _pixel_count(runs: np.ndarray) -> int:
    """Return the number of pixels in runs, shape (runs, 2)."""
    return int(runs[:, 1].sum())


def _shared_pixels(one: np.ndarray, other: np.ndarray) -> int:
    first, second = one.tolist(), other.tolist()
    shared = i = j = 0
    while i < len(first) and j < len(second):
        ends = sum(first[i]), sum(second[j])
        shared += max(0, min(ends) - max(first[i][0], second[j][0]))
        i, j = (i + 1, j) if ends[0] <= ends[1] else (i, j + 1)
    return shared


def mask_iou(one: np.ndarray, other: np.ndarray) -> float:
    """Return the intersection over union of two masks with pixels."""
    shared = _shared_pixels(one, other)
    return shared / (_pixel_count(one) + _pixel_count(other) - shared)


def _f_half(true: np.ndarray, pred: np.ndarray) -> float:
    shared = _shared_pixels(true, pred)
    wrong, missed = _pixel_count(pred) - shared, _pixel_count(true) - shared
    below = 1.25 * shared + 0.25 * missed + wrong
    return 1.25 * shared / below if below else 0.0


_overlaps = per_row(lambda t, p: (_shared_pixels(t, p), _pixel_count(t), _pixel_count(p)))
"""Shared, true and predicted pixels of each row, shape (rows, 3)."""


def _dice_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the Dice coefficient of each row; 1 for two empty masks."""
    shared, true, pred = _overlaps(truth, prediction).T
    there = true + pred
    return np.where(there > 0, 2 * shared / np.where(there > 0, there, 1.0), 1.0)[:, None]


def _precision_rows(*, empty_is_full: bool) -> Rows:
    """Return a function that computes the share of thresholds below each row's IoU.

    Two empty masks score 1, a non-empty prediction for an empty mask 0. With `empty_is_full`, as in
    MLE-bench, an empty prediction for a non-empty mask counts as the whole image, because a histogram of
    zeros alone puts them into its upper bin.
    """

    def rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
        shared, true, pred = _overlaps(truth, prediction).T
        if empty_is_full:
            unseen = (pred == 0) & (true > 0)
            shared, pred = np.where(unseen, true, shared), np.where(unseen, _SALT_PIXELS, pred)
        union = true + pred - shared
        overlap = shared / np.where(union > 0, union, 1.0)
        found = (overlap[:, None] > _THRESHOLDS).mean(axis=1)
        return np.where(union > 0, found, 1.0)[:, None]

    return rows


def _volumes(table: pd.DataFrame, names: "pd.Series", masks: "pd.Series") -> dict[str, np.ndarray]:
    """Stack the slices of each case and day, with classes merged; bool, shape (slices, height, width).

    Slices are named `<case>_<day>_slice_<number>`; `table` has the height and width of each row in
    pixels.
    """
    slices: dict[str, np.ndarray] = {}
    sizes = table[["height", "width"]].astype(float).astype(int).to_numpy()
    for name, (height, width), runs in zip(names, sizes, masks, strict=True):
        flat = slices.setdefault(name, np.zeros(height * width, dtype=bool).reshape(width, height))
        line = flat.reshape(-1)
        for start, length in runs:
            line[start - 1 : start - 1 + length] = True
    days: dict[str, list[np.ndarray]] = {}
    for name in sorted(slices):
        days.setdefault(name.split("_slice_")[0], []).append(slices[name].T)
    return {day: np.stack(stack) for day, stack in days.items()}


def _hausdorff(true: np.ndarray, pred: np.ndarray) -> float:
    """Return the symmetric Hausdorff distance in a unit cube over its diagonal; NaN without pixels."""
    from scipy.spatial.distance import directed_hausdorff

    if not true.any() and not pred.any():
        return float("nan")
    if np.array_equal(true, pred):
        return 0.0
    if not true.any() or not pred.any() or pred.sum() > _MUCH_LARGER * true.sum():
        return 1.0
    sides = [np.argwhere(side) / true.shape for side in (true, pred)]
    distances = directed_hausdorff(*sides)[0], directed_hausdorff(*sides[::-1])[0]
    return float(max(distances) / np.sqrt(3))


def _dice_and_hausdorff(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return 0.4 mean Dice of non-empty rows + 0.6 (1 - mean Hausdorff distance of the days' volumes).

    If the prediction has a column `slice`, its volumes are stacked by that column.
    """
    true, pred = truth.iloc[:, 0], prediction.iloc[:, 0]
    shared, there = 0.0, 0
    for one, other in zip(true, pred, strict=True):
        both = _pixel_count(one) + _pixel_count(other)
        if both:
            shared, there = shared + 2 * _shared_pixels(one, other) / both, there + 1
    named = prediction if "slice" in prediction.columns else truth
    days = _volumes(truth, truth["slice"], true), _volumes(truth, named["slice"], pred)
    pairs = zip(*(side.values() for side in days), strict=True)
    distances = np.array([_hausdorff(one, other) for one, other in pairs])
    if not there or np.isnan(distances).all():
        raise ValueError("no mask on either side")
    return float(_DICE * shared / there + _HAUSDORFF * (1 - np.nanmean(distances)))


_row_metric = partial(
    RowMetric,
    maximize=True,
    kind=AnswerKind.MASK,
    parse=parse_masks,
    row_bounds=(0.0, 1.0),
    best=1.0,
)

MASK_METRICS: tuple[Metric, ...] = (
    _row_metric(
        "pixel-f05",
        "mean over rows of sklearn.metrics.fbeta_score(beta=0.5) of pixels",
        mean_over_columns(_f_half),
        by_column=True,
        best=None,
    ),
    _row_metric(
        "mean-dice",
        "mean over rows of 2 shared / (true + predicted pixels); empty: 1",
        _dice_rows,
    ),
    _row_metric(
        "global-dice",
        "2 shared / (true + predicted pixels), over the pixels of all rows",
        _overlaps,
        row_bounds=None,
        finish=lambda means: 2 * means[0] / (means[1] + means[2]),
    ),
    _row_metric(
        "iou-precision",
        "mean over rows of the share of thresholds 0.50, 0.55 ... 0.95 below the overlap; empty: 1",
        _precision_rows(empty_is_full=False),
    ),
    _row_metric(
        "iou-precision-histogram",
        "iou-precision as MLE-bench counts it: an empty prediction stands for the whole picture",
        _precision_rows(empty_is_full=True),
    ),
    TableMetric(
        "dice-hausdorff",
        "0.4 mean Dice + 0.6 (1 - mean scipy.spatial.distance.directed_hausdorff, both ways)",
        _dice_and_hausdorff,
        maximize=True,
        kind=AnswerKind.MASK,
        parse=parse_masks,
        context=("slice", "height", "width"),
        best=1.0,
    ),
)

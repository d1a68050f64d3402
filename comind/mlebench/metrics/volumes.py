"""Masks of past competitions, as defined by their evaluation pages, and as MLE-bench grades them."""

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.masks import overlaps, pixel_count, precision_of, shared_pixels
from comind.metrics.metric_types import RowMetric, TableMetric
from comind.metrics.parsing import parse_masks

_SALT_PIXELS = 101 * 101
_DICE, _HAUSDORFF = 0.4, 0.6
_MUCH_LARGER = 10  # larger masks get the maximum distance, which saves hours


def _precision_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return `iou-precision` of each row, as MLE-bench's histogram counts it.

    An empty prediction for a non-empty mask counts as the whole image, because a histogram of zeros
    alone puts them into its upper bin.
    """
    shared, true, pred = overlaps(truth, prediction).T
    unseen = (pred == 0) & (true > 0)
    shared, pred = np.where(unseen, true, shared), np.where(unseen, _SALT_PIXELS, pred)
    return precision_of(np.stack([shared, true, pred], axis=1))


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
        both = pixel_count(one) + pixel_count(other)
        if both:
            shared, there = shared + 2 * shared_pixels(one, other) / both, there + 1
    named = prediction if "slice" in prediction.columns else truth
    days = _volumes(truth, truth["slice"], true), _volumes(truth, named["slice"], pred)
    pairs = zip(*(side.values() for side in days), strict=True)
    distances = np.array([_hausdorff(one, other) for one, other in pairs])
    if not there or np.isnan(distances).all():
        raise ValueError("no mask on either side")
    return float(_DICE * shared / there + _HAUSDORFF * (1 - np.nanmean(distances)))


IOU_PRECISION_HISTOGRAM = RowMetric(
    "iou-precision-histogram",
    "iou-precision as MLE-bench counts it: an empty prediction stands for the whole image",
    _precision_rows,
    maximize=True,
    answer_kind=AnswerKind.MASK,
    parse=parse_masks,
    row_bounds=(0.0, 1.0),
    best=1.0,
)

DICE_HAUSDORFF = TableMetric(
    "dice-hausdorff",
    "0.4 mean Dice + 0.6 (1 - mean scipy.spatial.distance.directed_hausdorff, both ways)",
    _dice_and_hausdorff,
    maximize=True,
    answer_kind=AnswerKind.MASK,
    parse=parse_masks,
    context=("slice", "height", "width"),
    best=1.0,
)

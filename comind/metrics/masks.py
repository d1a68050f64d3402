"""Metrics of run-length encoded masks: runs are (start, length) pairs, pixels are numbered from 1.

Those of instances have all masks of a row in a cell, separated by `;`. Submissions may have a row for
each mask instead; they are joined before they are parsed.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, Names, RowMetric, mean_over_columns, per_row
from comind.metrics.parsing import cell_parser, parse_mask, parse_masks

_THRESHOLDS = np.arange(0.5, 1.0, 0.05)  # with numpy's rounding errors, such as in 0.55
_SEPARATOR = ";"
_Masks = tuple[np.ndarray, ...]


def pixel_count(runs: np.ndarray) -> int:
    """Return the number of pixels in runs, shape (runs, 2)."""
    return int(runs[:, 1].sum())


def shared_pixels(one: np.ndarray, other: np.ndarray) -> int:
    """Return the number of pixels that are in both masks."""
    first, second = one.tolist(), other.tolist()
    shared = i = j = 0
    while i < len(first) and j < len(second):
        ends = sum(first[i]), sum(second[j])
        shared += max(0, min(ends) - max(first[i][0], second[j][0]))
        i, j = (i + 1, j) if ends[0] <= ends[1] else (i, j + 1)
    return shared


def mask_iou(one: np.ndarray, other: np.ndarray) -> float:
    """Return the intersection over union of two masks with pixels."""
    shared = shared_pixels(one, other)
    return shared / (pixel_count(one) + pixel_count(other) - shared)


def _f_half(true: np.ndarray, pred: np.ndarray) -> float:
    shared = shared_pixels(true, pred)
    wrong, missed = pixel_count(pred) - shared, pixel_count(true) - shared
    below = 1.25 * shared + 0.25 * missed + wrong
    return 1.25 * shared / below if below else 0.0


overlaps = per_row(lambda t, p: (shared_pixels(t, p), pixel_count(t), pixel_count(p)))
"""Shared, true and predicted pixels of each row, shape (rows, 3)."""


def _dice_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the Dice coefficient of each row; 1 for two empty masks."""
    shared, true, pred = overlaps(truth, prediction).T
    there = true + pred
    return np.where(there > 0, 2 * shared / np.where(there > 0, there, 1.0), 1.0)[:, None]


def precision_of(overlaps: np.ndarray) -> np.ndarray:
    """Return the share of thresholds below each row's IoU, shape (rows, 1).

    `overlaps` has shared, true and predicted pixels. Two empty masks score 1, a non-empty prediction for
    an empty mask 0.
    """
    shared, true, pred = overlaps.T
    union = true + pred - shared
    overlap = shared / np.where(union > 0, union, 1.0)
    found = (overlap[:, None] > _THRESHOLDS).mean(axis=1)
    return np.where(union > 0, found, 1.0)[:, None]


def _precision_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    return precision_of(overlaps(truth, prediction))


def _parse_truth(cell: str) -> _Masks | None:
    """Return the masks of a cell, each of shape (runs, 2); None if one is invalid."""
    masks = [parse_mask(part) for part in cell.split(_SEPARATOR) if part.strip() not in ("", "-")]
    found = tuple(mask for mask in masks if mask is not None)
    return found if len(found) == len(masks) else None


def _parse_masks(cell: str) -> _Masks | None:
    """Return the masks of a cell, as of the truth; None also if two of them overlap."""
    masks = _parse_truth(cell)
    joined = " ".join(part for part in cell.split(_SEPARATOR) if part.strip() != "-")
    return None if masks and len(masks) > 1 and parse_mask(joined) is None else masks


def _counts(true: _Masks, pred: _Masks) -> np.ndarray:
    """Return the numbers of true masks with a predicted one above each threshold of IoU.

    Predicted masks do not overlap, so that above an IoU of 0.5 a true mask matches one of them.
    """
    best = np.array([max((mask_iou(one, other) for other in pred), default=0.0) for one in true])
    return np.asarray((best[:, None] > _THRESHOLDS).sum(axis=0))


def _precision(found: np.ndarray, true: int, pred: int) -> np.ndarray:
    return np.asarray(found / (true + pred - found))


def _f2(found: np.ndarray, true: int, pred: int) -> np.ndarray:
    return np.asarray(5 * found / (4 * true + pred))


def _row_score(
    true: _Masks, pred: _Masks, *, score: Callable[[np.ndarray, int, int], np.ndarray]
) -> float:
    """Return the mean over thresholds; 1 for a row without masks on both sides."""
    if not true and not pred:
        return 1.0
    return float(score(_counts(true, pred), len(true), len(pred)).mean())


_row_metric = partial(
    RowMetric,
    maximize=True,
    answer_kind=AnswerKind.MASK,
    parse=parse_masks,
    row_bounds=(0.0, 1.0),
    best=1.0,
    rare=True,
)

_instance_metric = partial(
    RowMetric,
    maximize=True,
    answer_kind=AnswerKind.MASK,
    parse=cell_parser(_parse_masks, "no run-length encodings of masks that do not overlap"),
    truth_parser=cell_parser(_parse_truth, "no run-length encodings of masks"),
    row_bounds=(0.0, 1.0),
    best=1.0,
    row_separator=_SEPARATOR,
    rare=True,
    traits=MetricTraits(instances=True, means=()),
)

MASK_METRICS: tuple[Metric, ...] = (
    _row_metric(
        "pixel-f05",
        "mean over rows of sklearn.metrics.fbeta_score(beta=0.5) of pixels",
        mean_over_columns(_f_half),
        by_column=True,
        best=None,
        rare=False,
        called=Names("pixel f05", names="pixel f0 5"),
    ),
    _row_metric(
        "mean-dice", "mean over rows of 2 shared / (true + predicted pixels); empty: 1", _dice_rows
    ),
    _row_metric(
        "global-dice",
        "2 shared / (true + predicted pixels), over the pixels of all rows",
        overlaps,
        row_bounds=None,
        finish=lambda means: 2 * means[0] / (means[1] + means[2]),
    ),
    _row_metric(
        "iou-precision",
        "mean over rows of the share of thresholds 0.50, 0.55 ... 0.95 below the overlap; empty: 1",
        _precision_rows,
    ),
    _instance_metric(
        "instance-precision",
        "mean over rows and IoU thresholds 0.50, 0.55 ... 0.95 of TP / (TP + FP + FN); empty: 1",
        per_row(partial(_row_score, score=_precision)),
    ),
    _instance_metric(
        "instance-f2",
        "mean over rows and IoU thresholds 0.50, 0.55 ... 0.95 of 5 TP / (5 TP + 4 FN + FP); empty: 1",
        per_row(partial(_row_score, score=_f2)),
    ),
)

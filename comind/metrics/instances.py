"""Metrics of instance segmentation: a cell has a row's masks, separated by `;`, each run-length encoded.

Submissions may have a row for each mask instead; they are joined before they are parsed.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.metrics.masks import mask_iou
from comind.metrics.metric_types import Metric, RowMetric, per_row
from comind.metrics.parsing import cell_parser, parse_mask

_THRESHOLDS = np.arange(0.5, 1.0, 0.05)
_SEPARATOR = ";"
_Masks = tuple[np.ndarray, ...]


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


_metric = partial(
    RowMetric,
    maximize=True,
    kind=AnswerKind.MASK,
    parse=cell_parser(_parse_masks, "no run-length encodings of masks that do not overlap"),
    truth_parser=cell_parser(_parse_truth, "no run-length encodings of masks"),
    row_bounds=(0.0, 1.0),
    best=1.0,
    row_separator=_SEPARATOR,
    rare=True,
    traits=MetricTraits(instances=True, means=()),
)

INSTANCE_METRICS: tuple[Metric, ...] = (
    _metric(
        "instance-precision",
        "mean over rows and IoU thresholds 0.50, 0.55 ... 0.95 of TP / (TP + FP + FN); empty: 1",
        per_row(partial(_row_score, score=_precision)),
    ),
    _metric(
        "instance-f2",
        "mean over rows and IoU thresholds 0.50, 0.55 ... 0.95 of 5 TP / (5 TP + 4 FN + FP); empty: 1",
        per_row(partial(_row_score, score=_f2)),
    ),
)

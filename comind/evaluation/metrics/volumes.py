"""The metric of boxes in space that stand upright and turn about their vertical axis."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, RowMetric
from comind.evaluation.metrics.boxes import Things, things

__all__ = ["VOLUME_METRICS", "shared_area"]

_THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_FORM = "confidence x y z width length height yaw label"
_CORNERS = np.array([[1, -1], [1, 1], [-1, 1], [-1, -1]]) / 2  # of (length, width), anticlockwise


class _Box(NamedTuple):
    """Corners of the base, shape (4, 2), lowest and highest point, and volume; all in metres."""

    base: np.ndarray
    low: float
    high: float
    volume: float


def _box(values: np.ndarray) -> _Box:
    """Return the box of x, y, z (its centre), width, length, height and yaw in radian."""
    x, y, z, width, length, height, yaw = values
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    base = _CORNERS * (length, width) @ turn.T + (x, y)
    return _Box(base, z - height / 2, z + height / 2, width * length * height)


def shared_area(one: np.ndarray, other: np.ndarray) -> float:
    """Return the area that two convex polygons share; corners anticlockwise, shape (n, 2).

    Sutherland and Hodgman 1974: cut one by each edge of the other.
    """
    corners = list(one)
    for start, end in zip(other, np.roll(other, -1, axis=0), strict=True):
        edge = end - start
        sides = [edge[0] * (c[1] - start[1]) - edge[1] * (c[0] - start[0]) for c in corners]
        kept = []
        for i, (corner, side) in enumerate(zip(corners, sides, strict=True)):
            before, previous = corners[i - 1], sides[i - 1]
            if (side >= 0) != (previous >= 0):
                kept.append(before + (corner - before) * previous / (previous - side))
            if side >= 0:
                kept.append(corner)
        corners = kept
        if not corners:
            return 0.0
    x, y = np.array(corners).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def _overlap(one: _Box, other: _Box) -> float:
    """Return intersection over union of two boxes."""
    height = min(one.high, other.high) - max(one.low, other.low)
    reach = np.abs(one.base.mean(axis=0) - other.base.mean(axis=0)).max()
    if height <= 0 or reach > np.ptp(one.base, axis=0).max() + np.ptp(other.base, axis=0).max():
        return 0.0
    shared = height * shared_area(one.base, other.base)
    return float(np.clip(shared / (one.volume + other.volume - shared), 0, 1))


def _precision(overlaps: np.ndarray, threshold: float) -> float:
    """Return the area under the envelope of the precision (VOC 2010), detections best first.

    A detection hits if the box it overlaps most is above the threshold and not taken yet.
    """
    boxes = overlaps.shape[1]
    best = overlaps.argmax(axis=1)
    above = overlaps.max(axis=1) > threshold
    taken: set[int] = set()
    hits = np.zeros(len(overlaps))
    for number in np.flatnonzero(above):
        if best[number] not in taken:
            taken.add(best[number])
            hits[number] = 1.0
    found = np.cumsum(hits)
    precision = np.append(found / np.arange(1, len(found) + 1), 0.0)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    gained = np.diff(found / boxes, prepend=0.0)
    return float((gained * envelope[:-1]).sum())


def _picture(true: Things, guess: Things) -> float:
    """Return the mean over thresholds and true classes of the average precision."""
    order = np.argsort(-guess.numbers[:, 0], kind="stable")
    values = []
    for label in sorted(set(true.labels)):
        boxes = [_box(row[1:]) for row in true.numbers[true.labels == label]]
        found = [_box(guess.numbers[i, 1:]) for i in order if guess.labels[i] == label]
        if not found:
            values.append(0.0)
            continue
        overlaps = np.array([[_overlap(one, box) for box in boxes] for one in found])
        values.append(float(np.mean([_precision(overlaps, threshold) for threshold in _THRESHOLDS])))
    return float(np.mean(values))


def _rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    values = []
    for true, guess in zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True):
        if not len(true.labels):
            raise ValueError("a true row has no box")
        if (guess.numbers[:, 4:7] <= 0).any():
            raise ValueError("a box has a size that is not above 0")
        values.append([_picture(true, guess)])
    return np.array(values)


VOLUME_METRICS: tuple[Metric, ...] = (
    RowMetric(
        name="volume-map",
        maximize=True,
        kind=AnswerKind.TEXT,
        parse=things(_FORM),
        rows=_rows,
        row_bounds=(0.0, 1.0),
        best=1.0,
        reference="mean over rows, overlaps 0.50 ... 0.95 and classes of VOC 2010's average precision; "
        "bases as by shapely.Polygon.intersection",
    ),
)

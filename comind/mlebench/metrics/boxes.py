"""Detection metrics: points in boxes, 2-D boxes, and upright 3-D boxes."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Parse, RowMetric, TableMetric, f1_of_counts, per_row
from comind.metrics.parsing import cell_parser
from comind.metrics.probabilities import average_precision

_RECALLS = np.linspace(0, 1, 101)  # COCO's
_MOST = 100  # detections per image and class, COCO's
_COCO_OVERLAP, _SIIM_OVERLAP = 0.4, 0.5
_THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_BOX_3D = "confidence x y z width length height yaw label"
_CORNERS = np.array([[1, -1], [1, 1], [-1, 1], [-1, -1]]) / 2  # of (length, width), anticlockwise


class _Detections(NamedTuple):
    """Objects listed in one cell: labels, shape (n,), and their numeric fields, shape (n, k)."""

    labels: np.ndarray
    fields: np.ndarray


def _detection_parser(form: str) -> Parse:
    """Return a parser for cells that list any number of objects of a form such as "label x y".

    One word is `label`, which is text, or `class`, an integer; the others are finite numbers.
    """
    words = form.split()
    place = next(i for i, word in enumerate(words) if word in ("label", "class"))

    def parse_cell(cell: str) -> _Detections | None:
        tokens = np.array(cell.split(), dtype=object)
        if len(tokens) % len(words):
            return None
        table = tokens.reshape(-1, len(words))
        try:
            values = np.delete(table, place, axis=1).astype(float)
            labels = table[:, place]
            if words[place] == "class":
                labels = labels.astype(float).astype(int).astype(str).astype(object)
        except (ValueError, OverflowError):
            return None
        return _Detections(labels, values) if np.isfinite(values).all() else None

    return cell_parser(parse_cell, f'no list of "{form}"')


def _points_in_boxes(true: _Detections, pred: _Detections) -> tuple[int, int, int]:
    """Return true positives, false positives and false negatives of an image.

    A box is matched by the first unused point of its label strictly inside.
    """
    unused = np.full(len(pred.labels), fill_value=True)
    for label, (x, y, width, height) in zip(true.labels, true.fields, strict=True):
        across, down = pred.fields[:, 0] - x, pred.fields[:, 1] - y
        inside = (across > 0) & (across < width) & (down > 0) & (down < height)
        hits = np.flatnonzero(inside & unused & (pred.labels == label))
        unused[hits[:1]] = False
    found = int((~unused).sum())
    return found, int(unused.sum()), len(true.labels) - found


def _iou_matrix(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return intersection over union of each pair, shape (boxes, others).

    Rows are x_min, y_min, x_max, y_max.
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [(side[:, 2:] - side[:, :2]).prod(axis=-1) for side in (boxes, others)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    return np.where((union > 0) & (shared > 0), shared / np.where(union > 0, union, 1.0), 0.0)


def _of_label(cell: _Detections, label: object) -> np.ndarray:
    """Return the fields of one label, sorted by descending confidence (the first field)."""
    values = cell.fields[cell.labels == label]
    return np.asarray(values[np.argsort(-values[:, 0], kind="stable")])


def _pooled_pairs(true: _Detections, pred: _Detections, label: object) -> list[tuple[float, float]]:
    """Return (is true, confidence) of an image's hits, false alarms and misses; (0, 0) without any."""
    boxes, found = _of_label(true, label), _of_label(pred, label)
    overlap = _iou_matrix(found[:, 1:], boxes[:, 1:])
    pairs, free = [], np.full(len(boxes), fill_value=True)
    for confidence, row in zip(found[:, 0], overlap, strict=True):
        best = int(np.argmax(np.where(free, row, -1.0))) if free.any() else None
        hit = best is not None and row[best] > _SIIM_OVERLAP
        pairs.append((float(hit), float(confidence)))
        if hit:
            free[best] = False
    pairs += [(1.0, 0.0)] * int(free.sum())
    return pairs or [(0.0, 0.0)]


def _pooled_precision(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return the mean over labels of the average precision of the pairs of all images."""
    both = list(zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True))
    values = []
    for label in sorted({label for true, _ in both for label in true.labels}):
        pairs = [pair for true, pred in both for pair in _pooled_pairs(true, pred, label)]
        there, confidence = pd.DataFrame(pairs, columns=["there", "confidence"]).T.to_numpy()
        sides = pd.Series(there, name=str(label)), pd.Series(confidence)
        values.append(average_precision(*sides)(np.arange(len(there))))
    if not values:
        raise ValueError("no true box")
    return float(np.mean(values))


def _match(overlap: np.ndarray, zero_box: int | None, zero_pred: int | None) -> np.ndarray:
    """Return which detections hit, each matched to the free box with the largest IoU, the last of ties.

    COCO's code marks a match by the other side's id, so that id 0 never counts as matched; `zero_box`
    and `zero_pred` are the indices of these, if any.
    """
    hits = np.full(len(overlap), fill_value=False)
    free = np.full(overlap.shape[1], fill_value=True)
    for pred, row in enumerate(overlap):
        allowed = np.where(free & (row >= _COCO_OVERLAP), row, -1.0)
        if not allowed.size or allowed.max() < 0:
            continue
        box = len(allowed) - 1 - int(np.argmax(allowed[::-1]))
        hits[pred] = box != zero_box
        free[box] = pred == zero_pred
    return hits


def _interpolated(scores: np.ndarray, hits: np.ndarray, boxes: int) -> float:
    """Return COCO's average precision, interpolated at 101 recalls."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(hits[order])
    precision = found / np.arange(1, len(found) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(found / boxes, _RECALLS, side="left")
    return float(np.append(best, 0.0)[np.minimum(places, len(best))].mean())


def _coco_precision(
    truth: pd.DataFrame, prediction: pd.DataFrame, *, as_mlebench: bool = False
) -> float:
    """Return the mean over labels of COCO's average precision at an IoU of 0.4; one image per row.

    With `as_mlebench`, corners are read as sizes and ids are numbered from 0; the index of `prediction`
    must then be the position of each row in its file.
    """
    cells = list(zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True))
    first = int(np.argmin(prediction.index.to_numpy())) if as_mlebench else None
    values = []
    for label in sorted({label for true, _ in cells for label in true.labels}, key=float):
        scores, hits, boxes = [np.empty(0)], [np.empty(0, dtype=bool)], 0
        for image, (true, pred) in enumerate(cells):
            mine, theirs = np.flatnonzero(true.labels == label), np.flatnonzero(pred.labels == label)
            theirs = theirs[np.argsort(-pred.fields[theirs, 0], kind="stable")][:_MOST]
            corners = true.fields[mine], pred.fields[theirs, 1:]
            zero_box = _index_of_zero(mine) if as_mlebench and image == 0 else None
            zero_pred = _index_of_zero(theirs) if image == first else None
            if as_mlebench:
                corners = _corners_as_sizes(corners[0]), _corners_as_sizes(corners[1])
            found = _match(_iou_matrix(corners[1], corners[0]), zero_box, zero_pred)
            sides = pred.fields[theirs, 3:] - pred.fields[theirs, 1:3]
            # COCO ignores false alarms with a negative area.
            kept = found | (sides.prod(axis=1) >= 0)
            hits.append(found[kept])
            scores.append(pred.fields[theirs, 0][kept])
            boxes += len(mine)
        values.append(_interpolated(np.concatenate(scores), np.concatenate(hits), boxes))
    if not values:
        raise ValueError("no true box")
    return float(np.mean(values))


def _corners_as_sizes(boxes: np.ndarray) -> np.ndarray:
    return np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])


def _index_of_zero(numbers: np.ndarray) -> int | None:
    places = np.flatnonzero(numbers == 0)
    return int(places[0]) if len(places) else None


class _Box(NamedTuple):
    """A 3-D box: corners of the base, shape (4, 2), bottom, top and volume; in metres."""

    base: np.ndarray
    low: float
    high: float
    volume: float


def _box(values: np.ndarray) -> _Box:
    """Return the box with x, y, z (its centre), width, length, height and yaw in radians."""
    x, y, z, width, length, height, yaw = values
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    base = _CORNERS * (length, width) @ turn.T + (x, y)
    return _Box(base, z - height / 2, z + height / 2, width * length * height)


def _intersection_area(one: np.ndarray, other: np.ndarray) -> float:
    """Return the intersection area of two convex polygons; corners anticlockwise, shape (n, 2).

    Clips one polygon by each edge of the other (Sutherland and Hodgman 1974).
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


def _iou_3d(one: _Box, other: _Box) -> float:
    height = min(one.high, other.high) - max(one.low, other.low)
    reach = np.abs(one.base.mean(axis=0) - other.base.mean(axis=0)).max()
    if height <= 0 or reach > np.ptp(one.base, axis=0).max() + np.ptp(other.base, axis=0).max():
        return 0.0
    shared = height * _intersection_area(one.base, other.base)
    return float(np.clip(shared / (one.volume + other.volume - shared), 0, 1))


def _precision(iou: np.ndarray, threshold: float) -> float:
    """Return the average precision of VOC 2010 for an IoU matrix with detections best first.

    A detection hits if the IoU with its best box is above the threshold and the box is unmatched.
    """
    boxes = iou.shape[1]
    best = iou.argmax(axis=1)
    above = iou.max(axis=1) > threshold
    taken: set[int] = set()
    hits = np.zeros(len(iou))
    for number in np.flatnonzero(above):
        if best[number] not in taken:
            taken.add(best[number])
            hits[number] = 1.0
    found = np.cumsum(hits)
    precision = np.append(found / np.arange(1, len(found) + 1), 0.0)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    gained = np.diff(found / boxes, prepend=0.0)
    return float((gained * envelope[:-1]).sum())


def _image_precision(true: _Detections, pred: _Detections) -> float:
    """Return the mean over thresholds and true classes of the average precision.

    Raises:
        ValueError: there is no true box, or a predicted one has a size of 0 or less.
    """
    if not len(true.labels):
        raise ValueError("a true row has no box")
    if (pred.fields[:, 4:7] <= 0).any():
        raise ValueError("a box has a size that is not above 0")
    order = np.argsort(-pred.fields[:, 0], kind="stable")
    values = []
    for label in sorted(set(true.labels)):
        boxes = [_box(row[1:]) for row in true.fields[true.labels == label]]
        found = [_box(pred.fields[i, 1:]) for i in order if pred.labels[i] == label]
        if not found:
            values.append(0.0)
            continue
        iou = np.array([[_iou_3d(one, box) for box in boxes] for one in found])
        values.append(float(np.mean([_precision(iou, threshold) for threshold in _THRESHOLDS])))
    return float(np.mean(values))


_LABELLED = _detection_parser("label confidence x_min y_min x_max y_max")
_CLASSES = _detection_parser("class x_min y_min x_max y_max")
_CLASSED = _detection_parser("class confidence x_min y_min x_max y_max")
_box_metric = partial(TableMetric, maximize=True, answer_kind=AnswerKind.TEXT)
_row_metric = partial(RowMetric, maximize=True, answer_kind=AnswerKind.TEXT, best=1.0)

POINT_IN_BOX_F1 = _row_metric(
    "point-in-box-f1",
    "2 hits / (2 hits + false alarms + misses), over all pages",
    per_row(_points_in_boxes),
    parse=_detection_parser("label x y"),
    truth_parser=_detection_parser("label x y width height"),
    finish=f1_of_counts,
)
POOLED_BOX_MAP = _box_metric(
    "pooled-box-map",
    "mean over labels of sklearn.metrics.average_precision_score of boxes with an overlap above 0.5",
    _pooled_precision,
    parse=_LABELLED,
    best=1.0,
)
COCO_MAP_40 = _box_metric(
    "coco-map-40",
    "pycocotools.cocoeval.COCOeval at iouThrs [0.4], boxes as x, y, width, height, numbered from 1",
    _coco_precision,
    parse=_CLASSED,
    truth_parser=_CLASSES,
    best=1.0,
)
COCO_MAP_40_CORNERS = _box_metric(
    "coco-map-40-corners",
    "coco-map-40 as MLE-bench computes it: corners as sizes, numbered from 0",
    partial(_coco_precision, as_mlebench=True),
    parse=_CLASSED,
    truth_parser=_CLASSES,
)
VOLUME_MAP = _row_metric(
    "volume-map",
    "mean over rows, overlaps 0.50 ... 0.95 and classes of VOC 2010's average precision; "
    "bases as by shapely.Polygon.intersection",
    per_row(_image_precision),
    parse=_detection_parser(_BOX_3D),
    row_bounds=(0.0, 1.0),
)

"""Metrics of detections: points in boxes, and boxes over boxes."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, Parse, RowMetric, TableMetric, f1_of_counts
from comind.evaluation.metrics.parsing import refuse
from comind.evaluation.metrics.probabilities import average_precision

__all__ = ["BOX_METRICS", "Things", "things"]

_RECALLS = np.linspace(0, 1, 101)  # COCO's
_MOST = 100  # detections a picture and class, COCO's too
_COCO_OVERLAP, _SIIM_OVERLAP = 0.4, 0.5


class Things(NamedTuple):
    """What one cell lists: labels, shape (n,), and the numbers beside each, shape (n, k)."""

    labels: np.ndarray
    numbers: np.ndarray


def things(form: str) -> Parse:
    """Return a parser for cells that list any number of things of a form such as "label x y".

    One word of the form is `label`, which is text, or `class`, a whole number; the others are finite
    numbers.
    """
    words = form.split()
    place = next(i for i, word in enumerate(words) if word in ("label", "class"))

    def parse_cell(cell: str) -> Things | None:
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
        return Things(labels, values) if np.isfinite(values).all() else None

    def parse(column: "pd.Series[str]") -> "pd.Series":
        parsed = pd.Series([parse_cell(cell) for cell in column], index=column.index, dtype=object)
        refuse(parsed.isna(), column, f'no list of "{form}"')
        return parsed

    return parse


# --- points in boxes -------------------------------------------------------------------------------


def _points_in_boxes(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return found, superfluous and missed characters of each row, shape (rows, 3).

    A box is found by the first unused point of its label strictly inside.
    """
    values = []
    for true, guess in zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True):
        unused = np.full(len(guess.labels), fill_value=True)
        for label, (x, y, width, height) in zip(true.labels, true.numbers, strict=True):
            across, down = guess.numbers[:, 0] - x, guess.numbers[:, 1] - y
            inside = (across > 0) & (across < width) & (down > 0) & (down < height)
            hits = np.flatnonzero(inside & unused & (guess.labels == label))
            unused[hits[:1]] = False
        found = int((~unused).sum())
        values.append((found, int(unused.sum()), len(true.labels) - found))
    return np.array(values, dtype=float)


# --- boxes over boxes ------------------------------------------------------------------------------


def overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return intersection over union of each box with each other, shape (boxes, others).

    Rows are x_min, y_min, x_max, y_max; boxes that do not touch overlap by 0.
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [(side[:, 2:] - side[:, :2]).prod(axis=-1) for side in (boxes, others)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    return np.where((union > 0) & (shared > 0), shared / np.where(union > 0, union, 1.0), 0.0)


def _of_label(cell: Things, label: object) -> np.ndarray:
    """Return the numbers of one label, highest confidence (the first number) first."""
    values = cell.numbers[cell.labels == label]
    return np.asarray(values[np.argsort(-values[:, 0], kind="stable")])


def _pooled_pairs(true: Things, guess: Things, label: object) -> list[tuple[float, float]]:
    """Return (is it there, confidence) for a picture: hits, false alarms, misses, or nothing at all."""
    boxes, found = _of_label(true, label), _of_label(guess, label)
    overlap = overlaps(found[:, 1:], boxes[:, 1:])
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
    """Return the mean over labels of the average precision of the pairs of all pictures."""
    both = list(zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True))
    values = []
    for label in sorted({label for true, _ in both for label in true.labels}):
        pairs = [pair for true, guess in both for pair in _pooled_pairs(true, guess, label)]
        there, confidence = pd.DataFrame(pairs, columns=["there", "confidence"]).T.to_numpy()
        sides = pd.Series(there, name=str(label)), pd.Series(confidence)
        values.append(average_precision(*sides)(np.arange(len(there))))
    if not values:
        raise ValueError("no true box")
    return float(np.mean(values))


def _match(overlap: np.ndarray, zero_box: int | None, zero_guess: int | None) -> np.ndarray:
    """Return which detections hit, each taking the free box that it overlaps most, the last of equals.

    COCO's code marks a match by the other side's number, so that what has number 0 never counts as
    matched; `zero_box` and `zero_guess` say which these are, if any.
    """
    hits = np.full(len(overlap), fill_value=False)
    free = np.full(overlap.shape[1], fill_value=True)
    for guess, row in enumerate(overlap):
        allowed = np.where(free & (row >= _COCO_OVERLAP), row, -1.0)
        if not allowed.size or allowed.max() < 0:
            continue
        box = len(allowed) - 1 - int(np.argmax(allowed[::-1]))
        hits[guess] = box != zero_box
        free[box] = guess == zero_guess
    return hits


def _interpolated(scores: np.ndarray, hits: np.ndarray, boxes: int) -> float:
    """Return COCO's average precision: the best precision from each of 101 recalls on."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(hits[order])
    precision = found / np.arange(1, len(found) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(found / boxes, _RECALLS, side="left")
    return float(np.append(best, 0.0)[np.minimum(places, len(best))].mean())


def _coco_precision(
    truth: pd.DataFrame, prediction: pd.DataFrame, *, as_mlebench: bool = False
) -> float:
    """Return the mean over labels of COCO's average precision at an overlap of 0.4; a picture a row.

    MLE-bench takes corners for sizes, and numbers boxes and detections from 0; for it the index of
    `prediction` is the place of each row in its file.
    """
    cells = list(zip(truth.iloc[:, 0], prediction.iloc[:, 0], strict=True))
    first = int(np.argmin(prediction.index.to_numpy())) if as_mlebench else None
    values = []
    for label in sorted({label for true, _ in cells for label in true.labels}, key=float):
        scores, hits, boxes = [np.empty(0)], [np.empty(0, dtype=bool)], 0
        for picture, (true, guess) in enumerate(cells):
            mine, theirs = np.flatnonzero(true.labels == label), np.flatnonzero(guess.labels == label)
            theirs = theirs[np.argsort(-guess.numbers[theirs, 0], kind="stable")][:_MOST]
            corners = true.numbers[mine], guess.numbers[theirs, 1:]
            zero_box = _place_of_zero(mine) if as_mlebench and picture == 0 else None
            zero_guess = _place_of_zero(theirs) if picture == first else None
            if as_mlebench:
                corners = _taken_for_sizes(corners[0]), _taken_for_sizes(corners[1])
            found = _match(overlaps(corners[1], corners[0]), zero_box, zero_guess)
            sides = guess.numbers[theirs, 3:] - guess.numbers[theirs, 1:3]
            # COCO leaves false alarms out whose area is below 0.
            kept = found | (sides.prod(axis=1) >= 0)
            hits.append(found[kept])
            scores.append(guess.numbers[theirs, 0][kept])
            boxes += len(mine)
        values.append(_interpolated(np.concatenate(scores), np.concatenate(hits), boxes))
    if not values:
        raise ValueError("no true box")
    return float(np.mean(values))


def _taken_for_sizes(boxes: np.ndarray) -> np.ndarray:
    return np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])


def _place_of_zero(numbers: np.ndarray) -> int | None:
    places = np.flatnonzero(numbers == 0)
    return int(places[0]) if len(places) else None


_LABELLED = things("label confidence x_min y_min x_max y_max")
_CLASSES = things("class x_min y_min x_max y_max")
_CLASSED = things("class confidence x_min y_min x_max y_max")
_of_boxes = partial(TableMetric, maximize=True, kind=AnswerKind.TEXT)

BOX_METRICS: tuple[Metric, ...] = (
    RowMetric(
        name="point-in-box-f1",
        maximize=True,
        kind=AnswerKind.TEXT,
        parse=things("label x y"),
        truth_parser=things("label x y width height"),
        rows=_points_in_boxes,
        finish=f1_of_counts,
        best=1.0,
        reference="2 hits / (2 hits + false alarms + misses), over all pages",
    ),
    _of_boxes(
        name="pooled-box-map",
        parse=_LABELLED,
        value=_pooled_precision,
        best=1.0,
        reference="mean over labels of sklearn.metrics.average_precision_score of boxes with an "
        "overlap above 0.5",
    ),
    _of_boxes(
        name="coco-map-40",
        parse=_CLASSED,
        truth_parser=_CLASSES,
        value=_coco_precision,
        best=1.0,
        reference="pycocotools.cocoeval.COCOeval at iouThrs [0.4], boxes as x, y, width, height, "
        "numbered from 1",
    ),
    _of_boxes(
        name="coco-map-40-corners",
        parse=_CLASSED,
        truth_parser=_CLASSES,
        value=partial(_coco_precision, as_mlebench=True),
        reference="coco-map-40 as MLE-bench computes it: corners as sizes, numbered from 0",
    ),
)

"""Metrics of free text, sets of labels and masks."""

import re
from functools import partial

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, RowMetric, columnwise, f1_of_counts
from comind.evaluation.metrics.parsing import parse_label_sets, parse_masks, parse_text, refuse

__all__ = ["TEXT_METRICS", "pixels", "shared_pixels"]


def _same_text(true: str, guess: str) -> float:
    return float(true == guess)


def _jaccard(true: str, guess: str) -> float:
    """Return shared words over all words; two empty texts are alike."""
    one, other = set(true.lower().split()), set(guess.lower().split())
    return len(one & other) / len(one | other) if one | other else 1.0


def _shared_labels(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return how many labels are shared and how many there are on both sides, columns side by side."""
    both = [list(zip(truth[name], prediction[name], strict=True)) for name in truth.columns]
    shared = [[len(true & guess) for true, guess in pairs] for pairs in both]
    there = [[len(true) + len(guess) for true, guess in pairs] for pairs in both]
    return np.array(shared + there, dtype=float).T


def _f1_of_counts(means: np.ndarray) -> float:
    shared, there = np.split(means, 2)
    return float((2 * shared / np.where(there > 0, there, 1.0)).mean())


def _f1_of_sets(true: frozenset[str], guess: frozenset[str]) -> float:
    there = len(true) + len(guess)
    return 2 * len(true & guess) / there if there else 0.0


def pixels(runs: np.ndarray) -> int:
    """Return how many pixels a list of runs has."""
    return int(runs[:, 1].sum())


def shared_pixels(one: np.ndarray, other: np.ndarray) -> int:
    """Return how many pixels two sorted lists of runs share."""
    first, second = one.tolist(), other.tolist()
    shared = i = j = 0
    while i < len(first) and j < len(second):
        ends = sum(first[i]), sum(second[j])
        shared += max(0, min(ends) - max(first[i][0], second[j][0]))
        i, j = (i + 1, j) if ends[0] <= ends[1] else (i, j + 1)
    return shared


def _f_half(true: np.ndarray, guess: np.ndarray) -> float:
    shared = shared_pixels(true, guess)
    wrong, missed = pixels(guess) - shared, pixels(true) - shared
    below = 1.25 * shared + 0.25 * missed + wrong
    return 1.25 * shared / below if below else 0.0


_of_texts = partial(RowMetric, kind=AnswerKind.TEXT, parse=parse_text, by_column=True)

TEXT_METRICS: tuple[Metric, ...] = (
    _of_texts(
        name="exact-match",
        maximize=True,
        rows=columnwise(_same_text),
        row_bounds=(0.0, 1.0),
        best=1.0,
        reference="share of texts that are equal, character by character",
    ),
    _of_texts(
        name="mean-levenshtein",
        maximize=False,
        rows=columnwise(Levenshtein.distance),
        best=0.0,
        reference="mean of rapidfuzz.distance.Levenshtein.distance",
    ),
    _of_texts(
        name="word-jaccard",
        maximize=True,
        rows=columnwise(_jaccard),
        row_bounds=(0.0, 1.0),
        best=1.0,
        reference="mean of shared words over all words of both",
    ),
    RowMetric(
        name="micro-f1",
        maximize=True,
        kind=AnswerKind.LABEL_SET,
        parse=parse_label_sets,
        rows=_shared_labels,
        finish=_f1_of_counts,
        best=1.0,
        by_column=True,
        reference="sklearn.metrics.f1_score(average='micro') over label sets",
    ),
    RowMetric(
        name="samples-f1",
        maximize=True,
        kind=AnswerKind.LABEL_SET,
        parse=parse_label_sets,
        rows=columnwise(_f1_of_sets),
        by_column=True,
        row_bounds=(0.0, 1.0),
        reference="sklearn.metrics.f1_score(average='samples') over label sets",
    ),
    RowMetric(
        name="pixel-f05",
        maximize=True,
        kind=AnswerKind.MASK,
        parse=parse_masks,
        rows=columnwise(_f_half),
        by_column=True,
        row_bounds=(0.0, 1.0),
        reference="mean over rows of sklearn.metrics.fbeta_score(beta=0.5) of pixels",
    ),
)


_SPAN = re.compile(r"-?\d+:-?\d+")


def _parse(column: "pd.Series[str]") -> "pd.Series":
    """Return `start:end`, `YES`, `NO` or nothing for each cell.

    Raises:
        ValueError: a cell holds something else.
    """
    text = column.str.strip()
    known = text.isin(["", "YES", "NO"]) | text.map(lambda cell: bool(_SPAN.fullmatch(cell)))
    refuse(~known, column, "neither start:end nor YES nor NO")
    return text.map(_plain)


def _parse_truth(column: "pd.Series[str]") -> "pd.Series":
    """Return all right answers of each cell, which stand between bars; none where there is no answer."""
    return column.map(lambda cell: frozenset(_plain(part) for part in cell.split("|") if part.strip()))


def _plain(cell: str) -> str:
    return ":".join(str(int(part)) for part in cell.split(":")) if ":" in cell else cell.strip()


def _counts(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return true positive, false positive, false negative and true negative of each row."""
    true, guess = truth.iloc[:, 0], prediction.iloc[:, 0]
    given = (guess != "").to_numpy(dtype=bool)
    right = np.array([cell in answers for cell, answers in zip(guess, true, strict=True)], dtype=bool)
    there = np.array([bool(answers) for answers in true], dtype=bool)
    return np.stack([given & right, given & ~right, ~given & there, ~given & ~there], axis=1).astype(
        float
    )


_of_spans = partial(
    RowMetric,
    maximize=True,
    kind=AnswerKind.TEXT,
    parse=_parse,
    truth_parser=_parse_truth,
    rows=_counts,
    best=1.0,
)

SPAN_METRICS: tuple[Metric, ...] = (
    _of_spans(
        name="span-f1",
        finish=f1_of_counts,
        reference="2 right / (2 right + wrong + missed), over all rows",
    ),
    _of_spans(
        name="span-accuracy",
        finish=lambda means: means[0] + means[3],
        reference="share of rows right, MLE-bench's F1: f1_score(average='micro') of 0 and 1",
    ),
)

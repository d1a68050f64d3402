"""Metrics that compare one class label with another."""

import numpy as np
import pandas as pd

from comind.evaluation.metrics.base import RowMetric

__all__ = ["ACCURACY", "parse_labels"]

_EXACT_INTEGERS = 2**53


def parse_labels(column: "pd.Series[str]") -> "pd.Series":
    """Return labels as text in which `1`, `1.0` and ` 1` are the same label.

    Raises:
        ValueError: a label is missing.
    """
    text = column.str.strip()
    if (text == "").any():
        raise ValueError(f"{int((text == '').sum())} rows have no label")
    numbers = pd.to_numeric(text, errors="coerce")
    whole = numbers.notna() & (numbers % 1 == 0) & (numbers.abs() < _EXACT_INTEGERS)
    return text.mask(whole, numbers.where(whole, 0).astype("int64").astype(str))


def _same(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    same: np.ndarray = truth.to_numpy() == prediction.to_numpy()
    return same.all(axis=1, keepdims=True).astype(float)


ACCURACY = RowMetric("accuracy", maximize=True, parse=parse_labels, rows=_same)

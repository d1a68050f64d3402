"""Adversarial validation: train a classifier to separate two samples of rows by their features.

An out-of-bag AUC well above 0.5 means that their distributions differ. Ids, row numbers and names of
files are left out: they differ in any case.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.splits.pooled_rows import PooledRows, Positions

_MOST_ROWS = 2_000
_MOST_COLUMNS = 100
_LEAST_ROWS = 50
_RATIO = 3  # of the samples' sizes, at most
_TREES, _DEPTH, _LEAF = 40, 10, 5
_FILE = r"[^\s,;|]+\.[A-Za-z]\w{1,4}"
_HUGE = 1e30  # scikit-learn's trees compute in single precision


def adversarial_auc(
    pool: PooledRows, columns: tuple[str, ...], rows: Positions, rest: Positions
) -> tuple[float, str] | None:
    """Return the ROC AUC of telling `rows` from `rest`, and the column with the largest importance.

    The AUC is out-of-bag: 0.5 is chance, 1 perfect. Large inputs are sampled.

    Returns:
        None if one side has fewer than 50 rows, or no column can be compared.
    """
    if min(len(rows), len(rest)) < _LEAST_ROWS or not columns:
        return None
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    most = min(_MOST_ROWS, _RATIO * len(rows), _RATIO * len(rest))
    positives, negatives = pool.sample(rows, most), pool.sample(rest, most)
    both = np.concatenate([positives, negatives])
    features = [
        (name, values)
        for name in columns[:_MOST_COLUMNS]
        for values in _numeric_features(pool, name, both)
    ]
    if not features:
        return None
    labels = np.arange(len(both)) < len(positives)
    trees = ExtraTreesClassifier(
        _TREES,
        max_depth=_DEPTH,
        min_samples_leaf=_LEAF,
        bootstrap=True,
        oob_score=True,
        random_state=0,
    ).fit(np.column_stack([values for _, values in features]), labels)
    auc = float(roc_auc_score(labels, trees.oob_decision_function_[:, 1]))
    return auc, features[int(trees.feature_importances_.argmax())][0]


def _numeric_features(pool: PooledRows, name: str, rows: Positions) -> Iterator[npt.NDArray[np.float64]]:
    """Yield a column as numbers, empty cells as the minimum; of text, its frequency and length.

    Nothing of a column that names a file for each row.
    """
    if pool.is_datetime(name):
        times = pool.timestamps(name)[rows]
        yield np.where(np.isnat(times), -1.0, times.astype("datetime64[s]").astype(np.float64))
        return
    cells = pool.column(name).iloc[rows]
    numbers = pd.to_numeric(cells.where(cells != "", None), errors="coerce")
    if numbers.notna().sum() == (cells != "").sum():
        least = float(np.nanmin(numbers)) if numbers.notna().any() else 0.0
        yield numbers.fillna(least - 1).clip(-_HUGE, _HUGE).to_numpy(np.float64)
        return
    if cells.is_unique and cells.str.fullmatch(_FILE).all():
        return
    yield cells.map(cells.value_counts()).to_numpy().astype(np.float64)
    yield cells.str.len().to_numpy().astype(np.float64)

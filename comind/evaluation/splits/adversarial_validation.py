"""Adversarial validation: can rows be told from the rows to learn from by what they hold?

Trees learn which part a row is from; where they can tell it of rows that they did not see, the parts
differ. Ids and row numbers are left out, as they differ in any case.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.evaluation.splits.relations import PooledRows, Positions

__all__ = ["adversarial_auc"]

_MOST_ROWS = 2_000
_MOST_COLUMNS = 100
_LEAST_ROWS = 50
_TIMES = 3  # as many rows of one part as of the other, at most
_TREES, _DEPTH, _LEAF = 40, 10, 5
_HUGE = 1e30  # trees count in single precision


def adversarial_auc(
    pool: PooledRows, columns: tuple[str, ...], rows: Positions, rest: Positions
) -> tuple[float, str] | None:
    """Return how well `rows` can be told from the rest, and by which column most.

    The first is the area under the ROC curve over rows that a tree was not trained on: 0.5 is chance, 1
    is without a mistake. Of many rows and columns some are looked at. None where there are too few.
    """
    if min(len(rows), len(rest)) < _LEAST_ROWS or not columns:
        return None
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    most = min(_MOST_ROWS, _TIMES * len(rows), _TIMES * len(rest))
    asked, others = pool.some(rows, most), pool.some(rest, most)
    both = np.concatenate([asked, others])
    named = [
        (name, values) for name in columns[:_MOST_COLUMNS] for values in _as_numbers(pool, name, both)
    ]
    inputs = np.column_stack([values for _, values in named])
    which = np.arange(len(both)) < len(asked)
    trees = ExtraTreesClassifier(
        _TREES,
        max_depth=_DEPTH,
        min_samples_leaf=_LEAF,
        bootstrap=True,
        oob_score=True,
        random_state=0,
    ).fit(inputs, which)
    area = float(roc_auc_score(which, trees.oob_decision_function_[:, 1]))
    return area, named[int(trees.feature_importances_.argmax())][0]


def _as_numbers(pool: PooledRows, name: str, rows: Positions) -> Iterator[npt.NDArray[np.float64]]:
    """Yield a column as numbers; of words, how common and how long they are; empty cells are least."""
    if pool.holds_times(name):
        stamps = pool.stamps(name)[rows]
        yield np.where(np.isnat(stamps), -1.0, stamps.astype("datetime64[s]").astype(np.float64))
        return
    cells = pool.column(name).iloc[rows]
    numbers = pd.to_numeric(cells.where(cells != "", None), errors="coerce")
    if numbers.notna().sum() == (cells != "").sum():
        least = float(np.nanmin(numbers)) if numbers.notna().any() else 0.0
        yield numbers.fillna(least - 1).clip(-_HUGE, _HUGE).to_numpy(np.float64)
        return
    yield cells.map(cells.value_counts()).to_numpy().astype(np.float64)
    yield cells.str.len().to_numpy().astype(np.float64)

"""Compare the values of a column with labels, row by row: do they reproduce them?

They do if they determine at least 90 % of what the most frequent label leaves open: by equality, by one
label for each value, or for one class against the rest, as in one-hot columns; numbers also by their
order. And if a random assignment would do so less often than once in a million.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln

_LEAST = 0.9
_LEAST_ORDER = 0.99  # absolute rank correlation with a number
_LEAST_AUC = 0.995  # of a number, for two classes
_CHANCE = math.log(1e6)
_NAMED = math.log(20)  # once in twenty times
_MOST_CLASSES = 200
_NUMBERS = 0.95  # of the cells
_FEW = 20  # classes, which numbers may be, and values of a one-hot column
_TWO = 2
_BLOCK_ROWS = 250_000
_EXACT = 2.0**53
_BLANK = ("", "nan", "none", "null", "na", "<na>")

Positions = npt.NDArray[np.intp]


class Cells(NamedTuple):
    """The cells of a column."""

    codes: npt.NDArray[np.uint64]
    """Equal for equal texts, without case, and for numbers with nine equal digits."""
    numbers: npt.NDArray[np.float64]
    filled: npt.NDArray[np.bool_]

    def take(self, rows: Positions | npt.NDArray[np.bool_] | slice) -> "Cells":
        """Return the cells of some rows."""
        return Cells(self.codes[rows], self.numbers[rows], self.filled[rows])

    @property
    def are_numbers(self) -> bool:
        """Whether nearly all cells are numbers."""
        return bool(np.isfinite(self.numbers).mean() >= _NUMBERS)


def read_cells(column: pd.Series) -> Cells:
    """Read a column of text, some rows at a time, as it takes a Python object for each."""
    firsts = range(0, max(1, len(column)), _BLOCK_ROWS)
    blocks = [_read_block(column.iloc[first : first + _BLOCK_ROWS]) for first in firsts]
    return Cells(*map(np.concatenate, zip(*blocks, strict=True)))


def _read_block(column: pd.Series) -> Cells:
    text = column.astype(str).str.strip().str.casefold()
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    codes = pd.util.hash_array(text.to_numpy(object), categorize=False)
    known = np.isfinite(numbers)
    whole = known & (numbers == np.rint(numbers))
    known &= ~whole | (np.abs(numbers) < _EXACT)  # longer ids are text
    short = [
        f"{int(n)}" if is_whole else f"{n:.9g}"
        for n, is_whole in zip(numbers[known], whole[known], strict=True)
    ]
    codes[known] = pd.util.hash_array(np.array(short, dtype=object), categorize=False)
    return Cells(codes, numbers, ~text.isin(_BLANK).to_numpy())


def reproduces(values: Cells, truth: Cells, tests: int, *, named: bool = False) -> bool:
    """Return whether values reproduce the labels of the same rows; the best of `tests` is searched.

    `named` says that both have the same name, so that less evidence is enough.
    """
    filled = values.filled & truth.filled
    values, truth = values.take(filled), truth.take(filled)
    count, bound = len(values.codes), _NAMED if named else _CHANCE + math.log(tests)
    if count * math.log(max(_TWO, count)) < bound:  # no agreement would be sure
        return False
    codes, classes = pd.factorize(values.codes)[0], pd.factorize(truth.codes)[0]
    kinds, labels = int(codes.max()) + 1, int(classes.max()) + 1
    if min(kinds, labels) < _TWO:
        return False
    same, chance = values.codes == truth.codes, _agreement(values.codes, truth.codes)
    if _is_sure(same.mean(), chance, np.bincount(classes), 0.0, bound):
        return True
    if labels > _FEW and truth.are_numbers:
        return values.are_numbers and _same_order(values.numbers, truth.numbers, bound)
    if labels > _MOST_CLASSES or kinds > count / _TWO:
        two = labels == _TWO and values.are_numbers
        return two and _separates(values.numbers, classes == 0, bound)
    table = np.bincount(codes * labels + classes, minlength=kinds * labels).reshape(kinds, labels)
    frequent = table.sum(axis=0)
    rules = kinds * math.log(labels)
    known = table.max(axis=1).sum() / count
    if _is_sure(known, frequent.max() / count, frequent, rules, bound):
        return True
    if kinds <= _FEW:
        totals = table.sum(axis=1, keepdims=True)
        found = np.maximum(table, totals - table).sum(axis=0) / count
        rules = kinds * math.log(_TWO) + math.log(labels)
        return any(
            _is_sure(share, max(own, count - own) / count, np.array([own, count - own]), rules, bound)
            for share, own in zip(found, frequent, strict=True)
        )
    return labels == _TWO and values.are_numbers and _separates(values.numbers, classes == 0, bound)


def _agreement(values: npt.NDArray[np.uint64], truth: npt.NDArray[np.uint64]) -> float:
    """Return the share of equal pairs that a random assignment has."""
    first, first_counts = np.unique(values, return_counts=True)
    second, second_counts = np.unique(truth, return_counts=True)
    _, places, others = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return float((first_counts[places] * second_counts[others]).sum()) / len(values) ** 2


def _is_sure(
    share: float, chance: float, labels: npt.NDArray[np.int64], rules: float, bound: float
) -> bool:
    """Return whether a share of right labels is far beyond chance, and no accident.

    `labels` are how often each label occurs, `rules` the logarithm of the number of rules of which the
    best was chosen. Of all assignments of the labels to rows one is all right; of others, the number is
    bounded as by Chernoff.
    """
    share, chance, count = float(share), min(max(float(chance), 1e-9), 1 - 1e-9), int(labels.sum())
    if share - chance < _LEAST * (1 - chance):
        return False
    if share == 1:
        return float(gammaln(count + 1) - gammaln(labels + 1).sum()) - rules >= bound
    distance = share * math.log(share / chance) + (1 - share) * math.log((1 - share) / (1 - chance))
    return count * distance - rules >= bound


def _same_order(values: npt.NDArray[np.float64], truth: npt.NDArray[np.float64], bound: float) -> bool:
    finite = np.isfinite(values) & np.isfinite(truth)
    values, truth = values[finite], truth[finite]
    if min(len(np.unique(values)), len(np.unique(truth))) < _TWO:
        return False
    order = float(np.corrcoef(_ranks(values), _ranks(truth))[0, 1])  # Spearman's
    open_share = max(1 - order**2, 1e-12)
    return abs(order) >= _LEAST_ORDER and -(len(values) - 2) / 2 * math.log(open_share) >= bound


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the ranks, of ties their mean; scipy.stats takes a second to import."""
    return np.asarray(pd.Series(values).rank(), np.float64)


def _separates(values: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], bound: float) -> bool:
    """Return whether a number orders rows by two classes."""
    finite = np.isfinite(values)
    ranks, positive = _ranks(values[finite]), positive[finite]
    first, second = int(positive.sum()), int((~positive).sum())
    if not first or not second:
        return False
    auc = (float(ranks[positive].sum()) - first * (first + 1) / 2) / (first * second)
    deviation = math.sqrt((first + second + 1) / (12 * first * second))
    return max(auc, 1 - auc) >= _LEAST_AUC and ((auc - 0.5) / deviation) ** 2 / 2 >= bound

"""The folds of a rule as a cross-validator of scikit-learn."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator

_Rows = npt.NDArray[np.intp]


class RuleFolds(BaseCrossValidator):  # type: ignore[misc] # scikit-learn has no types
    """Folds of the rows of one table; give it as `cv` with features in the same order.

    By time, a fold trains on the earlier ones, so the first is never validation. By several groupings,
    rows that share a group of any with the validation rows are left out of training.
    """

    def __init__(self, numbers: _Rows, groups: "Sequence[npt.NDArray[Any]]", *, in_order: bool) -> None:
        """Store the fold and the names of the groups of each row, and whether folds follow in time."""
        self._numbers, self._groups, self._in_order = numbers, groups, in_order

    def get_n_splits(self, *_: Any, **_named: Any) -> int:
        """Return the number of pairs that `split` yields; the arguments are not used."""
        return len(self._validated())

    def split(self, *_: Any, **_named: Any) -> Iterator[tuple[_Rows, _Rows]]:
        """Yield the positions of training and of validation rows; the arguments are not used."""
        for fold in self._validated():
            held_out = self._numbers == fold
            kept = self._numbers < fold if self._in_order else ~held_out
            for names in self._groups:
                kept &= ~np.isin(names, names[held_out])
            yield np.flatnonzero(kept), np.flatnonzero(held_out)

    def _validated(self) -> list[int]:
        found: list[int] = np.unique(self._numbers).tolist()
        return found[1:] if self._in_order else found

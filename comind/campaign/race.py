"""The race of finalists: who is too far behind the best, on all rows so far, to run on another fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from comind.campaign.choice import pooled_error
from comind.domain.metric import Paired

__all__ = ["Compared", "Comparing", "Runner", "dropped"]

_ERRORS = 1.0  # standard errors behind the best, beyond which nobody runs on (0013-pick-rules.md)


class Comparing(Protocol):
    """Whoever can say how much better one submission is than another."""

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better the first submission is than the second, on the same rows."""
        ...


class _Comparer(Comparing, Protocol):
    def fold(self, number: int) -> Comparing:
        """Return who compares submissions for a fold."""
        ...


class Compared:
    """Remembers comparisons, each of which may take the grader seconds; they come out the same again."""

    def __init__(self, comparer: _Comparer) -> None:
        self._comparer = comparer
        self._known: dict[tuple[int, Path, Path], Paired] = {}

    def compare(self, one: Path, other: Path, fold: int = 0) -> Paired:
        """Return how much better the first submission is than the second, for a fold or the split."""
        key = (fold, one, other)
        if key not in self._known:
            comparing = self._comparer.fold(fold) if fold else self._comparer
            self._known[key] = comparing.compare(one, other)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Runner:
    """One that ran on all folds so far; scores and files are those of the split and of each fold."""

    work_id: str
    scores: tuple[float, ...]
    """More is better."""
    files: tuple[Path, ...]
    """Submissions for the validation rows and for those of each fold."""


def dropped(runners: Sequence[Runner], rows: Sequence[int], compared: Compared) -> dict[str, str]:
    """Return who is more than one standard error behind the best on all rows so far, and by how much.

    The best has the best mean over all rows, `rows` being the numbers of the parts; of equals the first
    one. Differences and their errors are paired. The value is a line for people.
    """
    best = max(runners, key=lambda each: float(np.average(each.scores, weights=rows)))
    found = {}
    for runner in runners:
        if runner is best:
            continue
        files = enumerate(zip(best.files, runner.files, strict=True))
        pairs = [compared.compare(one, other, number) for number, (one, other) in files]
        behind = float(np.average([each.difference for each in pairs], weights=rows))
        error = pooled_error([each.standard_error for each in pairs], rows)
        if behind > _ERRORS * error:
            found[runner.work_id] = (
                f"{runner.work_id} is {behind:.3g} behind {best.work_id} (standard error {error:.3g})"
            )
    return found

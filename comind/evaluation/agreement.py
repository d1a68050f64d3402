"""Whether two submissions say the same: byte for byte, or within what arithmetic may change."""

import math
from enum import StrEnum
from pathlib import Path

import pandas as pd

from comind.domain.value import Value
from comind.errors import SubmissionError
from comind.evaluation.csv_tables import read_table
from comind.system.files import hash_file

__all__ = ["RELATIVE", "Agreement", "Verdict", "agreement"]

RELATIVE = 1e-6
"""Numbers that differ by no more than this share of their size are the same."""
_ABSOLUTE = 1e-9


class Verdict(StrEnum):
    """How far two results agree, the best first."""

    IDENTICAL = "identical"  # the same bytes
    EQUIVALENT = "equivalent"  # the same rows and predictions, within the tolerance
    DRIFT = "drift"  # other predictions

    @property
    def distance(self) -> int:
        """How far apart the results are: 0 for identical ones."""
        return list(Verdict).index(self)


class Agreement(Value):
    """A verdict, and the first thing that differs."""

    verdict: Verdict
    difference: str = ""


def agreement(expected: Path, found: Path) -> Agreement:
    """Return how far the submission `found` agrees with `expected`.

    A file that is missing or no table agrees with nothing; the difference says so.
    """
    try:
        if hash_file(expected) == hash_file(found):
            return Agreement(verdict=Verdict.IDENTICAL)
        before, now = read_table(expected, SubmissionError), read_table(found, SubmissionError)
    except (SubmissionError, OSError) as error:
        return Agreement(verdict=Verdict.DRIFT, difference=str(error))
    if list(before.columns) != list(now.columns):
        said = f"its columns are {', '.join(now.columns)} instead of {', '.join(before.columns)}"
        return Agreement(verdict=Verdict.DRIFT, difference=said)
    if len(before) != len(now):
        return Agreement(verdict=Verdict.DRIFT, difference=f"{len(now)} rows instead of {len(before)}")
    return _compare(before, now)


def _compare(before: pd.DataFrame, now: pd.DataFrame) -> Agreement:
    first, rows, largest = "", set(), 0.0
    for column in before.columns:
        changed = before.index[before[column] != now[column]]
        for row in changed:
            old, new = before[column][row], now[column][row]
            gap = _gap(old, new)
            if gap <= RELATIVE:
                largest = max(largest, gap)
                continue
            rows.add(row)
            first = first or f"row {row + 2}, column {column}: {new[:60]} instead of {old[:60]}"
    if rows:
        said = f"{first}; {len(rows)} of {len(before)} rows differ"
        return Agreement(verdict=Verdict.DRIFT, difference=said)
    said = f"numbers differ by a share of at most {largest:.1g}" if largest else "only the form differs"
    return Agreement(verdict=Verdict.EQUIVALENT, difference=said)


def _gap(old: str, new: str) -> float:
    """Return by what share of their size two cells differ; infinite where one is no number."""
    try:
        one, other = float(old), float(new)
    except ValueError:
        return math.inf
    if one == other or abs(one - other) <= _ABSOLUTE:
        return 0.0
    gap = abs(one - other) / max(abs(one), abs(other))
    return gap if math.isfinite(gap) else math.inf

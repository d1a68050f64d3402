"""Compare two submissions: identical bytes, equal within a numeric tolerance, or different."""

import math
from enum import StrEnum
from pathlib import Path

import pandas as pd

from comind.domain.value import Value
from comind.errors import SubmissionError
from comind.system.files import hash_file
from comind.tables.csv_tables import read_table

_RELATIVE, _ABSOLUTE = 1e-6, 1e-9  # tolerances, of which one is enough


class Verdict(StrEnum):
    """The degree of agreement of two results, the best first."""

    IDENTICAL = "identical"  # the same bytes
    EQUIVALENT = "equivalent"  # the same rows and predictions, within the tolerance
    UNPROVED = "unproved"  # not known: the script ran out of time, or was ended for its memory or files
    DRIFT = "drift"  # other predictions

    @property
    def distance(self) -> int:
        """The rank of the verdict: 0 for identical."""
        return list(Verdict).index(self)


class Agreement(Value):
    """A verdict, and the first difference."""

    verdict: Verdict
    difference: str = ""


def compare_submissions(expected: Path, found: Path) -> Agreement:
    """Compare the submission `found` with `expected`.

    A file that is missing or unreadable is a drift; the difference is the error.
    """
    try:
        if hash_file(expected) == hash_file(found):
            return Agreement(verdict=Verdict.IDENTICAL)
        before, now = read_table(expected, SubmissionError), read_table(found, SubmissionError)
    except (SubmissionError, OSError) as error:
        return Agreement(verdict=Verdict.DRIFT, difference=str(error))
    if list(before.columns) != list(now.columns):
        difference = f"its columns are {', '.join(now.columns)} instead of {', '.join(before.columns)}"
        return Agreement(verdict=Verdict.DRIFT, difference=difference)
    if len(before) != len(now):
        return Agreement(verdict=Verdict.DRIFT, difference=f"{len(now)} rows instead of {len(before)}")
    return _compare_cells(before, now)


def _compare_cells(before: pd.DataFrame, now: pd.DataFrame) -> Agreement:
    first, rows, largest = "", set(), 0.0
    for column in before.columns:
        changed = before.index[before[column] != now[column]]
        for row in changed:
            old, new = before[column][row], now[column][row]
            gap = _gap(old, new)
            if gap <= _RELATIVE:
                largest = max(largest, gap)
                continue
            rows.add(row)
            first = first or f"row {row + 2}, column {column}: {new[:60]} instead of {old[:60]}"
    if rows:
        difference = f"{first}; {len(rows)} of {len(before)} rows differ"
        return Agreement(verdict=Verdict.DRIFT, difference=difference)
    difference = f"numbers differ by a share of at most {largest:.1g}"
    difference = difference if largest else "only the form differs"
    return Agreement(verdict=Verdict.EQUIVALENT, difference=difference)


def _gap(old: str, new: str) -> float:
    """Return the relative difference of two cells; infinite if one is not a number."""
    try:
        one, other = float(old), float(new)
    except ValueError:
        return math.inf
    if one == other or abs(one - other) <= _ABSOLUTE:
        return 0.0
    gap = abs(one - other) / max(abs(one), abs(other))
    return gap if math.isfinite(gap) else math.inf

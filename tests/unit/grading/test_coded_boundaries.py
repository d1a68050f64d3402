"""Numbers that decide whether submissions are queries of labels, each at its boundary."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from comind.grading.coded_submissions import find_coded
from comind.metrics import METRICS

_Edit = tuple[slice, float]


def _steps(rows: int, first: float, *edits: Sequence[_Edit]) -> list[pd.DataFrame]:
    """Return submissions of equal predictions, in each of which some rows are edited."""
    found = [np.full(rows, first)]
    for edit in edits:
        found.append(found[-1].copy())
        for place, value in edit:
            found[-1][place] = value
    return [pd.DataFrame({"y": values}) for values in found]


def _is_coded(
    validation: list[pd.DataFrame], test: list[pd.DataFrame], metric: str = "accuracy"
) -> bool:
    """Return whether the last of these submissions is a query; all true answers are 1."""
    truth = pd.DataFrame({"y": np.ones(len(validation[0]))})
    return bool(find_coded(METRICS[metric], truth, list(zip(validation, test, strict=True)))[-1])


def _rows(first: int, last: int, value: float = 1) -> list[_Edit]:
    return [(slice(first, last), value)]


def _same(rows: int = 2000, steps: int = 4, value: float = 0) -> list[pd.DataFrame]:
    return _steps(rows, value, *[[]] * (steps - 1))


@pytest.mark.parametrize(("corrected", "coded"), [(10, True), (9, False)])
def test_ten_rows_become_right(corrected: int, *, coded: bool) -> None:
    """With fewer corrected predictions nothing is said."""
    steps = _steps(400, 0, _rows(0, 4), _rows(4, 7), _rows(7, corrected))
    assert _is_coded(steps, _same()) == coded


@pytest.mark.parametrize(("queries", "coded"), [(3, True), (2, False)])
def test_three_steps_are_queries(queries: int, *, coded: bool) -> None:
    """Two steps that change predictions for validation rows alone are no pattern."""
    edits = [_rows(0, 20), _rows(20, 40), _rows(40, 60) if queries > 2 else []]
    assert _is_coded(_steps(400, 0, *edits), _same()) == coded


@pytest.mark.parametrize(("changed", "coded"), [(240, True), (241, False)])
def test_a_query_changes_three_fifths_of_the_rows(changed: int, *, coded: bool) -> None:
    """A step that changes more validation rows is another model."""
    steps = _steps(400, 0, _rows(0, changed), _rows(changed, 300), _rows(300, 400))
    assert _is_coded(steps, _same()) == coded


@pytest.mark.parametrize(("others", "coded"), [(40, True), (41, False)])
def test_a_query_changes_a_third_of_test_rows(others: int, *, coded: bool) -> None:
    """A step that changes more than a third as large a share of the test rows is another model."""
    steps = _steps(400, 0, _rows(0, 48), _rows(48, 96), _rows(96, 144))
    test = _steps(1000, 0, *(_rows(0, others, value) for value in (2, 3, 4)))
    assert _is_coded(steps, test) == coded


@pytest.mark.parametrize(("corrected", "coded"), [(23, True), (22, False)])
def test_the_shares_differ_by_five_standard_errors(corrected: int, *, coded: bool) -> None:
    """Of 100 rows, 23 have to change where no test row of 100 does."""
    steps = _steps(100, 0, _rows(0, 8), _rows(8, 16), _rows(16, corrected))
    assert _is_coded(steps, _same(100)) == coded


@pytest.mark.parametrize(("broken", "coded"), [(10, True), (11, False)])
def test_a_tenth_as_many_become_wrong(broken: int, *, coded: bool) -> None:
    """If more predictions become wrong, these are guesses."""
    start = _steps(400, 0, _rows(200, 400))[1:]
    edits = [_rows(0, 40), _rows(40, 80), [*_rows(80, 100), *_rows(200, 200 + broken, 0)]]
    steps = [*start]
    for edit in edits:
        steps.append(steps[-1].copy())
        for place, value in edit:
            steps[-1].loc[steps[-1].index[place], "y"] = value
    assert _is_coded(steps, _same()) == coded


@pytest.mark.parametrize(("right", "coded"), [(85, True), (84, False)])
def test_most_changed_rows_become_right(right: int, *, coded: bool) -> None:
    """Of the changed predictions 85 % are right at the end."""
    edits = [_rows(0, 20), _rows(20, 40), [*_rows(40, right), *_rows(right, 100, 2)]]
    assert _is_coded(_steps(400, 0, *edits), _same()) == coded


@pytest.mark.parametrize(
    ("unsure", "sure", "last", "moved", "coded"),
    [
        (0.8, 0.98, 0.98, 0, True),
        (0.81, 0.98, 0.98, 0, False),
        (0.8, 0.97, 0.97, 0, False),
        (0.8, 0.98, 0.951, 0, True),
        (0.8, 0.98, 0.949, 0, False),
        (0.8, 0.98, 0.98, 0.049, True),
        (0.8, 0.98, 0.98, 0.051, False),
    ],
)
def test_probabilities_become_sure(
    unsure: float, sure: float, last: float, moved: float, *, coded: bool
) -> None:
    """A prediction becomes sure from 0.8 to 0.98; it is right to 0.05, and moves by more than 0.05."""
    edits = [_rows(0, 40, sure), _rows(40, 80, sure), _rows(80, 120, sure), _rows(0, 120, last)]
    test = _steps(2000, 0.5, [], [], [], _rows(0, 2000, 0.5 + moved))
    assert _is_coded(_steps(400, unsure, *edits), test, "log-loss") == coded


@pytest.mark.parametrize(
    ("moved", "off", "coded"), [(201, 0, True), (199, 0, False), (300, 19, True), (300, 21, False)]
)
def test_numbers_move_by_a_fifth_of_the_true_values(moved: int, off: int, *, coded: bool) -> None:
    """A prediction of a number moves past a fifth of the true values; it is right within a fiftieth."""
    truth = np.arange(1000.0)
    steps = [truth.copy()]
    steps[0][:120] = truth[:120] + moved + off
    for last in (40, 80, 120):
        steps.append(steps[-1].copy())
        steps[-1][:last] = truth[:last] + off
    tables = [pd.DataFrame({"y": values}) for values in steps]
    found = find_coded(
        METRICS["rmse"], pd.DataFrame({"y": truth}), list(zip(tables, _same(), strict=True))
    )
    assert bool(found[-1]) == coded

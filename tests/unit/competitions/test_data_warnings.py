"""A warning names what makes scores or predictions worthless, before anything is run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.competitions.data_warnings import data_warnings
from comind.competitions.download.plain_download import arrange_download
from tests.unit.competitions.download.downloads import Files, csv, place
from tests.unit.competitions.download.shapes import TEST, TRAIN, Tables, numbers, tables

_ACCURACY, _RMSE = "classification accuracy", "root mean squared error"
_MAPE = "mean absolute percentage error (MAPE)"


def _labels(values: list[object], metric: str) -> Files:
    made = tables()
    label = [values[row % len(values)] for row in range(TRAIN)]
    sample = made.sample.assign(target=values[0])
    return Tables(made.train.assign(target=label), made.test, sample).files(metric)


def _input(column: Callable[[int], object]) -> Files:
    made = numbers()
    train, test = (
        each.assign(b=[column(row) for row in range(len(each))]) for each in (made.train, made.test)
    )
    return Tables(train, test, made.sample).files(_RMSE)


def _beside(name: str, table: pd.DataFrame) -> Files:
    return tables().files(_ACCURACY) | {name: csv(table)}


def _known_rows() -> Files:
    made = numbers()
    test = made.train.drop(columns="target")[:TEST]
    return Tables(made.train, test, pd.DataFrame({"id": test["id"], "target": 0.5})).files(_RMSE)


_DECIMALS: list[object] = [f"{number:.2f}" for number in np.linspace(0.01, 99.99, TRAIN)]
_SOLUTION = tables().sample.assign(target=[row % 2 for row in range(TEST)])


def _warnings(files: Files, root: Path) -> tuple[str, ...]:
    layout = arrange_download(place(files, root, packed=False), root / "project" / "download")
    return data_warnings(CompetitionData.read(load_competition(layout.folder)))


@pytest.mark.parametrize(
    ("files", "line"),
    [
        pytest.param(
            _labels([5.5], _RMSE),
            "label 'target' is '5.5' in all rows, so that nothing can be learnt",
            id="a constant label",
        ),
        pytest.param(
            _labels(_DECIMALS, _ACCURACY),
            "label 'target' has 60 different numbers, such as 0.01, and accuracy compares labels for "
            "equality",
            id="a metric of labels for numbers",
        ),
        pytest.param(
            _labels([0, 1.5, 2.5], _MAPE),
            "label 'target' is 0 in 20 rows, by which mape divides: these rows decide the score",
            id="a metric that divides by labels of 0",
        ),
        pytest.param(
            _labels(["cat", "Cat", "dog"], _ACCURACY),
            "label 'target' has 'cat' and 'Cat', which are two classes here",
            id="classes that differ in case",
        ),
        pytest.param(
            _labels(["1", "1.0", "2"], _ACCURACY),
            "label 'target' has '1' and '1.0', which are two classes here",
            id="classes that differ in decimals",
        ),
        pytest.param(
            _input(lambda row: -999 if row % 9 == 0 else row % 7),
            "-999 may mean missing in column 'b': it is far from other values",
            id="a sentinel",
        ),
        pytest.param(
            _known_rows(),
            f"{TEST} of the first {TEST} rows of test.csv are in train.csv, with their labels",
            id="rows of test.csv in train.csv",
        ),
        pytest.param(
            _beside("solution.csv", _SOLUTION),
            "solution.csv has 'target' of the rows to predict: remove it if these are the true values, "
            "as agents read it",
            id="a table of answers",
        ),
    ],
)
def test_what_is_odd_is_said(files: Files, line: str, tmp_path: Path) -> None:
    """One line names what, where and how much."""
    assert _warnings(files, tmp_path) == (line,)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(numbers().files(_RMSE), id="numbers"),
        pytest.param(_labels([0, 1.5, 2.5], _RMSE), id="labels of 0 for another metric"),
        pytest.param(_labels([1, 2, 3], _ACCURACY), id="classes that are numbers"),
        pytest.param(
            _labels(["A word", "a word"], "mean Levenshtein distance"), id="texts that differ in case"
        ),
        pytest.param(_input(lambda row: -999 + row), id="-999 among its neighbours"),
        pytest.param(_beside("zeros.csv", tables().sample), id="a second sample"),
        pytest.param(_beside("copy.csv", tables().train), id="a copy of train.csv"),
    ],
)
def test_usual_data_gives_no_warning(files: Files, tmp_path: Path) -> None:
    """Plain data needs none."""
    assert _warnings(files, tmp_path) == ()

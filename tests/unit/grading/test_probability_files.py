"""Files of probabilities beside labels are read by row and class, and refused in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.competitions.label_spelling import Spelling
from comind.domain.metric import MetricTraits, ProbabilityForm
from comind.domain.problem import (
    OUT_OF_FOLD_PROBABILITIES,
    TEST_PROBABILITIES,
    VALIDATION_PROBABILITIES,
)
from comind.errors import SubmissionError
from comind.grading.grader_port import GradeReport
from comind.grading.grader_server import SplitGrader
from comind.grading.probability_files import ProbabilityFiles
from comind.metrics import known_metric
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import row_keys
from tests.examples import examples
from tests.unit.competitions.folders import competition_folder

_CLASSES = ("1", "2", "no")
_IDS = pd.DataFrame({"id": ["7", "8", "9"]})
_KEYS = row_keys(_IDS, ["id"])


def _reader(*classes: str, ids: tuple[str, ...] = ("id",)) -> ProbabilityFiles:
    return ProbabilityFiles(("id",), ids, classes, Spelling(classes))


_NUMBERS = ProbabilityFiles(("id",), ("row",), ("grade",))


@pytest.mark.parametrize(
    ("metric", "targets", "form"),
    [
        ("accuracy", 1, ProbabilityForm.CLASSES),
        ("f1", 1, ProbabilityForm.CLASSES),
        ("matthews-correlation", 1, ProbabilityForm.CLASSES),
        ("quadratic-weighted-kappa", 1, ProbabilityForm.NUMBER),
        ("accuracy", 2, None),
        ("roc-auc", 1, None),
        ("multiclass-log-loss", 3, None),
        ("rmse", 1, None),
    ],
)
def test_the_metric_says_whether_probabilities_are_kept(
    metric: str, targets: int, form: ProbabilityForm | None
) -> None:
    """One column of labels has probabilities of classes, or the numbers that are rounded."""
    assert known_metric(metric).traits.probability_form(targets) is form
    assert MetricTraits().probability_form(targets) is None


# --- reading --------------------------------------------------------------------------------------

_shares = st.lists(
    st.floats(min_value=0, max_value=1e300, allow_subnormal=False), min_size=3, max_size=3
).filter(lambda row: max(row) > 0)


@given(
    rows=st.lists(_shares, min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
    missing=st.sets(st.integers(0, 11)),
)
@examples(50)
def test_rows_and_classes_are_found_in_any_order(
    rows: list[list[float]], order: Any, missing: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the order of rows and columns, each row has its probabilities, which sum to 1."""
    path = tmp_path_factory.mktemp("files") / "any.csv"
    values = pd.DataFrame(rows, columns=["1.0", " 2", "NO"])
    names, places = list(values.columns), list(range(len(rows)))
    order.shuffle(names)
    order.shuffle(places)
    table = values[names].assign(id=[f"{place}.0" for place in values.index]).iloc[places]
    table.to_csv(path, index=False)
    keys = pd.Index([str(place) for place in range(len(rows))])
    found = _reader(*_CLASSES).read(path, keys)
    assert list(found.columns) == list(_CLASSES)
    expected = np.array(rows) / np.max(rows, axis=1, keepdims=True)
    expected /= expected.sum(axis=1, keepdims=True)
    assert found.to_numpy() == pytest.approx(expected)

    table.loc[table.index.isin(missing), names[0]] = np.nan
    table.to_csv(path, index=False)
    there = [place for place in range(len(rows)) if place not in missing]
    if not there:
        with pytest.raises(SubmissionError, match=r"any\.csv: it has no row without an empty cell"):
            _reader(*_CLASSES).read_out_of_fold(path, keys)
        return
    where, some = _reader(*_CLASSES).read_out_of_fold(path, keys)
    assert where.tolist() == there
    assert some.to_numpy() == pytest.approx(expected[there])


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
@examples(25)
def test_numbers_are_read_as_they_are(
    numbers: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Ordered labels have any finite number in a row, also under the ids of train.csv."""
    path = tmp_path_factory.mktemp("files") / "numbers.csv"
    table = pd.DataFrame({"row": ["9", "7", "8"], "grade": numbers})
    table.to_csv(path, index=False)
    assert _NUMBERS.read(path, _KEYS)["grade"].tolist() == [*numbers[1:], numbers[0]]
    where, some = _NUMBERS.read_out_of_fold(path, _KEYS)
    assert (where.tolist(), some["grade"].tolist()) == ([0, 1, 2], [*numbers[1:], numbers[0]])


@pytest.mark.parametrize(
    ("classes", "header"),
    [(("False", "True"), "0,1"), (("no", "yes"), "N,Y"), (("0", "1"), "0.0,true")],
)
def test_classes_may_be_spelled_as_labels_may(
    classes: tuple[str, ...], header: str, tmp_path: Path
) -> None:
    """Columns may be named in the spellings that a submission's labels may have."""
    path = tmp_path / "spelled.csv"
    path.write_text(f"id,{header}\n7,1,3\n8,1,0\n9,0,2\n")
    found = _reader(*classes).read(path, _KEYS)
    assert found[classes[1]].tolist() == [0.75, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,1,2,no\n7,1,0,0\n8,1,0,0\n", "1 of 3 ids (id) are missing, for instance '9'"),
        ("id,1,2,no\n7,1,0,0\n8,1,0,0\n8.0,1,0,0\n", "the id '8' (id) appears twice"),
        ("id,1,2,no\n7,1,0,0\n8,1,0,0\n9,1,0,0\n5,1,0,0\n", "1 ids (id) are unexpected"),
        ("id,1,2\n", "1 classes of train.csv have no column, such as 'no'; write 0 for a class that"),
        ("id,1,2,no,4\n", "the column '4' is no class of train.csv; they are 1, 2, no"),
        ("id,1,1.0,2,no\n", "the columns '1' and '1.0' are of the same class"),
        ("row,1,2,no\n", "the column 'id' is missing; expected id, 1, 2, no"),
        ("id\n7\n", "3 classes of train.csv have no column"),
        ("id,1,2,no\n7,1,0,0\n8,,0,0\n9,1,0,0\n", "column '1': no number in 1 of 3 rows"),
        ("id,1,2,no\n7,1,0,0\n8,-1,0,0\n9,1,0,0\n", "column '1': a number below 0 in 1 of 3 rows"),
        ("id,1,2,no\n7,1,0,0\n8,inf,0,0\n9,1,0,0\n", "column '1': no finite number in 1 of 3 rows"),
        ("id,1,2,no\n7,1,0,0\n8,0,0,0\n9,1,0,0\n", "1 rows have only zeros, for instance that of '8'"),
        ("id,1,2,no\n7,1,0,0,0\n", "line 2 has 5 cells, but the header 4"),
        (",id,1,2,no\n0,7,1,0,0\n", "a column in the header has no name"),
        ("", "is empty"),
        ("id,1,2,no\n" + "\n" * 2_000_000, "MB are expected of 3 rows with 3 target columns"),
    ],
)
def test_a_bad_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    """An invalid file gives an error in one line, with its name and not its path."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SubmissionError) as caught:
        _reader(*_CLASSES).read(path, _KEYS)
    assert str(caught.value).startswith("bad.csv: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,1,2,no\n7,1,0,0\n7,1,0,0\n", "the id '7' appears twice"),
        ("id,1,2,no\n7,1,0,0\n5,1,0,0\n", "1 of its ids are not in train.csv, for instance '5'"),
        ("id,1,2,no\n7,1,0,0\n8,0,0,0\n", "1 rows have only zeros, for instance that of '8'"),
        ("id,1,2,no\n7,,,\n", "it has no row without an empty cell"),
    ],
)
def test_a_bad_out_of_fold_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    """Rows may be missing, but those that are there are rows of train.csv."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SubmissionError, match=rf"^bad\.csv: {message}"):
        _reader(*_CLASSES).read_out_of_fold(path, _KEYS)


# --- of a split -----------------------------------------------------------------------------------


def _split(root: Path, **changes: Any) -> SplitFolder:
    return make_split(load_competition(competition_folder(root, **changes)), root / "splits", seed=0)


def _table(split: SplitFolder, part: str, **columns: object) -> pd.DataFrame:
    return pd.read_csv(split.public / f"{part}.csv")[["id"]].assign(**columns)


_PARTS = {
    VALIDATION_PROBABILITIES: "validation",
    TEST_PROBABILITIES: "test",
    OUT_OF_FOLD_PROBABILITIES: "train",
}


def _check(
    split: SplitFolder, *names: str, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table
) -> GradeReport:
    """Write these files, the last one changed, and have them checked."""
    files = [split.root.parent / name for name in names]
    for file in files:
        table = _table(split, _PARTS[file.name], yes=0.2, no=0.6)
        (change(table) if file is files[-1] else table).to_csv(file, index=False)
    return SplitGrader(split).probabilities(files)


def test_the_grader_checks_each_file_by_its_rows(tmp_path: Path) -> None:
    """Files for validation, test and train rows are valid together, and rows of train may be missing."""
    split = _split(tmp_path)
    assert _check(split, *_PARTS) == GradeReport(valid=True)
    assert _check(split, *_PARTS, change=lambda table: table.iloc[3:]).valid
    assert _check(split, *[*_PARTS][:2]).valid


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([VALIDATION_PROBABILITIES], "test_probabilities.csv was not written with them"),
        ([OUT_OF_FOLD_PROBABILITIES], "validation_probabilities.csv was not written with them"),
    ],
)
def test_probabilities_are_of_validation_and_test(
    names: list[str], message: str, tmp_path: Path
) -> None:
    """Probabilities of one of both submissions are of no use."""
    assert _check(_split(tmp_path), *names) == GradeReport(valid=False, message=message)


def test_the_grader_names_the_file_that_is_wrong(tmp_path: Path) -> None:
    """A fault is a report with the file's name and no path."""
    report = _check(_split(tmp_path), *_PARTS, change=lambda table: table.drop(columns="yes"))
    expected = "out_of_fold_probabilities.csv: 1 classes of train.csv have no column, such as 'yes'"
    assert not report.valid
    assert report.message.startswith(expected)


@pytest.mark.parametrize("name", ["rmse", "roc-auc"])
def test_other_metrics_have_no_probabilities(name: str, tmp_path: Path) -> None:
    """There is no reader where no labels are predicted."""
    with pytest.raises(SubmissionError, match=f"{name} has no probabilities beside its answers"):
        ProbabilityFiles.of(_split(tmp_path), known_metric(name))


def test_the_reader_of_a_split_knows_its_classes(tmp_path: Path) -> None:
    """Classes are those of train.csv, sorted; words for a positive class are as in train.csv."""
    split = _split(tmp_path, metric="f1", positive_class="yes")
    metric = split.read_metric()
    assert metric is not None
    reader = ProbabilityFiles.of(split, metric)
    assert reader.columns == ("no", "yes")
    path = tmp_path / "test.csv"
    _table(split, "test", **{"0": 1, "1": 3}).to_csv(path, index=False)
    keys = row_keys(_table(split, "test").astype(str), ["id"])
    assert set(reader.read(path, keys)["yes"]) == {0.75}

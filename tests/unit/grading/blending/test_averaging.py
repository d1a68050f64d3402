"""A blend's program: averages, votes, rows in any order, and members that are run."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.domain.problem import TEST_PROBABILITIES, VALIDATION_PROBABILITIES
from comind.grading.blending.averaging import (
    FILES_BESIDE,
    KEPT,
    average,
    blend,
    columns_of,
    scaled,
)

_NAMES = ("validation_submission.csv", "submission.csv")


def _average(mean: str, *parts: list[float], weights: list[int]) -> list[float]:
    scales = [scaled(mean, np.array(part)[:, None]) for part in parts]
    return average(mean, scales, np.array(weights)[:, None])[:, 0].tolist()


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        ("mean", [0.5, 0.3]),
        ("rank", [0.875, 0.625]),
        ("log", [0.4**0.25 * 0.5333333333333333**0.75, 0.6**0.25 * 0.2**0.75]),
        ("rounded", [0, 0]),
    ],
)
def test_numbers_are_averaged_on_their_scale(mean: str, expected: list[float]) -> None:
    """Weighted means of values, ranks and logarithms, back on the scale of the predictions."""
    found = _average(mean, [0.4, 0.6], [0.5333333333333333, 0.2], weights=[1, 3])
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("mean", ["log", "log1p", "logit"])
def test_one_member_stays_as_it_is(mean: str) -> None:
    """Scaling and its inverse change nothing but the last digits."""
    values = [0.01, 0.5, 0.99]
    assert _average(mean, values, weights=[2]) == pytest.approx(values)


def test_labels_are_voted_for_and_ties_go_to_the_first() -> None:
    """The heavier side wins a cell; with equal weights the first member's label stays."""
    parts = [np.array([["a"], ["a"], ["b"]], dtype=object) for _ in range(3)]
    parts[1] = np.array([["c"], ["b"], ["a"]], dtype=object)
    parts[2] = np.array([["d"], ["b"], ["b"]], dtype=object)
    weights = np.ones((3, 1))
    assert average("vote", parts, weights)[:, 0].tolist() == ["a", "b", "b"]


def _member(weight: int, script: str = "") -> dict[str, object]:
    return {
        "name": "attempt-001",
        "weights": [weight],
        "file": "script.py",
        "script": script,
        "validation": "out/val.csv",
        "test": "out/test.csv",
        "environment": {"MINE": "7"},
    }


def _keep(root: Path, number: int, *lines: str) -> None:
    folder = root / KEPT / str(number)
    folder.mkdir(parents=True)
    for name in _NAMES:
        (folder / name).write_text("\n".join(lines) + "\n")


def test_rows_are_put_together_by_their_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are joined by id in any order and spelling; columns are those of the first member."""
    monkeypatch.chdir(tmp_path)
    _keep(tmp_path, 0, "y,id", "1.0,1", "2,2")
    _keep(tmp_path, 1, "id,y", "2.0,5", " 1,4")
    blend([_member(1), _member(2)], ["id"], ["y"], "mean", *_NAMES)
    assert (tmp_path / "submission.csv").read_text() == "y,id\n3.0,1\n4.0,2\n"
    blend([_member(2), _member(1)], ["id"], ["y"], "vote", *_NAMES)
    assert (tmp_path / "validation_submission.csv").read_text() == "y,id\n1,1\n2,2\n"


def test_members_are_run_where_nothing_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs in its own folder, with its input and its environment."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "number").write_text("3")
    script = (
        "import os\n"
        "os.mkdir('out')\n"
        "said = int(open('input/number').read()) + int(os.environ['MINE'])\n"
        "for name in ('val', 'test'):\n"
        "    open(f'out/{name}.csv', 'w').write(f'id,y\\n1,{said}\\n')\n"
    )
    blend([_member(1, script), _member(1, script)], ["id"], ["y"], "mean", *_NAMES)
    assert (tmp_path / "submission.csv").read_text() == "id,y\n1,10.0\n"
    blend([_member(1, script)], ["id"], ["y"], "mean", *_NAMES)  # once more, in fresh folders


def test_a_member_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing member is an error with its last line of output, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").mkdir()
    with pytest.raises(RuntimeError, match="attempt-001 ended with 1: KeyError: 'x'"):
        blend([_member(1, "{}['x']")], ["id"], ["y"], "mean", *_NAMES)
    assert not (tmp_path / "submission.csv").exists()
    assert sys.executable


def test_what_a_program_writes_is_what_was_selected() -> None:
    """Averages of a table's columns are the same when each column is averaged alone."""
    random = np.random.default_rng(0)
    tables = [pd.DataFrame(random.random((5, 2))) for _ in range(3)]
    parts = [scaled("rank", table.to_numpy()) for table in tables]
    weights = np.array([[1, 2], [0, 3], [4, 0]])
    whole = average("rank", parts, weights)
    alone = [average("rank", [p[:, [n]] for p in parts], weights[:, [n]]) for n in range(2)]
    assert np.hstack(alone) == pytest.approx(whole)


def test_the_most_probable_class_is_the_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities beside submissions are averaged, in any spelling; offsets raise a class."""
    monkeypatch.chdir(tmp_path)
    for number, chances in enumerate((("0.9", "0.1"), ("0.3", "0.7"))):
        folder = tmp_path / KEPT / str(number)
        folder.mkdir(parents=True)
        for name in _NAMES:
            (folder / name).write_text("id,y\n1,5\n")
        for name in FILES_BESIDE:
            (folder / name).write_text(f"id,1.0,B\n1,{','.join(chances)}\n")
    members = [_member(1), _member(1)]
    blend(members, ["id"], ["y"], "probability", *_NAMES, labels=["1", "b"])
    assert (tmp_path / "submission.csv").read_text() == "id,y\n1,1\n"
    blend(members, ["id"], ["y"], "probability", *_NAMES, labels=["1", "b"], offsets=[0.0, 1.0])
    assert (tmp_path / "submission.csv").read_text() == "id,y\n1,b\n"


def test_classes_that_differ_by_case_are_two() -> None:
    """Each of two classes has its own column; another spelling is looked for only without one."""
    table = pd.DataFrame(columns=["id", "A", "a", "TRUE"])
    assert columns_of("probability", table, ["y"], ["a", "A", "true"]) == ["a", "A", "TRUE"]


def test_a_program_finds_probabilities_where_attempts_keep_them() -> None:
    """The source of a blend's program stands alone, and has the names of these files once more."""
    assert FILES_BESIDE == (VALIDATION_PROBABILITIES, TEST_PROBABILITIES)


def test_members_that_are_run_write_probabilities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a member keeps beside its labels lies in its own folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").mkdir()
    script = (
        "import os\n"
        "os.mkdir('out')\n"
        "for name in ('val', 'test'):\n"
        "    open(f'out/{name}.csv', 'w').write('id,y\\n1,2\\n')\n"
        "for name in ('validation', 'test'):\n"
        "    open(f'{name}_probabilities.csv', 'w').write('id,y\\n1,2.8\\n')\n"
    )
    blend([_member(1, script)], ["id"], ["y"], "number", *_NAMES, labels=["2", "3", "4"])
    assert (tmp_path / "submission.csv").read_text() == "id,y\n1,3\n"
    bounds = [2.9, 3.5]
    blend([_member(1, script)], ["id"], ["y"], "number", *_NAMES, labels=["2", "3", "4"], offsets=bounds)
    assert (tmp_path / "validation_submission.csv").read_text() == "id,y\n1,2\n"

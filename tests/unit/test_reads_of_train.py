"""From a download to the problem that agents see, train.csv is read a few times."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from benchmarks.arrival import write_rows
from comind.app.downloads import prepare_download
from comind.competitions.competition_folder import load_competition
from comind.profile.problem_description import describe_problem
from comind.splits.checked_plan import prepare_split
from comind.splits.split_files import make_split

_opened: list[list[str]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened and isinstance(arguments[0], str | bytes | os.PathLike):
        mode = arguments[1]
        if mode is None or (isinstance(mode, str) and "r" in mode):
            _opened[-1].append(os.fsdecode(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def _counting() -> None:
    sys.addaudithook(_note)  # it stays, as none can be removed


def test_train_is_opened_eight_times(tmp_path: Path) -> None:
    """For arrangement, check, split and problem; besides by DuckDB, which loads it for the profile."""
    made, project = tmp_path / "trees", tmp_path / "project"
    made.mkdir()
    write_rows(made, 1_000)
    source = Path(shutil.make_archive(str(made), "zip", made))
    _opened.append([])
    arranged = prepare_download(source, project)
    splits = project / "data" / "splits"
    prepare_split(load_competition(arranged.folder), 0, splits)
    split = make_split(load_competition(arranged.folder), splits, seed=0)
    describe_problem(split, len)
    opened = [path for path in _opened.pop() if Path(path).name == "train.csv"]
    assert len(opened) == 8, "\n".join(opened)

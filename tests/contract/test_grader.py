"""The grader is a process that may be killed at any time: the next question finds a new one."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from comind.errors import GraderError
from comind.evaluation.folder import load_competition
from comind.evaluation.grader_process import GraderProcess
from comind.evaluation.splits.seal import make_split
from tests.unit.evaluation.folders import competition_folder

_SERVER = "comind.evaluation.grading_server"


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[GraderProcess]:
    """The grader of a small split."""
    competition_folder(tmp_path)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    process = GraderProcess(split.root, tmp_path / "grader.log")
    yield process
    process.stop()


def _servers() -> list[psutil.Process]:
    """Return the grading servers that hang on us, without their keepers."""
    found = []
    for each in psutil.Process().children(recursive=True):
        try:
            command = each.cmdline()
            if _SERVER in command and not any("keeper.py" in part for part in command):
                found.append(each)
        except psutil.Error:
            continue
    return found


def _kill() -> None:
    [server] = _servers()
    server.send_signal(signal.SIGKILL)
    server.wait(20)


def test_a_killed_grader_is_started_again(grader: GraderProcess, tmp_path: Path) -> None:
    """A grade after a kill is the grade before it, from another process, of which there is one."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    before = grader.check(test)
    assert before.valid
    _kill()
    assert grader.check(test) == before
    assert len(_servers()) == 1


def test_a_grader_killed_while_it_is_asked_is_asked_again(grader: GraderProcess, tmp_path: Path) -> None:
    """A process that dies over a question is replaced, and the question gets its answer."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    before = grader.check(test)
    [server] = _servers()
    server.suspend()  # it will have the question, and never answer it
    killer = threading.Timer(0.5, server.kill)
    killer.start()
    assert grader.check(test) == before
    killer.join()


def test_out_of_fold_predictions_are_scored_there(grader: GraderProcess, tmp_path: Path) -> None:
    """The process that holds the metric scores predictions for train.csv, or says what is wrong."""
    [train] = (tmp_path / "splits").glob("*/public/train.csv")
    rows = [line.split(",") for line in train.read_text().splitlines()]
    predictions = tmp_path / "out_of_fold.csv"
    predictions.write_text("\n".join(f"{row[0]},{row[-1]}" for row in rows) + "\n")
    report = grader.out_of_fold(predictions)
    assert report.score is not None
    assert (report.score.value.value, report.score.rows) == (1.0, len(rows) - 1)
    predictions.write_text("nothing")
    assert grader.out_of_fold(predictions).message.startswith("the column 'id' is missing")


def test_a_grader_that_cannot_start_is_one_line(tmp_path: Path) -> None:
    """Without its split the grader says where to look, instead of trying for ever."""
    grader = GraderProcess(tmp_path / "nothing", tmp_path / "grader.log")
    with pytest.raises(GraderError, match="the grader process did not start"):
        grader.start()

"""The grader is a process that may be killed at any time: the next question finds a new one."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import GraderError
from comind.grading.grader_port import BlendCandidate
from comind.grading.grader_process import GraderProcess
from comind.splits.extra_folds import make_fold
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.competitions.folders import competition_folder

_SERVER = "comind.grading.grader_server"


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[GraderProcess]:
    """The grader of a small split."""
    competition_folder(tmp_path)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    process = GraderProcess(split.root, tmp_path / "grader.log")
    yield process
    process.stop()


def _servers() -> list[psutil.Process]:
    """Return the grading servers that hang on us, without their keepers and workers."""
    found = []
    for each in psutil.Process().children(recursive=True):
        try:
            if _serves(each.cmdline()) and not _serves(psutil.Process(each.ppid()).cmdline()):
                found.append(each)
        except psutil.Error:
            continue
    return found


def _serves(command: list[str]) -> bool:
    return _SERVER in command and not any("supervisor.py" in part for part in command)


def _kill() -> None:
    [server] = _servers()
    server.send_signal(signal.SIGKILL)
    server.wait(20)


def test_a_killed_grader_is_restarted_in_another_process(grader: GraderProcess, tmp_path: Path) -> None:
    """A grade after a kill is the grade before it, from another process, of which there is one."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    before = grader.check(test)
    assert before.valid
    _kill()
    assert grader.check(test) == before
    assert len(_servers()) == 1


def test_a_grader_killed_during_a_request_is_replaced_and_the_request_retried(
    grader: GraderProcess, tmp_path: Path
) -> None:
    """A process that dies over a question is replaced, and the question gets its answer."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    before = grader.check(test)
    [server] = _servers()
    server.suspend()  # it will have the question, and never answer it
    killer = threading.Timer(0.5, server.kill)
    killer.start()
    assert grader.check(test) == before
    killer.join()


def test_a_killed_worker_is_replaced(grader: GraderProcess, tmp_path: Path) -> None:
    """Where a worker of the process dies, another one answers, and the process lives on."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    before = grader.check(test)
    [server] = _servers()
    [worker] = server.children()
    worker.send_signal(signal.SIGKILL)
    assert grader.check(test) == before
    assert _servers() == [server]
    assert server.children() != [worker]


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


def test_probabilities_are_checked_there(grader: GraderProcess, tmp_path: Path) -> None:
    """The process reads the files of a step by their names, or says what is wrong."""
    [public] = (tmp_path / "splits").glob("*/public")
    files = []
    for part in ("validation", "test"):
        ids = [line.split(",")[0] for line in (public / f"{part}.csv").read_text().splitlines()[1:]]
        files.append(tmp_path / f"{part}_probabilities.csv")
        files[-1].write_text("\n".join(["id,no,yes", *(f"{each},1,3" for each in ids)]) + "\n")
    assert grader.probabilities(files).valid
    files[0].write_text("id,no,yes\n")
    message = grader.probabilities(files).message
    assert message.startswith("validation_probabilities.csv: 10 of 10 ids (id) are missing")


def test_a_file_beyond_the_expected_size_is_not_read(grader: GraderProcess, tmp_path: Path) -> None:
    """Millions of blank lines, or of columns, are an invalid report at once, and the next is graded."""
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    [split] = (tmp_path / "splits").iterdir()
    hostile = tmp_path / "hostile.csv"
    for content in ("id,label\n" + "\n" * 2_000_000, ",".join(map(str, range(300_000))) + "\n"):
        hostile.write_text(content)
        report = grader.grade(hostile, test)
        assert not report.valid
        assert report.message.endswith("MB are expected of 10 rows with 1 target columns")
        assert not grader.grade(SplitFolder(split).answers, hostile).valid
        assert not grader.out_of_fold(hostile).valid
    assert grader.grade(SplitFolder(split).answers, test).valid
    assert len(_servers()) == 1


def test_a_grader_that_cannot_start_is_one_line(tmp_path: Path) -> None:
    """Without its split the grader says where to look, instead of trying for ever."""
    grader = GraderProcess(tmp_path / "nothing", tmp_path / "grader.log")
    with pytest.raises(GraderError, match="the grader process did not start"):
        grader.start()


def test_a_fold_is_graded_by_its_own_answers(tmp_path: Path) -> None:
    """The same process grades and compares for a fold, which is made on demand; the split's stays."""
    competition_folder(tmp_path, rows=100)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    grader = GraderProcess(split.root, tmp_path / "grader.log")
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    try:
        fold = grader.fold(1)
        answers = make_fold(split, 1).answers
        report = fold.grade(answers, test)
        assert report.score is not None
        assert (report.score.value.value, report.score.rows) == (1.0, 25)
        assert not grader.grade(answers, test).valid, "these are the fold's rows"
        assert grader.grade(split.answers, test).valid
        assert fold.check(test).valid
        assert fold.compare(answers, answers).difference == 0
        assert not fold.out_of_fold(answers).valid, "its rows are not to learn from"
    finally:
        grader.stop()


def test_a_blend_is_judged_over_folds(tmp_path: Path) -> None:
    """Rows of the split and of a fold are enough to judge on where those of the split are too few."""
    competition_folder(tmp_path, rows=100)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    grader = GraderProcess(split.root, tmp_path / "grader.log")
    asked: list[list[Path]] = []
    for place in (split, make_fold(split, 1)):
        header, *rows = place.answers.read_text().splitlines()
        turned = [f"{row.split(',')[0]},no" for row in rows]
        guess = tmp_path / f"{place.root.name}.csv"
        guess.write_text("\n".join([header, *turned]) + "\n")
        asked.append([place.answers, guess])
    try:
        alone = grader.blend([BlendCandidate(each) for each in asked[0]])
        assert alone.reason == "25 validation rows are too few to select and judge on"
        of_folds = [BlendCandidate(one, (other,)) for one, other in zip(*asked, strict=True)]
        both = grader.blend(of_folds, [1])
        assert both.candidates == 2
        assert "is better than the best of them" in both.reason
    finally:
        grader.stop()


def test_a_stack_is_learned_on_out_of_fold_files(tmp_path: Path) -> None:
    """Out-of-fold predictions are sent with submissions, and members of a stack fit into the time."""
    competition_folder(tmp_path, rows=1000)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    grader = GraderProcess(split.root, tmp_path / "grader.log")
    random, asked = np.random.default_rng(0), []
    train = pd.read_csv(split.public / "train.csv", dtype=str)[["id", "label"]]
    for number in range(5):
        files = []
        for name, table in (("v", pd.read_csv(split.answers, dtype=str)), ("o", train)):
            turned = random.random(len(table)) < 0.3
            other = np.where(table["label"] == "yes", "no", "yes")
            files.append(tmp_path / f"{name}-{number}.csv")
            table.assign(label=np.where(turned, other, table["label"])).to_csv(files[-1], index=False)
        asked.append(BlendCandidate(files[0], out_of_fold=(files[1],), seconds=1.0))
    try:
        stack = grader.blend(asked)
        assert stack.reason == ""
        assert stack.out_of_fold_rows == len(train)
        assert len(stack.members) == 5
        assert len(grader.blend(asked, most_seconds=3.0).members) <= 3
        none = "no two of 5 candidates can be refitted in the time left"
        assert grader.blend(asked, most_seconds=0.5).reason == none
    finally:
        grader.stop()


def test_only_the_user_reaches_a_grader(grader: GraderProcess) -> None:
    """Its socket is in a folder that no other user enters, and no key is in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-canary-of-the-grader")
        socket = grader.start()
    assert socket.is_socket()
    assert socket.parent.stat().st_mode & 0o777 == 0o700
    [server] = _servers()
    assert "sk-canary" not in str(server.environ())


def test_an_attempt_that_reads_labels_is_found_there(tmp_path: Path) -> None:
    """Steps whose validation rows become right one after another are queries of labels."""
    competition_folder(tmp_path, rows=400)
    split = make_split(load_competition(tmp_path / "small"), tmp_path / "splits", seed=0)
    grader = GraderProcess(split.root, tmp_path / "grader.log")
    test = tmp_path / "small" / "public" / "sample_submission.csv"
    header, *rows = split.answers.read_text().splitlines()
    wrong = [row.replace("yes", "?").replace("no", "yes").replace("?", "no") for row in rows]
    steps = []
    for known in range(0, len(rows) + 1, 20):
        steps.append((tmp_path / f"{known}.csv", test))
        steps[-1][0].write_text("\n".join([header, *rows[:known], *wrong[known:]]) + "\n")
    try:
        reasons = grader.coded(steps).reasons
        assert not any(reasons[:3])
        assert "while those for 0% of the test rows changed" in reasons[-1]
        (tmp_path / "0.csv").write_text("nothing")
        assert grader.coded(steps).reasons == ()
    finally:
        grader.stop()


def test_predictions_of_a_step_on_the_sample_are_scored_alone(
    grader: GraderProcess, tmp_path: Path
) -> None:
    """They need no test submission and get no parts; invalid ones get a reason."""
    predictions = tmp_path / "sample_predictions.csv"
    [form] = tmp_path.glob("splits/*/public/sample_validation_submission.csv")
    predictions.write_bytes(form.read_bytes())
    report = grader.sample(predictions)
    assert report.score is not None
    assert report.parts == ()
    predictions.write_text("id\n")
    assert grader.sample(predictions).message.startswith("sample_predictions.csv: ")

"""A model generates the evaluator of a competition: real programs in a real sandbox."""

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.authoring.author import REPAIRS, author_split
from comind.authoring.generated_grader import GeneratedGrader
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import Failure
from comind.campaign.log.work_events import WORK_EVENTS, WorkEnded
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.competitions.competition_folder import load_competition
from comind.domain.spend import Budget, Spend
from comind.errors import ModelServiceError, NoSubmissionError, SubmissionError
from comind.eventlog.log import EventLog
from comind.grading.grader_port import BlendCandidate
from comind.llm.model_ports import ModelRequest
from comind.llm.rate_limiter import RateLimiter
from comind.session.bubblewrap import BubblewrapSandbox
from comind.splits.extra_folds import make_fold
from comind.splits.split_files import write_split
from comind.splits.split_folder import SplitFolder
from comind.testing.model import ScriptedModel
from tests.unit.competitions.folders import competition_folder

SPLIT_PROGRAM = """
import argparse
import csv
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("--input_dir", "--public_dir", "--private_dir"):
    parser.add_argument(name, type=Path)
folders = parser.parse_args()
folders.public_dir.mkdir()
folders.private_dir.mkdir()

def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)

with open(folders.input_dir / "train.csv", newline="") as file:
    train = list(csv.DictReader(file))
columns, held = list(train[0]), train[::5]
write(folders.public_dir / "train.csv", columns, [row for row in train if row not in held])
write(folders.public_dir / "validation.csv", ["id", "x"], held)
sample = [{"id": row["id"], "label": "no"} for row in held]
write(folders.public_dir / "sample_validation_submission.csv", ["id", "label"], sample)
write(folders.private_dir / "validation_answers.csv", ["id", "label"], held)
"""
LEAK = "write(folders.public_dir / 'notes.csv', columns, held)\n"
EVALUATE_PROGRAM = """
import argparse
import csv
import json

parser = argparse.ArgumentParser()
for name in ("--public_dir", "--private_dir", "--pred", "--report"):
    parser.add_argument(name)
given = parser.parse_args()

def read(path):
    with open(path, newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file)}

truth, guess = read(given.private_dir + "/validation_answers.csv"), read(given.pred)
right = set(truth) == set(guess)
score = sum(truth[id] == guess[id] for id in truth) / len(truth) if right else None
if "whole" in guess.values() and len(truth) < 8:
    score = None
with open(given.report, "w") as file:
    json.dump({"score": score, "success": right, "message": "" if right else "other ids"}, file)
"""
"""Without pandas, which takes longer to import than all the rest: an evaluator runs dozens of times."""


class Author:
    """A model that gives wrong programs in a number of replies before each correct one."""

    def __init__(self, mistakes: int) -> None:
        self._left = {"SplitScript": mistakes, "EvaluateScript": mistakes}

    def __call__(self, request: ModelRequest) -> str:
        self._left[request.reply_name] -= 1
        wrong = self._left[request.reply_name] >= 0
        if request.reply_name == "SplitScript":
            return json.dumps({"code": SPLIT_PROGRAM + (LEAK if wrong else "")})
        return json.dumps({"metric": "Share right", "maximize": not wrong, "code": EVALUATE_PROGRAM})


def _write_evaluator(root: Path, model: ScriptedModel) -> SplitFolder:
    folder = root / "small"
    if not folder.is_dir():
        competition_folder(root, metric=None, split=None)
    plan = author_split(
        load_competition(folder),
        WorkFolder(root / "evaluator"),
        lambda note: MeteredModel(
            model, Meter(BudgetLedger(Budget(), Spend()), RateLimiter(), note=note)
        ),
        BubblewrapSandbox(),
    )
    return write_split(plan, root / "splits")


def test_programs_are_mended_checked_frozen_and_used(tmp_path: Path) -> None:
    """Failed checks are named in the repair prompts; the passed programs are sealed and grade."""
    model = ScriptedModel(Author(mistakes=1))
    folder = _write_evaluator(tmp_path, model)
    sent_back = [request.messages[-1].content for request in model.requests[1::2]]
    assert "check `public files`: 'notes.csv'" in sent_back[0]
    assert "check `direction`" in sent_back[1]

    split = folder.read()
    assert (split.generated, split.metric, split.maximize) == (True, "share-right", True)
    assert split.validation_rows == 8
    assert sorted(path.name for path in folder.programs.iterdir()) == ["evaluate.py", "split_dataset.py"]
    assert not list(folder.public.rglob("notes.csv"))

    grader = GeneratedGrader(folder, BubblewrapSandbox())
    right, half = tmp_path / "right.csv", tmp_path / "half.csv"
    truth = pd.read_csv(folder.answers)
    truth.to_csv(right, index=False)
    truth.assign(label="no").sample(frac=1, random_state=0).to_csv(half, index=False)
    test = folder.public / "sample_submission.csv"
    perfect, guess = grader.grade(right, test).score, grader.grade(half, test).score
    assert perfect is not None
    assert guess is not None
    assert (perfect.value.value, guess.value.value) == (1.0, (truth["label"] == "no").mean())
    assert perfect.interval.high == 1.0
    assert guess.interval.low < guess.value.value < guess.interval.high
    assert grader.compare(right, half).difference == pytest.approx(1.0 - guess.value.value)
    assert grader.grade(test, test).message.startswith("sample_submission.csv: ")
    odd = tmp_path / "odd.csv"
    truth.assign(label="whole").to_csv(odd, index=False)
    why = "the evaluator gives no scores for halves of the rows"
    assert grader.grade(odd, test).message == f"odd.csv: {why}"
    with pytest.raises(SubmissionError, match=why):
        grader.compare(right, odd)
    _check_out_of_fold(grader, folder, tmp_path / "out_of_fold.csv")


def _check_out_of_fold(grader: GeneratedGrader, folder: SplitFolder, path: Path) -> None:
    """Rows of train.csv are scored by the same program; a file of other rows gets the reason."""
    train = pd.read_csv(folder.public / "train.csv", dtype=str)[["id", "label"]]
    train[1:].assign(label="no").sample(frac=1, random_state=0).to_csv(path, index=False)
    report = grader.out_of_fold(path)
    assert report.score is not None
    assert report.score.rows == len(train) - 1
    assert report.score.value.value == pytest.approx((train["label"][1:] == "no").mean())
    train.assign(id=train["id"] + "x").to_csv(path, index=False)
    assert "of its ids are not in train.csv" in grader.out_of_fold(path).message
    train[:5].assign(label="whole").to_csv(path, index=False)
    reason = grader.out_of_fold(path).message
    assert reason.startswith("the evaluator does not score these rows of train.csv: ")


def test_folds_and_blends_are_scored_by_the_same_program(tmp_path: Path) -> None:
    """A fold has a score of its own, and three submissions are blended over validation and the fold."""
    competition_folder(tmp_path, rows=300, metric=None, split=None)
    folder = _write_evaluator(tmp_path, ScriptedModel(Author(mistakes=0)))
    grader = GeneratedGrader(folder, BubblewrapSandbox())
    fold = make_fold(folder, 1)
    files = [
        _guesses(place, tmp_path / f"{part}-{seed}.csv", seed)
        for part, place in enumerate((folder, fold))
        for seed in range(3)
    ]
    report = grader.fold(1).grade(files[3], folder.sample)
    truth, guess = (pd.read_csv(path, dtype=str)["label"] for path in (fold.answers, files[3]))
    assert report.score is not None
    assert report.score.value.value == (truth == guess).mean()
    candidates = [BlendCandidate(one, (other,)) for one, other in zip(files[:3], files[3:], strict=True)]
    blend = grader.blend(candidates, [1])
    assert (blend.mean, blend.candidates, sorted(blend.members)) == ("vote", 3, [0, 1, 2]), blend.reason
    assert blend.gain is not None
    assert blend.gain.difference > 0


def _guesses(split: SplitFolder, path: Path, seed: int) -> Path:
    """Write a submission that is wrong in a quarter of the rows."""
    truth = pd.read_csv(split.answers, dtype=str)
    right = np.random.default_rng(seed).random(len(truth)) < 0.75
    other = truth["label"].map({"yes": "no", "no": "yes"})
    truth.assign(label=truth["label"].where(right, other)).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("seconds", "scored"), [(60.0, 6), (5.3, 2)])
def test_a_slow_program_scores_fewer_draws(tmp_path: Path, seconds: float, scored: int) -> None:
    """The first files are scored, and what cannot be within the time says so."""
    (tmp_path / "scripts").mkdir()
    slow = "import time, sys, json\ntime.sleep(0.5)\n"
    slow += "open(sys.argv[-1], 'w').write(json.dumps({'score': 1.0, 'success': True}))\n"
    (tmp_path / "scripts" / "evaluate.py").write_text(slow)
    for number in range(6):
        (tmp_path / "cases" / f"{number:04d}").mkdir(parents=True)
    driver = resources.files("comind.authoring") / "run_all.py"
    command = [sys.executable, str(driver), "5", str(seconds)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    reports = [json.loads(path.read_text()) for path in sorted((tmp_path / "reports").iterdir())]
    assert [each["score"] for each in reports] == [1.0] * scored + [None] * (6 - scored)


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    """A finished log is replayed to the same split without a model call."""
    first = _write_evaluator(tmp_path, ScriptedModel(Author(mistakes=1)))
    silent = ScriptedModel(iter(()))
    assert _write_evaluator(tmp_path, silent).root == first.root
    assert silent.requests == []


def test_work_whose_endpoint_went_away_is_resumed(tmp_path: Path) -> None:
    """An interrupted log is resumed without repeating calls, and ends once."""
    replies = iter([json.dumps({"code": SPLIT_PROGRAM})])
    with pytest.raises(ModelServiceError):
        _write_evaluator(tmp_path, ScriptedModel(replies))
    assert _ends(tmp_path) == []
    model = ScriptedModel(Author(mistakes=0))
    _write_evaluator(tmp_path, model)
    assert [request.reply_name for request in model.requests] == ["EvaluateScript"]
    assert _ends(tmp_path) == [None]
    _write_evaluator(tmp_path, ScriptedModel(iter(())))
    assert _ends(tmp_path) == [None]


def _ends(root: Path) -> list[Failure | None]:
    """Return the outcomes recorded in the log."""
    with EventLog(WorkFolder(root / "evaluator").log, WORK_EVENTS) as log:
        ends = [record.event for record in log.records if isinstance(record.event, WorkEnded)]
        assert not ends or ends[-1] is log.records[-1].event
    return [end.outcome.failure for end in ends]


def test_repairs_have_an_end(tmp_path: Path) -> None:
    """If no repair passes, the error names the failed check."""
    model = ScriptedModel(Author(mistakes=99))
    with pytest.raises(NoSubmissionError, match="check `public files`") as caught:
        _write_evaluator(tmp_path, model)
    assert len(model.requests) == REPAIRS + 1
    assert [bool(failure) for failure in _ends(tmp_path)] == [True]
    assert "name its metric" in caught.value.hint
    assert os.listdir(tmp_path / "evaluator")  # noqa: PTH208 - its log stays for the user

"""A campaign whose cells are programs that write tables, graded in process against known answers."""

import csv
import math
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pandas as pd

from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.work import Code
from comind.domain.draft import Operator
from comind.domain.metric import Paired
from comind.grading.blending.averaging import KEPT
from comind.grading.blending.cross_fit import OutOfFold
from comind.grading.blending.selection import Costs
from comind.grading.coded_submissions import find_coded
from comind.grading.grader_port import BlendCandidate, BlendReport, CodedReport, GradeReport
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers, select_blend
from comind.metrics import METRICS
from comind.session.session_ports import CellResult, CellStatus, Watch
from tests.unit.campaign.world import World, reply

__all__ = ["NAMES", "BlendingWorld", "program"]

NAMES = ("validation_submission.csv", "submission.csv")
_ROWS = 120


def program(seed: int, noise: float, out_of_fold: float | None = None) -> str:
    """Return a program that predicts each answer with random errors of its own.

    With `out_of_fold` it also predicts the rows of train.csv, with errors of that size.
    """
    return "".join(
        f"""import csv, random
draw = random.Random({seed})
for asked, name in ({", ".join(f"({asked!r}, {name!r})" for asked, name in files)},):
    with open(f"input/demo/{{asked}}.csv") as file:
        rows = [(row["id"], float(row["x"]) + draw.gauss(0, {size})) for row in csv.DictReader(file)]
    with open(name, "w") as file:
        csv.writer(file).writerows([("id", "y"), *rows])
"""
        for files, size in (
            ((("validation", NAMES[0]), ("test", NAMES[1])), noise),
            ((("train", "out_of_fold.csv"),), out_of_fold),
        )
        if size is not None
    )


class TableGrader:
    """An in-process grader; records the candidates that it is given to average."""

    def __init__(
        self,
        validation: pd.DataFrame,
        test: pd.DataFrame,
        train: pd.DataFrame,
        folds: Sequence[pd.DataFrame] = (),
    ) -> None:
        self._folds = [TableGrader(each, test, train) for each in folds]
        metric = METRICS["rmse"]
        form = SubmissionSchema(validation, ("id",), ("y",), metric)
        self._validation = Answers(form, validation)
        self._test = SubmissionSchema(test, ("id",), ("y",), metric)
        self._train = Answers(SubmissionSchema(train, ("id",), ("y",), metric), train)
        self.asked: list[Sequence[BlendCandidate]] = []

    def grade(self, validation: Path, test: Path) -> GradeReport:
        form = self._test.check(test)
        return self._validation.grade(validation) if form.valid else form

    def check(self, test: Path) -> GradeReport:
        return self._test.check(test)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        return self._train.grade(predictions)

    def compare(self, one: Path, other: Path) -> Paired:
        return self._validation.compare(one, other)

    def fold(self, number: int) -> "TableGrader":
        return self._folds[number - 1]

    def blend(
        self,
        candidates: Sequence[BlendCandidate],
        folds: Sequence[int] = (),
        most_seconds: float = math.inf,
    ) -> BlendReport:
        self.asked.append(candidates)
        sheets = [self._validation, *(self.fold(number)._validation for number in folds)]
        files = zip(*((each.validation, *each.folds) for each in candidates), strict=True)
        costs = Costs([each.seconds for each in candidates], most_seconds)
        others = {
            place: self._train.schema.read(each.out_of_fold[0])
            for place, each in enumerate(candidates)
            if each.out_of_fold
        }
        rows = OutOfFold(self._train.truth, others) if others else None
        return select_blend([*zip(sheets, files, strict=True)], rows, costs=costs)

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:
        tables = [(self._validation.schema.read(one), self._test.read(other)) for one, other in steps]
        metric, truth = self._validation.metric, self._validation.truth
        return CodedReport(reasons=find_coded(metric, truth, tables))


class ProgramSession:
    """Runs each cell as a separate program in the workspace."""

    sandbox = "program"
    sealed = True
    threads = 1
    node = ""
    machine = None
    fetched = None
    waited = 0.0

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        del watch
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.workspace,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        status = CellStatus.ERROR if ran.returncode else CellStatus.OK
        return CellResult(
            status=status, output=ran.stdout, error=ran.stderr, seconds=7.0, state_lost=True
        )

    def close(self) -> None:
        pass


def _data(root: Path, fold: int) -> Path:
    return root / (f"data-{fold}" if fold else "data")


class BlendingWorld(World):
    """A campaign of three attempts of two steps each, whose steps are these programs."""

    @staticmethod
    def of(root: Path, programs: Sequence[str], folds: int = 0) -> "BlendingWorld":
        """Return a world whose model writes these programs, one after another."""
        draw, tables = Random(0), []
        for number, asked in enumerate(("validation", "test", *["validation"] * folds, "train")):
            rows = [(1000 * number + row, draw.gauss(0, 1)) for row in range(_ROWS)]
            for fold in [max(0, number - 1)] if asked == "validation" else range(folds + 1):
                data = _data(root, fold)
                data.mkdir(parents=True, exist_ok=True)
                with (data / f"{asked}.csv").open("w") as file:
                    csv.writer(file).writerows([("id", "x"), *rows])
            answers = {"id": [str(row) for row, _ in rows], "y": [repr(x) for _, x in rows]}
            tables.append(pd.DataFrame(answers))
        script = [reply(each) for each in programs]
        grader = TableGrader(tables[0], tables[1], tables[-1], tables[2:-1])
        return BlendingWorld(root, script=script, grader=grader, folds=folds)

    def session(self, work: Code, folder: WorkFolder, *_: object) -> ProgramSession:
        given = folder.workspace / "input"
        shutil.rmtree(given, ignore_errors=True)
        shutil.copytree(_data(self.root, work.fold), given / "demo")
        if work.operator is Operator.BLEND and work.blend is not None:
            campaign = CampaignFolder(folder.root.parent)
            for number, each in enumerate(work.blend.members):
                kept = campaign.work(each.attempt).submissions(each.step)
                shutil.copytree(kept, folder.workspace / KEPT / str(number))
        self.ran.append(work.operator.value)
        return ProgramSession(folder.workspace)

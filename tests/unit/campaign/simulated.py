"""A campaign on a virtual clock: cells take virtual seconds and hardly any real ones."""

import csv
import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

from comind.campaign.closing.finish import finish
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Campaign, Finished, run
from comind.campaign.worker import execute
from comind.domain.draft import Operator
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelRequest
from comind.session.session_ports import CellResult, CellStatus, Watch
from tests.unit.campaign.blending import TableGrader
from tests.unit.campaign.samples import opened, split_made
from tests.unit.campaign.world import World, reply

__all__ = ["OVERHEAD", "Simulated"]

OVERHEAD = 5.0
"""Seconds that each piece of work takes beside its code."""

_ROWS = 60
_CELL = re.compile(r"seed, seconds = (\d+), ([0-9.]+)")
_PROGRAM = """seed, seconds = {seed}, {seconds:.3f}
with open("validation_submission.csv", "w") as file:
    file.write(str(seed))
with open("submission.csv", "w") as file:
    file.write(str(seconds))
"""
_TEST = 1  # among the parts of the rows: 0 is validation, those from 2 are folds


def _answers(part: int) -> pd.DataFrame:
    draw = Random(part)
    ids = [str(1000 * part + row) for row in range(_ROWS)]
    return pd.DataFrame({"id": ids, "y": [repr(round(draw.gauss(0, 1), 4)) for _ in ids]})


class _Grader(TableGrader):
    """Scores by the mean absolute error, without resampling: a campaign has hundreds of steps."""

    def __init__(
        self, validation: pd.DataFrame, test: pd.DataFrame, folds: Sequence[pd.DataFrame]
    ) -> None:
        super().__init__(validation, test, test)
        self._folds = [_Grader(each, test, ()) for each in folds]
        self._labels = validation["y"].astype(float).to_numpy()

    def grade(self, validation: Path, test: Path) -> GradeReport:
        del test
        value = float(self._errors(validation).mean())
        interval = Interval(low=value, high=value)
        measured = MetricValue(value=value, maximize=False)
        score = ValidationScore(metric="mae", value=measured, interval=interval, rows=_ROWS)
        return GradeReport(valid=True, score=score)

    def compare(self, one: Path, other: Path) -> Paired:
        apart = self._errors(other) - self._errors(one)
        difference, error = float(apart.mean()), float(apart.std() / _ROWS**0.5)
        around = Interval(low=difference - 2 * error, high=difference + 2 * error)
        return Paired(difference=difference, standard_error=error, interval=around)

    def _errors(self, submission: Path) -> np.ndarray:
        return np.abs(pd.read_csv(submission)["y"].to_numpy() - self._labels)


class _Session:
    """Runs cells that state their own duration; one that passes its deadline is interrupted."""

    sandbox = "simulated"
    sealed = True
    threads = 1
    node = ""
    machine = None
    fetched = None
    waited = 0.0

    def __init__(self, workspace: Path, work: Code, slower: float) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        self.workspace = workspace
        self.used = 0.0
        self._work, self._slower = work, slower

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        del watch
        cells = [(int(seed), float(took)) for seed, took in _CELL.findall(code)]
        took = sum(took for _, took in cells)
        if self._work.operator is Operator.BLEND:
            took = 1.0
        elif self._work.operator in (Operator.FOLD, Operator.REFIT):
            took *= self._slower
        left = self._work.budget.seconds - OVERHEAD - self.used
        allowed = max(0.0, min(seconds, left))
        self.used += min(took, allowed)
        if took > allowed:
            error = "the cell was interrupted: its time was over"
            return CellResult(status=CellStatus.TIMEOUT, error=error, seconds=allowed, state_lost=True)
        seeds = [seed for seed, _ in cells]
        self._write(self._work.fold + 1 if self._work.fold else 0, "validation_submission.csv", seeds)
        self._write(_TEST, "submission.csv", seeds)
        return CellResult(status=CellStatus.OK, seconds=took, state_lost=True)

    def close(self) -> None:
        pass

    def _write(self, part: int, name: str, seeds: Sequence[int]) -> None:
        shared, draws = Random(part), [Random(1000 * part + seed) for seed in seeds]
        with (self.workspace / name).open("w") as file:
            rows = csv.writer(file)
            rows.writerow(("id", "y"))
            for key, label in _answers(part).to_numpy():
                error = sum(draw.gauss(0, 0.3) for draw in draws) / len(draws) + shared.gauss(0, 0.4)
                rows.writerow((key, round(float(label) + error, 4)))


class _Executor:
    """Executes work when it is submitted, and holds each outcome back until its virtual end."""

    def __init__(self, world: "Simulated") -> None:
        self._world = world
        self._waiting: list[tuple[float, int, Finished]] = []
        self._handed_out = 0

    def submit(self, work_id: str, work: Think | Code) -> None:
        world = self._world
        dependencies = world.dependencies()
        if isinstance(work, Code) and work.fold:
            dependencies = replace(dependencies, grader=world.grader.fold(work.fold))
        outcome = execute(world.agent, work, world.folder.work(work_id), dependencies)
        ends = world.now + OVERHEAD + world.sessions[-1].used
        self._handed_out += 1
        heapq.heappush(self._waiting, (ends, self._handed_out, Finished(work_id, outcome)))

    def finished(self) -> list[Finished]:
        ends, _, finished = heapq.heappop(self._waiting)
        self._world.now = max(self._world.now, ends)
        return [finished]


@dataclass
class Simulated(World):
    """A campaign whose attempts try one cell after another until the deadline."""

    seconds_of_code: Sequence[float] = (10.0,)
    """Of cells, one after another, and again from the beginning."""
    slower: float = 1.1
    """How much longer a script takes on a fold and on all rows than it took before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.now, self.cells_written = 0.0, 0
        self.sessions: list[_Session] = []
        folds = [_answers(part) for part in range(2, self.folds + 2)]
        self.grader = _Grader(_answers(0), _answers(_TEST), folds)

    def _by_title(self, request: ModelRequest) -> str:
        del request
        seed = self.cells_written
        self.cells_written += 1
        seconds = self.seconds_of_code[seed % len(self.seconds_of_code)]
        return reply(_PROGRAM.format(seed=seed, seconds=seconds))

    def session(self, work: Code, folder: WorkFolder, *_: object) -> _Session:  # type: ignore[override]
        self.sessions.append(_Session(folder.workspace, work, self.slower))
        return self.sessions[-1]

    def campaign(self, **spec: object) -> Campaign:
        campaign = Campaign(self.folder, now=lambda: self.now)
        if campaign.state.opened is None:
            campaign.record(opened(budget=self.budget, **spec))
            campaign.record(split_made(metric="rmse", maximize=False))
        return campaign

    def run(self, campaign: Campaign) -> CampaignState:
        executor = _Executor(self)
        with campaign:
            ending = run(campaign, self.agent, executor)
            no_refit = finish(campaign, executor, self.grader, count_folds=self.count_folds)
            detail = "; ".join(filter(None, (ending.detail, no_refit)))
            return campaign.record(ending.model_copy(update={"detail": detail}))

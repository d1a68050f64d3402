"""Fixtures of a campaign of the tiny agent: scripted model and session, and a grader of numbers."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from comind.baseline.recipe_programs import Program
from comind.campaign.closing.finish import finish
from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.campaign.loop import Campaign, run
from comind.campaign.work.hand_in import FilesHandedIn, HandIn
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.work.monitor import MonitorSettings
from comind.campaign.worker import Dependencies
from comind.domain.spend import Budget, Spend
from comind.grading.grader_port import CampaignGrader
from comind.llm.model_ports import ModelReply, ModelRequest, Usage
from comind.session.session_ports import Session
from comind.splits.extra_folds import FoldCount
from comind.testing import ColumnGrader, ScriptedModel, ScriptedSession, ThreadExecutor, TinyAgent
from tests.unit.campaign.samples import opened


def reply(cell: str) -> str:
    return json.dumps({"code": cell})


def run_inline(call: Callable[[], ModelReply]) -> "Future[ModelReply]":
    """Run `call` before the cell continues, as its time is virtual."""
    future: Future[ModelReply] = Future()
    try:
        future.set_result(call())
    except Exception as error:  # noqa: BLE001 - raised by the caller
        future.set_exception(error)
    return future


def hand_in(
    score: str,
    *,
    test: str = "test rows",
    out_of_fold: str = "",
    probabilities: str | None = None,
    final: bool = False,
) -> object:
    """Return a cell that writes both submissions, and the files beside them."""

    def cell(workspace: Path) -> str:
        (workspace / "validation_submission.csv").write_text(score)
        (workspace / "submission.csv").write_text(test)
        if out_of_fold:
            (workspace / "out_of_fold.csv").write_text(out_of_fold)
        if probabilities is not None:
            for part in ("validation", "test"):
                (workspace / f"{part}_probabilities.csv").write_text(probabilities)
        if final:
            (workspace / "nominated.txt").write_text("final")
        return f"wrote {score}"

    return cell


def on_sample(score: str, *more: str) -> object:
    """Return a cell that hands in a step on the sample, and writes other files."""

    def cell(workspace: Path) -> str:
        for name in ("sample_predictions.csv", *more):
            (workspace / name).write_text(score)
        return f"wrote {score}"

    return cell


CELLS = {
    "look": lambda workspace: "two columns",
    "good": hand_in("0.9"),
    "better": hand_in("0.95"),
    "poor": hand_in("0.5"),
    "words": hand_in("high"),
    "again": lambda workspace: "nothing new",
}


@dataclass
class World:
    """Everything a campaign of the tiny agent needs, over one folder."""

    root: Path
    script: list[str] | None = None
    budget: Budget = field(default_factory=lambda: Budget(seconds=3600))
    ran: list[str] = field(default_factory=list)
    monitor: MonitorSettings | None = None
    cells: dict[str, object] = field(default_factory=dict)
    usage: Usage = field(default_factory=lambda: Usage(prompt_tokens=100, completion_tokens=20))
    grader: CampaignGrader = field(default_factory=ColumnGrader)
    folds: int = 0
    """Number of folds that the split allows."""
    hand_in: HandIn = field(default_factory=FilesHandedIn)

    def __post_init__(self) -> None:
        self.folder = CampaignFolder(self.root / "runs" / "demo-tiny-1")
        self.agent = TinyAgent()
        said = self._by_title if self.script is None else self.script
        self.model = ScriptedModel(said, usage=self.usage)

    def _by_title(self, request: ModelRequest) -> str:
        """Look first; then hand in, the better the later the attempt."""
        last = request.messages[-1].content
        if last == "baseline":
            return reply("look")
        return reply("better" if last.startswith("improvement") else "good")

    def dependencies(
        self,
        spent: Spend | None = None,
        *,
        baseline: Callable[[], Sequence[Program]] = tuple,
        ledger: BudgetLedger | None = None,
    ) -> Dependencies:
        ledger = ledger or BudgetLedger(self.budget, spent or Spend())
        return Dependencies(
            lambda role: self.model,
            ledger,
            self.grader,
            self.session,
            self.monitor,
            baseline=baseline,
            hand_in=self.hand_in,
        )

    def session(self, work: Code, folder: WorkFolder, *_: object) -> Session:
        return ScriptedSession(
            folder.workspace,
            CELLS | self.cells,  # type: ignore[arg-type]
            self.ran,
            persistent=work.session == "notebook",
        )

    def count_folds(self, most: int) -> FoldCount:
        return FoldCount(min(most, self.folds), "" if most <= self.folds else "no more rows")

    def campaign(self, **spec: object) -> Campaign:
        campaign = Campaign(self.folder)
        if campaign.state.opened is None:
            campaign.record(opened(budget=self.budget, **spec))
        return campaign

    def run(self, campaign: Campaign) -> CampaignState:
        dependencies = self.dependencies()
        executor = ThreadExecutor(self.folder, self.agent, dependencies, fold_grader=self.grader.fold)
        try:
            ending = run(campaign, self.agent, executor, limit_reached=dependencies.ledger.limit_reached)
            finish(campaign, executor, self.grader, count_folds=self.count_folds)
            return campaign.record(ending)
        finally:
            campaign.close()

"""Run a small campaign of an agent on sample facts, and collect the prompts that it sends."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

from comind.baseline.recipe_programs import Program
from comind.campaign.agent import Agent
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignOpened, EnvironmentRead, SplitMade
from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Campaign, Finished, run
from comind.campaign.work.hand_in import FilesHandedIn, ProgramHandedIn
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.work.monitor import MonitorSettings
from comind.campaign.worker import Dependencies, execute
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.domain.spend import Budget, Spend
from comind.grading.grader_port import ErrorReport, GradeReport, ScoreBreakdown, SubsetScore
from comind.llm.model_ports import ModelReply, ModelRequest
from comind.llm.reply_format import with_format_instructions
from comind.llm.templates import Rendering, collect_renderings
from comind.session.session_ports import Session
from comind.testing.grader import ColumnGrader
from comind.testing.model import ScriptedModel
from comind.testing.sample_facts import ENVIRONMENT, KINDS, SampleKind
from comind.testing.sample_replies import SampleReplies
from comind.testing.session import ScriptedSession

__all__ = ["SamplePrompt", "sample_prompts"]

_PART = "Part of:"
_SUBMITS = ("write_submissions(", "split_submission()\n", "kaggle_split(name)", "def solve")
_EVALUATIONS, _CALLS = 30, 150
_CELL_MINUTES = 20.0
_LOG = [f"round {number}: training loss {1 / number:.4f}" for number in range(1, 41)]


@dataclass(frozen=True, slots=True)
class SamplePrompt:
    """A prompt with sample facts, or a cell that the agent runs itself."""

    roles: tuple[str, ...]
    """Whose models read it; empty for what no model of the agent reads."""
    rendering: Rendering


def sample_prompts(agent: type[Agent], kind: str) -> list[SamplePrompt]:
    """Return the prompts of an agent for a competition of `tables` or `programs`, each once.

    They are collected from small campaigns without a model: its replies, the results of cells and the
    scores are made up. Of several renderings the longest is returned.
    """
    readers: dict[str, list[str]] = {}
    with collect_renderings() as renderings:
        for parameters, context_tokens in product(agent.samples.parameters, agent.samples.contexts):
            for request in _run(agent, KINDS[kind], parameters, context_tokens):
                for message in with_format_instructions(request, structured=True):
                    readers.setdefault(message.content, []).append(request.role)
    sent = [each for each in renderings if each.text in readers]
    names = {each[:2] for each in sent}
    unsent = [each for each in renderings if each[:2] not in names and _PART not in each.header]
    longest: dict[tuple[str, str], Rendering] = {}
    roles: dict[tuple[str, str], dict[str, None]] = {}
    for each in (*sent, *unsent):
        name = each[:2]
        roles.setdefault(name, {}).update(dict.fromkeys(readers.get(each.text, ())))
        longest[name] = max(longest.get(name, each), each, key=lambda one: len(one.text))
    return [SamplePrompt((*roles[name],), rendering) for name, rendering in longest.items()]


def _run(
    agent: type[Agent], kind: SampleKind, parameters: Mapping[str, Any], context_tokens: int
) -> list[ModelRequest]:
    """Run one campaign; return its requests in their order."""
    settings = agent.parameters.model_validate(parameters)
    with tempfile.TemporaryDirectory() as root:
        campaign = Campaign(CampaignFolder(Path(root) / "runs" / "sample"))
        try:
            for event in _beginning(kind, settings.model_dump(mode="json")):
                campaign.record(event)
            replies = SampleReplies(agent.samples.replies, kind.programs, kind.sentences)
            model = ScriptedModel(replies.answer, context_tokens=context_tokens)
            made = agent(kind.problem, settings, seed=0, community=kind.community)
            grader = _SampleGrader()
            dependencies = _dependencies(kind, model, grader, campaign.state.budget)
            executor = _InlineExecutor(campaign.folder, made, dependencies)
            planner = BaselineFirst(made)
            limit = dependencies.ledger.limit_reached
            run(campaign, planner, executor, grader=grader, limit_reached=limit)
        finally:
            campaign.close()
    return model.requests


def _beginning(kind: SampleKind, parameters: dict[str, Any]) -> Iterator[Any]:
    """Return the first events of the log."""
    problem = kind.problem
    yield CampaignOpened(
        spec=CampaignSpec(
            id="sample",
            competition=problem.competition,
            competition_folder=problem.competition,
            model="sample",
            parameters=parameters,
            iterations=4,
            coders=2,
            steps=12,
            cell_minutes=_CELL_MINUTES,
            evaluations=_EVALUATIONS,
            max_tokens=120 * _CALLS,
        )
    )
    yield EnvironmentRead(environment=ENVIRONMENT)
    yield SplitMade(
        key="sample",
        public_sha256="",
        sealed_sha256="",
        metric=problem.metric,
        maximize=problem.maximize,
        validation_rows=problem.validation_rows,
        folds=problem.folds,
        program=problem.program,
    )


def _dependencies(
    kind: SampleKind, model: ScriptedModel, grader: "_SampleGrader", budget: Budget
) -> Dependencies:
    scores, ran = count(70), list[str]()

    def open_session(work: Code, folder: WorkFolder, *_: object) -> Session:
        return ScriptedSession(
            folder.workspace, _SampleCells(scores), ran, persistent=work.session == "notebook"
        )

    def baseline() -> Sequence[Program]:
        return (Program(name="baseline", code=kind.programs[0]),)

    tried = ProgramHandedIn(lambda _: "mean score on 5 development instances: 0.7")
    return Dependencies(
        lambda _: model,
        BudgetLedger(budget, Spend()),
        grader,
        open_session,
        MonitorSettings(start=_run_inline),
        baseline=baseline,
        hand_in=tried if kind.problem.program else FilesHandedIn(),
    )


def _run_inline(call: Callable[[], ModelReply]) -> "Future[ModelReply]":
    """Run `call` in this thread, as the time of cells is simulated."""
    future: Future[ModelReply] = Future()
    try:
        future.set_result(call())
    except Exception as error:  # noqa: BLE001 - raised by `Future.result`
        future.set_exception(error)
    return future


class _InlineExecutor:
    """Executes work in this thread, where its prompts are collected."""

    def __init__(self, folder: CampaignFolder, agent: Agent, dependencies: Dependencies) -> None:
        self._folder, self._agent, self._dependencies = folder, agent, dependencies
        self._finished: list[Finished] = []

    def submit(self, work_id: str, work: Think | Code) -> None:
        outcome = execute(self._agent, work, self._folder.work(work_id), self._dependencies)
        self._finished.append(Finished(work_id, outcome))

    def finished(self) -> list[Finished]:
        done, self._finished = self._finished, []
        return done


class _SampleCells(dict[str, Callable[[Path], Any]]):
    """The result of any cell: programs of the samples score, fail or run for long; others do nothing."""

    def __init__(self, scores: Iterator[int]) -> None:
        super().__init__()
        self._scores = scores

    def get(self, code: str, default: object = None) -> Callable[[Path], Any]:
        del default

        def cell(workspace: Path) -> Any:
            if "feature, labels" in code:
                raise NameError("name 'feature' is not defined")
            if "component" in code:
                return '{"component": "all", "score": 0.8}\n{"component": "trees", "score": 0.7}'
            if "validate(" in code:
                return iter([(300.0 * number, f"{number} 0.7") for number in range(1, 9)])
            if any(each in code for each in _SUBMITS):
                score = f"0.{next(self._scores)}"
                for name in ("validation_submission.csv", "submission.csv", "out_of_fold.csv"):
                    (workspace / name).write_text(score)
                return "\n".join([*_LOG, f"roc_auc {score}"])
            return ""

        return cell


class _SampleGrader(ColumnGrader):
    """Scores that rise, though not each time, the worst of three parts, and correlated errors."""

    def __init__(self) -> None:
        super().__init__(noise=0.004)
        self._numbers = count()

    def grade(self, validation: Path, test: Path) -> GradeReport:
        del validation, test
        return self._report(parts=True)

    def out_of_fold(self, predictions: Path) -> GradeReport:
        del predictions
        return self._report(parts=False)

    def compare(self, one: Path, other: Path) -> Paired:
        del one, other
        return Paired(difference=0.01, standard_error=0.004, interval=Interval(low=0.002, high=0.018))

    def _report(self, *, parts: bool) -> GradeReport:
        number = next(self._numbers)
        value = min(0.95, 0.7 + 0.01 * number - 0.03 * (number // 2 % 2))
        score = ValidationScore(
            metric="roc_auc",
            value=MetricValue(value=value, maximize=True),
            interval=Interval(low=value - 0.02, high=value + 0.02),
            rows=360,
        )
        worst = SubsetScore(name="red", value=round(value - 0.05, 2), share=0.3)
        by = ScoreBreakdown(by="colour", count=3, worst=(worst,))
        return GradeReport(valid=True, score=score, parts=(by,) if parts else ())

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        rows = range(len(submissions))
        return ErrorReport(correlations=tuple(tuple(0.8 for _ in range(row)) for row in rows))

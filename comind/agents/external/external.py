"""Run a command on the data as Kaggle has it, and hand in the submissions that it wrote."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from comind.campaign.agent import Agent, Role, Samples, programs_left
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Wait
from comind.campaign.log.work_items import Assignment, NoResult
from comind.campaign.reports.call_costs import Expected, ExpectedCalls, expected_programs
from comind.campaign.work.context import CodeContext
from comind.campaign.work.prompts import Prompts
from comind.domain.draft import Draft, Operator
from comind.domain.problem import ENDPOINT_AT, ROW_FILES_AT
from comind.domain.value import Payload, Value
from comind.errors import UsageError
from comind.llm.model_ports import Usage
from comind.session.session_ports import CellStatus
from comind.system.plurals import quantity

PROGRAM = "program"
"""The role whose model the command calls."""
_ENVIRONMENT = "agent"
_DATA = "work/data"
_CALL = Usage(prompt_tokens=5_000, completion_tokens=1_200)
_PROMPTS = Prompts(
    "comind.agents.external",
    {"columns": (0.01, 1_000), "description": (0.2, 25_000), "preview": (0.1, 8_000)},
)
_OTHER_CELLS = 2  # to lay out the data, and to run the command
# Of the attempt's time, to hand in: a tenth, at least a minute, at most a third.
_RESERVED, _RESERVED_SECONDS, _MOST_RESERVED = 0.1, 60.0, 0.33
_ANOTHER = "the program: another version is its best"


class ExternalParameters(Value):
    """Section `agents.external` of params.yaml."""

    command: str = Field(default="", description="shell script that runs the program; docs/external.md")
    environment: str | None = Field(
        default=None,
        description="virtual environment of the program, at input/agent; null: the session's",
    )
    submissions: tuple[str, ...] = Field(
        default=("submission.csv",),
        min_length=1,
        description="patterns of files that it hands in, the version first that it calls its best",
    )
    model: bool = Field(default=True, description="whether it calls a model, at OPENAI_BASE_URL")


class RunFacts(Value):
    """What the program is told of the campaign."""

    programs: int | None
    """How many programs other agents may have graded; None without a limit."""


RUN = Assignment("run", RunFacts, NoResult)


class External(Agent):
    """A program of others: a command in a sandbox, on the data as Kaggle has it (docs/external.md)."""

    parameters = ExternalParameters
    roles: ClassVar = {PROGRAM: Role("answers the requests of the program")}
    prompts = ("comind.agents.external",)
    samples = Samples(parameters=({"command": "python solve.py"},))
    serves_model = True

    @classmethod
    def needs_model(cls, parameters: Mapping[str, Any]) -> bool:
        """Return whether the command calls one."""
        return bool(parameters.get("model", True))

    @classmethod
    def mounts(cls, parameters: Mapping[str, Any]) -> Mapping[str, Path]:
        """Return the program's environment."""
        found = parameters.get("environment")
        return {_ENVIRONMENT: Path(found)} if found else {}

    @classmethod
    def check(cls, spec: CampaignSpec) -> None:
        """Check that there is a command, and that it can run here."""
        given = ExternalParameters.model_validate(spec.parameters)
        if not given.command.strip():
            raise UsageError(
                "the agent external has no command",
                hint="--profile aideml, iterate-ai or autogluon, or --set command=...",
            )
        if spec.pool:
            raise UsageError("the agent external runs on this machine", hint="leave out --pool")
        cells = _OTHER_CELLS + len(given.submissions)
        if spec.steps < cells:
            raise UsageError(f"--steps {spec.steps}: the agent external takes {cells} cells")

    def plan(self, state: CampaignState) -> Decision:
        """Plan one attempt, which has all the time."""
        begun = sum(not each.work.is_baseline for each in state.works.attempts())
        if not programs_left(state, 1, begun):
            return Wait() if state.works.in_flight() else Done(reason="the program has run")
        if not state.free_slots():
            return Wait()
        limits, known = state.work_budget(), state.works.best_first()[:1]
        seconds = max(1.0, min(state.spec.attempt_seconds, state.open_seconds()))
        cell = max(1.0, min(state.spec.cell_seconds, seconds))
        attempt = Code(
            operator=Operator.DRAFT,
            draft=Draft(
                title="the program",
                method=self.settings.command,
                codebase=known[0].outcome.code if known and known[0].outcome else "",
                codebase_result=known[0].result if known else "",
            ),
            facts=Payload.of(RunFacts(programs=state.budget.evaluations)),
            role=PROGRAM,
            budget=limits.model_copy(update={"seconds": seconds, "cell_seconds": cell}),
        )
        return [attempt]

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Lay out the data, run the command, and hand in what it wrote."""
        whole = work.budget.seconds
        reserved = min(max(_RESERVED_SECONDS, _RESERVED * whole), _MOST_RESERVED * whole)
        told = RUN.facts_of(work)
        assert told is not None, "this agent has planned it"
        facts = self._facts(context, min(work.budget.cell_seconds, whole - reserved))
        laid = context.run("Lay out the data as Kaggle has it.", _PROMPTS.render("lay_out", **facts))
        if laid.status is not CellStatus.OK:
            return CodeResult(report=laid.error.strip().rpartition("\n")[2])
        code = _PROMPTS.render("run", **facts, programs=told.programs)
        ran = context.run_program("Run the program.", code, reserved=reserved)
        handed_in: list[str] = []
        for pattern in self.settings.submissions:
            step = context.step(
                f"Hand in {pattern}.",
                _PROMPTS.render("hand_in", **facts, pattern=pattern, others=handed_in),
                rejected=_ANOTHER if handed_in else "",
            )
            if step.report is not None and step.report.valid:
                handed_in.append(pattern)
        if handed_in:
            return CodeResult(report=f"It handed in {', '.join(handed_in)}.")
        return CodeResult(report=ran.error.strip().rpartition("\n")[2] or "It handed in nothing.")

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected | None:
        """Return the expected model calls: two for each program, to write it and to read its output."""
        if not cls.needs_model(spec.parameters):
            return None
        programs, guess = expected_programs(spec, None)
        calls = (ExpectedCalls(PROGRAM, _CALL, 2 * programs),)
        return Expected(f"{quantity(programs, 'program')} of others{guess}", calls)

    def _facts(self, context: CodeContext, seconds: float) -> dict[str, Any]:
        """Return the values of the task and of the cells."""
        problem, resources = self.problem, context.resources
        columns = {
            "id_columns": problem.id_columns,
            "target_columns": problem.target_columns,
            "label_columns": problem.label_columns,
            "answer_kind": problem.answer_kind.value,
            "positive_class": problem.positive_class,
        }
        task = {
            "competition": problem.competition,
            "metric": problem.metric,
            "maximize": problem.maximize,
            **({"program": problem.program.model_dump()} if problem.program else columns),
            "seconds": round(seconds),
            "cores": resources.cores if resources else 1,
            "seed": self.seed,
        }
        text = _PROMPTS.render(
            "task",
            problem=problem,
            room=_PROMPTS.limits(),
            resources=resources,
            measured=context.measured.of_baseline(),
            seconds=seconds,
            environment=self.settings.environment,
            draft=context.work.draft,
        )
        return {
            "task": text,
            "task_json": json.dumps(task, indent=1),
            "problem": problem,
            "folder": _DATA,
            "draft": context.work.draft,
            "command": self.settings.command,
            "environment": f"input/{_ENVIRONMENT}" if self.settings.environment else "",
            "endpoint": ENDPOINT_AT,
            "model": self.settings.model,
            "row_files": ROW_FILES_AT,
            "seconds": seconds,
        }

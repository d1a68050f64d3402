"""Plan and write programs that refine the best one so far; of others its prompt has results alone."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, Field

from comind.campaign.agent import Agent, Role, Samples, programs_left
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Wait
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.call_costs import Expected, ExpectedCalls, expected_programs
from comind.campaign.work.context import CodeContext
from comind.campaign.work.prompts import Prompts
from comind.domain.draft import Draft, Operator
from comind.domain.value import Text, Value
from comind.llm.model_ports import Usage
from comind.system.plurals import quantity

CODER = "coder"
PROMPTS = Prompts(
    "comind.agents.greedy",
    {
        "columns": (0.01, 1_000),
        "description": (0.06, 9_000),
        "preview": (0.065, 4_000),
        "program": (0.3, 24_000),
        "output": (0.06, 4_000),
        "reply": (0.245, 16_000),
    },
)
_PROGRAM = Usage(prompt_tokens=4_000, completion_tokens=1_500)
_GOAL_LENGTH, _TRIED_SHOWN = 300, 5


class GreedyParameters(Value):
    """Section `agents.greedy` of params.yaml."""

    programs: int | None = Field(
        default=None, ge=1, description="programs in all; null: as many as the campaign's budget allows"
    )


class Program(BaseModel):
    """A program as a model writes it."""

    plan: Text = Field(description="what the program does, or what is changed, and why: a few sentences")
    code: Text = Field(json_schema_extra={"format": "python"})


class Greedy(Agent):
    """Greedy refinement: each program is to be better than the best so far; a control of comparisons."""

    parameters = GreedyParameters
    roles: ClassVar = {CODER: Role("writes each program")}
    prompts = ("comind.agents.greedy",)
    samples = Samples(parameters=({"programs": 6},))

    def plan(self, state: CampaignState) -> Decision:
        """Plan a program for each free slot."""
        begun = sum(not each.work.is_baseline for each in state.works.attempts())
        left = programs_left(state, self.settings.programs, begun)
        if free := min(state.free_slots(), left):
            return [_next(state, begun + number) for number in range(free)]
        if left or state.works.in_flight():
            return Wait()
        return Done(reason=f"{quantity(begun, 'program')} are written")

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Write and run one program."""
        seconds = min(work.budget.cell_seconds, work.budget.seconds)
        facts = {"problem": self.problem, "draft": work.draft, "seconds": seconds}
        facts["operator"] = work.operator.value
        written = PROMPTS.ask(context, CODER, "program", Program, facts)
        context.step(written.plan[:_GOAL_LENGTH], written.code)
        return CodeResult(report=written.plan)

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls: one for each program."""
        parameters = GreedyParameters.model_validate(spec.parameters)
        programs, guess = expected_programs(spec, parameters.programs)
        calls = (ExpectedCalls(CODER, _PROGRAM, programs),)
        return Expected(f"{quantity(programs, 'program')}{guess}", calls)


def _next(state: CampaignState, number: int) -> Code:
    """Return the refinement of the best program; without a score, a repair of the last one, if any."""
    tried = state.works.attempts()
    operator, parent = _parent(state.works.best_first(), tried)
    return Code(
        operator=operator,
        draft=_draft(parent, tried, f"program {number + 1}"),
        role=CODER,
        parents=(parent.id,) if parent else (),
        session="script",
        budget=state.work_budget().model_copy(update={"steps": 1}),
    )


def _parent(best_first: Sequence[Attempt], tried: Sequence[Attempt]) -> tuple[Operator, Attempt | None]:
    if best_first:
        return Operator.IMPROVE, best_first[0]
    failed = [each for each in tried if each.outcome and each.outcome.last and each.work.role == CODER]
    return (Operator.DEBUG, failed[-1]) if failed else (Operator.DRAFT, None)


def _draft(parent: Attempt | None, attempts: Sequence[Attempt], title: str) -> Draft:
    if parent is None:
        return Draft(title=title, method="New.")
    outcome = parent.outcome
    assert outcome is not None, "it has ended"
    last = outcome.last
    tried = [each for each in attempts if each.outcome and parent.id in each.work.parents]
    facts = {"node": parent, "tried": tried[-_TRIED_SHOWN:], "room": PROMPTS.limits()}
    return Draft(
        title=title,
        method=PROMPTS.render("ended", **facts),
        codebase=outcome.code if outcome.score or last is None else last.program,
        codebase_seconds=outcome.code_seconds if outcome.score else None,
        codebase_result=parent.result,
    )

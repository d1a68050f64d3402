"""Plan and write programs, each the next version of a few from one island."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from pydantic import BaseModel, Field

from comind.agents.funsearch.islands import (
    PROGRAM,
    Island,
    Parts,
    Place,
    Reset,
    Version,
    choose,
    cooled,
    islands_of,
    next_reset,
    reset_by,
)
from comind.campaign.agent import Agent, Role, Samples, programs_left
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Wait
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.call_costs import Expected, ExpectedCalls, expected_programs
from comind.campaign.work.context import CodeContext
from comind.campaign.work.prompts import Prompts
from comind.campaign.work.step import Step
from comind.domain.draft import Draft, Operator
from comind.domain.value import Payload, Text, Value, one_line
from comind.llm.model_ports import Usage
from comind.system.plurals import quantity

CODER = "coder"
PROMPTS = Prompts(
    "comind.agents.funsearch",
    {
        "columns": (0.01, 1_000),
        "description": (0.06, 9_000),
        "preview": (0.065, 4_000),
        "program": (0.245, 16_000),
        "others": (0.1, 16_000),
        "output": (0.06, 4_000),
        "reply": (0.245, 16_000),
    },
)
_PROGRAM = Usage(prompt_tokens=5_000, completion_tokens=1_500)
_GOAL_LENGTH, _OUTPUT_KEPT, _TRIED_SHOWN, _TRIED_LENGTH = 300, 4_000, 5, 400


class FunSearchParameters(Value):
    """Section `agents.funsearch` of params.yaml."""

    islands: int = Field(default=10, ge=1, description="islands, each with programs of its own")
    examples: int = Field(
        default=2, ge=1, description="programs that a prompt shows, if there are so many"
    )
    temperature: float = Field(
        default=0.5, ge=0.01, description="of the choice of programs on an island, as it begins"
    )
    period: int = Field(
        default=30, ge=1, description="programs of an island in which its temperature falls to nothing"
    )
    resets: int = Field(
        default=3, ge=0, description="how often in a campaign the worse half of the islands is reset"
    )
    programs: int | None = Field(
        default=None, ge=1, description="programs in all; null: as many as the campaign's budget allows"
    )


class Program(BaseModel):
    """A program as a model writes it."""

    plan: Text = Field(description="what the program does, or what is changed, and why: a few sentences")
    code: Text = Field(json_schema_extra={"format": "python"})


class FunSearch(Agent):
    """Islands of programs: each is the next version of two, drawn by score and length (FunSearch)."""

    parameters = FunSearchParameters
    roles: ClassVar = {CODER: Role("writes each program")}
    prompts = ("comind.agents.funsearch",)
    samples = Samples(parameters=({"programs": 6, "islands": 1},))

    def plan(self, state: CampaignState) -> Decision:
        """Plan a program for each free slot."""
        begun = sum(not each.work.is_baseline for each in state.works.attempts())
        left = programs_left(state, self.settings.programs, begun)
        if free := min(state.free_slots(), left):
            return [*self._next(state, begun, free)]
        if left or state.works.in_flight():
            return Wait()
        return Done(reason=f"the islands have their {quantity(begun, 'program')}")

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Write and run one program."""
        place = PROGRAM.facts_of(work) or Place()
        seconds = min(work.budget.cell_seconds, work.budget.seconds)
        facts = {"problem": self.problem, "place": place, "seconds": seconds}
        facts["measured"] = context.measured.of_baseline()  # islands do not see each other
        written = PROMPTS.ask(context, CODER, "program", Program, facts)
        step = context.step(written.plan[:_GOAL_LENGTH], written.code)
        return CodeResult(report=written.plan, result=Payload.of(_parts(step)))

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls: one for each program."""
        parameters = FunSearchParameters.model_validate(spec.parameters)
        programs, guess = expected_programs(spec, parameters.programs)
        plan = f"{quantity(programs, 'program')} on {quantity(parameters.islands, 'island')}{guess}"
        return Expected(plan, (ExpectedCalls(CODER, _PROGRAM, programs),))

    def _next(self, state: CampaignState, begun: int, free: int) -> Sequence[Code]:
        """Return the next `free` programs; the first of them has the reset that is due, if any."""
        attempts = state.works.attempts()
        islands = islands_of(attempts, self.settings.islands)
        reset = self._reset(state, islands, begun)
        if reset is not None:
            islands = reset_by(reset, islands)
        places = [self._place(islands, attempts, number) for number in range(begun, begun + free)]
        places[0] = places[0].model_copy(update={"reset": reset})
        return [_program(state, number, place) for number, place in enumerate(places, begun)]

    def _reset(self, state: CampaignState, islands: Sequence[Island], begun: int) -> Reset | None:
        """Return the reset that is due and not recorded yet; None if there is none, or no program."""
        places = [PROGRAM.facts_of(each.work) for each in state.works.attempts()]
        done = max((each.reset.number for each in places if each and each.reset), default=0)
        most = self.settings.programs
        used = max(_share_used(state), begun / most if most else 0.0)
        due = min(self.settings.resets, int((self.settings.resets + 1) * used))
        if due <= done or not any(islands):
            return None
        running = [record.id for record in state.works.in_flight()]
        return next_reset(islands, due, running, self._draw(f"reset {due}"))

    def _place(self, islands: Sequence[Island], attempts: Sequence[Attempt], number: int) -> Place:
        """Return island and versions of a program; without any it is written from scratch."""
        draw = self._draw(str(number))
        peopled = [each for each, island in enumerate(islands) if island]
        if not peopled:
            return Place()
        island = draw.choice(peopled)
        programs = islands[island]
        temperature = cooled(self.settings.temperature, len(programs), self.settings.period)
        chosen = choose(programs, self.settings.examples, temperature, draw)
        versions = tuple(map(_version, chosen))
        return Place(island=island, versions=versions, tried=_tried(attempts, chosen[-1]))

    def _draw(self, choice: str) -> Random:
        return Random(f"{self.seed}-{choice}")  # noqa: S311 - not for security


def _share_used(state: CampaignState) -> float:
    """Return the largest share that is used of the campaign's time, evaluations, tokens or dollars."""
    limit, shares = state.budget.seconds, state.budget.shares(state.spend).values()
    return max([state.spend.seconds / limit if limit else 0.0, *shares])


def _program(state: CampaignState, number: int, place: Place) -> Code:
    """Return an attempt at the next version; its first parent is the best of those it is shown."""
    parents = tuple(each.attempt for each in reversed(place.versions))
    draft = Draft(
        title=f"program {number + 1}",
        method=f"The next version after {', '.join(parents)}." if parents else "New.",
        strategy="" if place.island is None else f"island {place.island}",
    )
    return Code(
        operator=Operator.IMPROVE if parents else Operator.DRAFT,
        draft=draft,
        facts=Payload.of(place),
        role=CODER,
        parents=parents,
        session="script",
        budget=state.work_budget().model_copy(update={"steps": 1}),
    )


def _version(program: Attempt) -> Version:
    outcome = program.outcome
    assert outcome is not None, "it is scored"
    output = outcome.last.output[-_OUTPUT_KEPT:] if outcome.last else ""
    return Version(attempt=program.id, code=outcome.code, result=program.result, output=output)


def _tried(attempts: Sequence[Attempt], best: Attempt) -> tuple[str, ...]:
    """Return result and plan of the latest programs that were written from the best of those shown."""
    ended = [each for each in attempts if each.outcome and best.id in each.work.parents[:1]]
    lines = [f"{each.result}; its plan: {each.outcome.report}" for each in ended if each.outcome]
    return tuple(one_line(line, _TRIED_LENGTH) for line in lines[-_TRIED_SHOWN:])


def _parts(step: Step) -> Parts:
    """Return the scores of the parts of a step, as far as the grader reports them."""
    parts = step.report.parts if step.report is not None else ()
    found = sorted((each.by, part.name, part.value) for each in parts for part in each.worst)
    return Parts(scores=tuple(value for _, _, value in found))

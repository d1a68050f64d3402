"""Think for AutoMind: search knowledge, write plans and score their complexity, verify results."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field

from comind.campaign.log.work_items import Assignment, NoResult, Purpose
from comind.campaign.work.context import ThinkContext
from comind.campaign.work.prompts import Prompts
from comind.domain.draft import Operator
from comind.domain.problem import Problem
from comind.domain.value import Text, Value, one_line
from comind.errors import ReplyError
from comind.knowledge.entry_search import Found
from comind.knowledge.knowledge_base import BUILTIN, Entry, pin

RETRIEVER, PLANNER, CODER, VERIFIER = "retriever", "planner", "coder", "verifier"


class AutoMindParameters(Value):
    """Hyperparameters: section `agents.automind` of params.yaml, with the paper's defaults."""

    drafts: int = Field(5, ge=1, description="drafts before anything else")
    debug_probability: float = Field(1, ge=0, le=1, description="how often a failed node is debugged")
    nodes: int | None = Field(
        None, ge=1, description="nodes of the tree; null: as many as the campaign's budget allows"
    )
    max_debug_depth: int = Field(5, ge=0, description="debugs in a row; a node of this depth is left")
    greedy_probability: float = Field(0.8, ge=0, le=1, description="how often the best is improved")
    trick_probability: float = Field(0.8, ge=0, le=1, description="how often improvements get tricks")
    knowledge: Annotated[str, AfterValidator(pin)] = Field(
        BUILTIN, validate_default=True, description="none, builtin, or the path of a base"
    )
    coding: Literal["adaptive", "one-pass"] = Field(
        "adaptive", description="adaptive: complex plans are coded step by step"
    )
    complexity_threshold: float = Field(3.5, ge=0, le=5, description="above it, of 5, steps are coded")
    max_steps: int = Field(6, ge=1, description="steps of a plan at most")
    tries: int = Field(3, ge=1, description="tries of a program, or of each step")
    verifier: bool = Field(True, description="whether a model checks each result")
    verdict: Literal["none", "greedy", "debug"] = Field(
        "debug", description="scored, but with a bug or overfitting: shown; rejected; debugged as well"
    )


class Searching(Value):
    """Input of the search for knowledge."""

    base: str
    """Pinned name."""
    as_of: AwareDatetime | None = None


class Planning(Value):
    """Input of the planner; texts are truncated."""

    operator: Operator
    parent: str = ""
    """Id of the attempt to debug or improve."""
    program: str = ""
    result: str = ""
    """Plan, score or failure, output and review of the parent."""
    memory: str = ""
    """Earlier nodes in short."""
    entries: tuple[Entry, ...] = ()
    seconds: int = 0
    """Time of one program or step; 0 if unknown."""


class Planned(Value):
    """A plan."""

    title: str
    plan: str
    used: tuple[str, ...] = ()
    """Ids of the entries that it uses."""
    complexity: float | None = None
    """From 1 to 5; None if it is coded in one pass in any case."""


class Implementing(Value):
    """Facts of an attempt."""

    plan: str
    """Id of the thought that planned it."""


class Checking(Value):
    """Input of the verifier; texts are truncated."""

    attempt: str
    plan: str
    program: str
    result: str
    """Score or failure, output and error."""


class Verdict(Value):
    """The verifier's opinion on a run; whether it is scored is the grader's decision."""

    bug: bool = Field(description="the run failed, or the program does not do what its plan states")
    overfitting: bool = Field(description="the score cannot hold on new rows, as labels leak or so")
    submission: bool = Field(description="both submission files were written")
    summary: Text = Field(description="what the run showed, two or three sentences")

    @property
    def rejects(self) -> bool:
        """Whether a scored program cannot be the result."""
        return self.bug or self.overfitting

    def __str__(self) -> str:
        found = [name for name in ("bug", "overfitting") if getattr(self, name)]
        found += [] if self.submission else ["no submission"]
        return f"{', '.join(found) or 'no objection'}: {self.summary}"


class ProgramVerdict(Verdict):
    """The verifier's opinion on a program that solves instances."""

    overfitting: bool = Field(description="the score cannot hold on new instances")
    submission: bool = Field(description="a program was submitted")


SEARCH = Purpose("search", role=RETRIEVER, facts=Searching, result=Found)
PLAN = Purpose("plan", role=PLANNER, facts=Planning, result=Planned)
CHECK = Purpose("check", role=VERIFIER, facts=Checking, result=Verdict)
NODE = Assignment("node", Implementing, NoResult)

# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
PROMPTS = Prompts(
    "comind.agents.automind",
    {
        "columns": (0.01, 1_000),
        "description": (0.06, 9_000),
        "preview": (0.065, 4_000),
        "memory": (0.065, 8_000),
        "plan": (0.055, 3_000),
        "program": (0.2, 16_000),
        "output": (0.06, 4_000),
        "knowledge": (0.06, 6_000),
        "reply": (0.245, 16_000),
    },
)
_PLAN_TOKENS, _SCORE_TOKENS, STEPS_TOKENS, VERDICT_TOKENS = 1_500, 300, 2_000, 800
_TITLE_LENGTH, _WORST_COMPLEXITY = 100, 5.0


class Plan(BaseModel):
    """A plan as a model writes it."""

    title: Text = Field(description="the method in at most ten words")
    plan: Text = Field(description="data, features, model, validation and prediction, in order")
    used: list[int] = Field(default=[], description="numbers of the given knowledge that the plan uses")


class AlgorithmPlan(Plan):
    """A plan of a program that solves instances."""

    plan: Text = Field(description="how solutions are represented, built and improved, and its end")


class Complexity(BaseModel):
    """The complexity of a plan by two rubrics."""

    task: float = Field(ge=1, le=5, description="how far the task is from a standard one")
    solution: float = Field(ge=1, le=5, description="how far the plan is from ready-made components")

    @property
    def mean(self) -> float:
        """The mean of both rubrics, rounded to half a step."""
        return round(self.task + self.solution) / 2


def write_plan(
    problem: Problem, facts: Planning, parameters: AutoMindParameters, context: ThinkContext
) -> Planned:
    """Write a plan for a draft, a debug or an improvement; score it unless one pass is certain.

    A plan that the model fails to score has the highest complexity. A program that solves instances is
    one cell, so it is written in one pass.
    """
    given = {"problem": problem, "facts": facts}
    template, reply_type = f"plan_{facts.operator.value}", AlgorithmPlan if problem.program else Plan
    plan = PROMPTS.ask(context, PLANNER, template, reply_type, given, most_tokens=_PLAN_TOKENS)
    used = [facts.entries[n - 1].id for n in dict.fromkeys(plan.used) if 0 < n <= len(facts.entries)]
    planned = Planned(title=one_line(plan.title, _TITLE_LENGTH), plan=plan.plan, used=tuple(used))
    if parameters.coding == "one-pass" or problem.program or facts.operator is Operator.IMPROVE:
        return planned
    try:
        shown = {"plan": plan.plan, **given}
        scored = PROMPTS.ask(
            context,
            PLANNER,
            "complexity",
            Complexity,
            shown,
            most_tokens=_SCORE_TOKENS,
            temperature=0.0,
        )
    except ReplyError:
        return planned.model_copy(update={"complexity": _WORST_COMPLEXITY})
    return planned.model_copy(update={"complexity": scored.mean})

"""Implement one node: a model writes plan and program, the program runs, a model reviews the output."""

from pydantic import BaseModel, Field

from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Assignment
from comind.campaign.work.context import CodeContext
from comind.campaign.work.prompts import Prompts
from comind.campaign.work.step import Step
from comind.domain.problem import Problem
from comind.domain.value import Payload, Text, Value
from comind.errors import ReplyError

CODER = "coder"
FEEDBACK = "feedback"

# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
# Our own text on task, metric and submission is short and never truncated.
PROMPTS = Prompts(
    "comind.agents.aide",
    {
        "columns": (0.01, 1_000),
        "description": (0.06, 9_000),
        "preview": (0.065, 4_000),
        "memory": (0.065, 8_000),
        "program": (0.245, 16_000),
        "output": (0.06, 4_000),
        "community": (0.05, 6_000),
        "reply": (0.245, 16_000),
    },
)
_REVIEW_TOKENS, _GOAL_LENGTH = 1_000, 300


class Solution(BaseModel):
    """A node as a model writes it."""

    plan: Text = Field(description="what the program does and why: three to five sentences, one line")
    code: Text = Field(json_schema_extra={"format": "python"})


class Written(Value):
    """Result of a node, and among the facts of those that improve or debug it."""

    plan: str
    review: str = ""
    """A model's, on what the program printed; empty without time for one."""

    def __str__(self) -> str:
        return f"{self.plan}\n\n{self.review}".strip()


NODE = Assignment("node", Written, Written)


class Review(BaseModel):
    """What a run showed; whether the node is buggy is the grader's to say."""

    summary: Text = Field(description="what the run showed, two or three sentences")


def implement(problem: Problem, work: Code, context: CodeContext, notes: object) -> CodeResult:
    """Write the program of a node, run it, and report plan and review; `notes` are the community's."""
    seconds = min(work.budget.cell_seconds, work.budget.seconds)
    facts = {"problem": problem, "draft": work.draft, "notes": notes, "seconds": seconds}
    facts["result"] = parent_result(work)
    written = PROMPTS.ask(context, CODER, work.operator.value, Solution, facts)
    step = context.step(written.plan[:_GOAL_LENGTH], written.code)
    found = Written(plan=written.plan, review=_review(problem, written, step, context))
    return CodeResult(report=str(found), result=Payload.of(found))


def parent_result(work: Code) -> str:
    """Return score, plan and review of the node that `work` improves or debugs; of a draft nothing."""
    parent = NODE.facts_of(work)
    return "\n".join([work.draft.codebase_result, *([str(parent)] if parent else [])])


def _review(problem: Problem, written: Solution, step: Step, context: CodeContext) -> str:
    """Return a model's review of a run; empty without time for one."""
    if context.seconds_left <= 0:
        return ""
    facts = {"problem": problem, "written": written, "step": step}
    try:
        return PROMPTS.ask(
            context, FEEDBACK, "review", Review, facts, most_tokens=_REVIEW_TOKENS, closing=True
        ).summary
    except ReplyError as error:
        return f"There is no review: {error}."

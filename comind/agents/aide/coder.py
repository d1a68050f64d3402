"""Implement one node: a model writes plan and program, the program runs, a model reviews the output."""

from typing import TypeVar

from pydantic import BaseModel, Field

from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code
from comind.campaign.work.context import CodeContext, Step
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import token_shares

__all__ = ["CODER", "FEEDBACK", "TEMPLATES", "ask", "implement", "token_limits"]

CODER = "coder"
FEEDBACK = "feedback"
TEMPLATES = Templates("comind.agents.aide")

T = TypeVar("T", bound=BaseModel)

# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
# Our own text on task, metric and submission is short and never truncated.
_SHARES = {
    "columns": (0.01, 1_000),
    "description": (0.06, 9_000),
    "preview": (0.065, 4_000),
    "memory": (0.065, 8_000),
    "program": (0.22, 16_000),
    "output": (0.06, 4_000),
    "community": (0.05, 6_000),
    "reply": (0.245, 16_000),
}
_REVIEW_TOKENS, _GOAL_LENGTH = 1_000, 300


class Solution(BaseModel):
    """A node as a model writes it."""

    plan: Text = Field(description="what the program does and why: three to five sentences, one line")
    code: Text = Field(json_schema_extra={"format": "python"})


class Review(BaseModel):
    """What a run showed; whether the node is buggy is the grader's to say."""

    summary: Text = Field(description="what the run showed, two or three sentences")


def token_limits(context_tokens: int) -> dict[str, int]:
    """Return the maximum tokens of each part of a prompt for a model with this context window."""
    return token_shares(_SHARES, context_tokens)


def ask(
    context: CodeContext,
    template: str,
    reply_type: type[T],
    tokens: int | None = None,
    /,
    **facts: object,
) -> T:
    """Render the prompt `template` and return the reply, with `tokens` as its maximum length.

    Raises:
        ReplyError: three replies in a row did not match the schema.
    """
    room, review = token_limits(context.context_tokens), reply_type is Review
    system = Message(role="system", content=TEMPLATES.render("system"))
    user = Message(role="user", content=TEMPLATES.render(template, room=room, **facts))
    prompt = ModelRequest(
        role=FEEDBACK if review else CODER,
        messages=(system, user),
        max_tokens=tokens or room["reply"],
        closing=review,
    )
    return context.ask(prompt, reply_type).value


def implement(problem: Problem, work: Code, context: CodeContext, notes: object) -> CodeResult:
    """Write the program of a node, run it, and report plan and review; `notes` are the community's."""
    seconds = min(work.budget.cell_seconds, work.budget.seconds)
    facts = {"problem": problem, "draft": work.draft, "notes": notes, "seconds": seconds}
    written = ask(context, work.operator.value, Solution, **facts)
    step = context.step(written.plan[:_GOAL_LENGTH], written.code)
    return CodeResult(report=f"{written.plan}\n\n{_review(problem, written, step, context)}".strip())


def _review(problem: Problem, written: Solution, step: Step, context: CodeContext) -> str:
    """Return a model's review of a run; empty without time for one."""
    if context.seconds_left <= 0:
        return ""
    facts = {"problem": problem, "written": written, "step": step}
    try:
        return ask(context, "review", Review, _REVIEW_TOKENS, **facts).summary
    except ReplyError as error:
        return f"There is no review: {error}."

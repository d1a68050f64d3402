"""Think for AutoMind: search knowledge, write plans and score their complexity, verify results."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, Field

from comind.agents.automind.purposes import (
    CODER,
    PLANNER,
    RETRIEVER,
    VERIFIER,
    AutoMindParameters,
    Checked,
    Checking,
    Found,
    Planned,
    Planning,
    Searching,
    Verdict,
)
from comind.campaign.work.context import ThinkContext
from comind.domain.draft import Operator
from comind.domain.problem import Problem
from comind.domain.value import Text, one_line
from comind.errors import ReplyError
from comind.knowledge.knowledge_base import Entry, open_pinned
from comind.knowledge.label_tree import choose_labels
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import shorten

__all__ = ["TEMPLATES", "ask", "mean_complexity", "search", "token_limits", "verify", "write_plan"]

TEMPLATES = Templates("comind.agents.automind")
T = TypeVar("T", bound=BaseModel)

_LEAST_CONTEXT = 8_192
# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
_SHARES = {
    "columns": (0.01, 1_000),
    "description": (0.06, 9_000),
    "preview": (0.065, 4_000),
    "memory": (0.065, 8_000),
    "plan": (0.055, 3_000),
    "program": (0.2, 16_000),
    "output": (0.06, 4_000),
    "knowledge": (0.06, 6_000),
    "reply": (0.245, 16_000),
}
_PLAN_TOKENS, _VERDICT_TOKENS, _SCORE_TOKENS = 1_500, 800, 300
_TITLE_LENGTH = 100
_QUERY_TOKENS = 600
_MOST_FOUND = 24
_WORST_COMPLEXITY = 5.0


class Plan(BaseModel):
    """A plan as a model writes it."""

    title: Text = Field(description="the method in at most ten words")
    plan: Text = Field(description="data, features, model, validation and prediction, in order")
    used: list[int] = Field(default=[], description="numbers of the given knowledge that the plan uses")


class Complexity(BaseModel):
    """The complexity of a plan by two rubrics."""

    task: float = Field(ge=1, le=5, description="how far the task is from a standard one")
    solution: float = Field(ge=1, le=5, description="how far the plan is from ready-made components")


def token_limits(context_tokens: int) -> dict[str, int]:
    """Return the maximum tokens of each part of a prompt for a model with this context window."""
    context = max(_LEAST_CONTEXT, context_tokens)
    return {part: min(most, int(share * context)) for part, (share, most) in _SHARES.items()}


def ask(
    context: ThinkContext,
    template: str,
    reply_type: type[T],
    /,
    *,
    role: str = CODER,
    tokens: int | None = None,
    temperature: float | None = None,
    **facts: object,
) -> T:
    """Render the prompt `template` and return the reply, with `tokens` as its maximum length.

    Raises:
        ReplyError: three replies in a row did not match the schema.
    """
    room = token_limits(context.context_tokens)
    system = Message(role="system", content=TEMPLATES.render("system"))
    user = Message(role="user", content=TEMPLATES.render(template, room=room, **facts))
    prompt = ModelRequest(
        role=role,
        messages=(system, user),
        max_tokens=min(tokens or room["reply"], room["reply"]),
        temperature=temperature,
        closing=role == VERIFIER,
    )
    return context.ask(prompt, reply_type).value


def search(problem: Problem, facts: Searching, context: ThinkContext) -> Found:
    """Return the entries of a base for a task: its labels in order of priority, then similarity.

    Entries about the competition itself, or public only after the as-of time, are left out.
    """
    base = open_pinned(facts.base)
    entries = base.visible(facts.as_of, problem.competition)
    limits = token_limits(context.context_tokens)
    task = shorten(f"{problem.title}\n\n{problem.description}", limits["description"], end=0)
    text = f"{task}\n\nData: {problem.shape}. Metric: {problem.metric}."
    labels = choose_labels(context.ask, RETRIEVER, text)
    related = [each for each in entries if _priority(each, labels) < len(labels)] or list(entries)
    texts = [f"{each.title}\n{each.text}" for each in related]
    query = shorten(text, _QUERY_TOKENS)
    near = context.rank(query, texts, top=len(texts)) if texts else ()
    ranked = sorted((related[number] for number in near), key=lambda each: _priority(each, labels))
    return Found(labels=labels, entries=tuple(ranked[:_MOST_FOUND]))


def _priority(entry: Entry, labels: Sequence[str]) -> int:
    """Return the index of the first of `labels` that an entry has; a category covers its labels."""
    for number, label in enumerate(labels):
        if any(own == label or own.startswith(f"{label}/") for own in entry.labels):
            return number
    return len(labels)


def write_plan(
    problem: Problem, facts: Planning, parameters: AutoMindParameters, context: ThinkContext
) -> Planned:
    """Write a plan for a draft, a debug or an improvement; score it unless one pass is certain.

    A plan that the model fails to score has the highest complexity.
    """
    given = {"problem": problem, "facts": facts, "resources": context.resources}
    template = f"plan_{facts.operator.value}"
    plan = ask(context, template, Plan, role=PLANNER, tokens=_PLAN_TOKENS, **given)
    used = [facts.entries[n - 1].id for n in dict.fromkeys(plan.used) if 0 < n <= len(facts.entries)]
    planned = Planned(title=one_line(plan.title, _TITLE_LENGTH), plan=plan.plan, used=tuple(used))
    if parameters.coding == "one-pass" or facts.operator is Operator.IMPROVE:
        return planned
    try:
        scored = ask(
            context,
            "complexity",
            Complexity,
            role=PLANNER,
            tokens=_SCORE_TOKENS,
            temperature=0.0,
            plan=plan.plan,
            **given,
        )
    except ReplyError:
        return planned.model_copy(update={"complexity": _WORST_COMPLEXITY})
    return planned.model_copy(update={"complexity": mean_complexity(scored)})


def mean_complexity(scored: Complexity) -> float:
    """Return the mean of both rubrics, rounded to half a step."""
    return round(scored.task + scored.solution) / 2


def verify(problem: Problem, facts: Checking, context: ThinkContext) -> Checked:
    """Return a model's opinion on a result, beside the grader's."""
    given = {"problem": problem, "facts": facts}
    verdict = ask(context, "verify", Verdict, role=VERIFIER, tokens=_VERDICT_TOKENS, **given)
    return Checked.model_validate(verdict.model_dump())

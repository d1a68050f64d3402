"""Limit the tokens in prompts and replies of CoMind's roles, and estimate a campaign's model calls."""

from typing import Annotated, Any

from comind.agents.comind.conversation import first_messages
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.work_items import Purpose
from comind.campaign.reports.call_costs import MINUTES_A_STEP, Expected, ExpectedCalls
from comind.campaign.work.context import ThinkContext
from comind.domain.problem import Problem
from comind.domain.value import Value
from comind.llm.model_ports import ModelRequest, Usage
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings
from comind.system.plurals import quantity

_LARGE = 131_072  # tokens of context at which limits reach their ceiling
_CACHED = 0.85  # share of an attempt's prompts that the server reads from its cache
_USED = 0.5  # expected share of a prompt's limits
_CELL, _CELL_SHARE = 600, 0.1  # tokens of a cell: at least, and as a share of its limit
_SHORT = 100  # tokens of a report's code, below which prompts have their shortest form
_THOUGHT = 800  # tokens of a thought's reply


LATE_SHARE = 0.5
"""Of a longer campaign's time, the part at its end in which rounds can be one call."""


class Sizes(Value):
    """Token limits for one context window; limits that end in `_shown` are counts.

    Each field states floor and ceiling. A limit is the ceiling times the context window's share of
    131,072 tokens, and at least the floor, which fits a window of 8,192 tokens.
    """

    cell_reply: Annotated[int, (2_000, 16_384)]
    thought_reply: Annotated[int, (2_000, 8_192)]
    description: Annotated[int, (600, 9_000)]
    """In the first messages of an attempt, which are sent with every step."""
    preview: Annotated[int, (800, 4_000)]
    columns: Annotated[int, (80, 1_000)]
    """Of the names of the columns to predict."""
    method: Annotated[int, (700, 4_000)]
    start_code: Annotated[int, (1_600, 16_000)]
    output: Annotated[int, (600, 3_000)]
    error: Annotated[int, (500, 2_000)]
    steps: Annotated[int, (24_000, 65_536)]
    """Of all steps of an attempt together, verbatim."""
    outline: Annotated[int, (400, 9_000)]
    """Of the description in the prompts of other roles."""
    data_outline: Annotated[int, (400, 4_000)]
    """Of the preview in those prompts."""
    item: Annotated[int, (1_500, 25_000)]
    """Of a notebook, discussion or solution to report on."""
    summary: Annotated[int, (65, 600)]
    """Of a report, in a list of reports."""
    abstract: Annotated[int, (0, 400)]
    """Of a report's code, in a list of reports."""
    suggestion: Annotated[int, (32, 120)]
    """Of one idea of a report."""
    idea: Annotated[int, (65, 400)]
    """Of one idea in memory."""
    solution_code: Annotated[int, (1_200, 12_000)]
    """Of the best solution's code in the prompt for drafts."""
    neighbour: Annotated[int, (12, 30)]
    """Of another attempt's title, and of the goal of its best step."""
    preparation: Annotated[int, (400, 4_000)]
    """Of the cell that fresh drafts share."""
    reports_shown: Annotated[int, (8, 30)]
    ideas_shown: Annotated[int, (14, 80)]
    raw_shown: Annotated[int, (14, 40)]
    """New ideas to filter."""
    solutions_shown: Annotated[int, (3, 8)]
    tried_shown: Annotated[int, (12, 40)]
    parts_shown: Annotated[int, (4, 12)]
    """Of a score's parts by target or block of rows."""
    complements_shown: Annotated[int, (0, 5)]
    """Of what the best solution did not come from."""
    lessons_shown: Annotated[int, (3, 10)]

    @classmethod
    def of(cls, context_tokens: int) -> "Sizes":
        """Return the limits for a context window of `context_tokens`, prompt and reply together."""
        share = min(1.0, context_tokens / _LARGE)
        bounds = ((name, *field.metadata[0]) for name, field in cls.model_fields.items())
        return cls.model_validate({name: max(least, int(share * most)) for name, least, most in bounds})

    @property
    def short(self) -> bool:
        """Whether prompts have their shortest form: no code of reports, ensembles or preparations."""
        return self.abstract < _SHORT


def first_request(
    purpose: Purpose[Any, Any],
    template: str,
    problem: Problem,
    context: ThinkContext,
    **values: object,
) -> ModelRequest:
    """Return the first request of a thought, within the limits of its model's context window."""
    sizes = Sizes.of(context.context_tokens)
    room = {"description": sizes.outline, "preview": sizes.data_outline, "columns": sizes.columns}
    given = {"resources": context.resources, "measured": context.measured}
    values |= {"sizes": sizes, "room": room, **given}
    messages = first_messages(f"{purpose.role}_system", template, problem, context, **values)
    return ModelRequest(role=purpose.role, messages=messages, max_tokens=sizes.thought_reply)


def estimate(spec: CampaignSpec) -> Expected:
    """Return the expected model calls of a campaign whose attempts use all their steps.

    Tokens of a call, and the growth of an attempt's prompt with each step, are those of
    benchmarks/prefix.py and of the recorded campaigns in docs/lab-notes.md.
    """
    rounds, guess = spec.iterations, ""
    if rounds is None:
        minutes = (spec.budget.seconds or spec.attempt_seconds) / 60
        a_round = spec.steps * MINUTES_A_STEP * spec.coders / spec.attempts_at_once()
        rounds, guess = max(1, int(minutes / a_round)), " (a guess from the time)"
    limits = CoMindParameters.model_validate(spec.parameters)
    sampled = limits.notebooks_per_round + limits.discussions_per_round
    solutions = min(spec.coders, limits.solutions_per_round)
    staged = round(rounds * (1 - _one_call_share(spec, limits)))  # rounds of three stages
    read_here = max(0, staged - 1) if spec.community == NONE else max(0, rounds - 1)
    items = rounds * (0 if spec.community == NONE else sampled) + read_here * solutions
    sizes = _sizes(spec, ANALYZE.role)
    read = int(_USED * (sizes.outline + sizes.item))
    shown = int(_USED * (sizes.outline + sizes.data_outline + sizes.reports_shown * sizes.summary))
    once = Usage(prompt_tokens=shown, completion_tokens=_THOUGHT)
    calls = (
        ExpectedCalls(ANALYZE.role, Usage(prompt_tokens=read, completion_tokens=_THOUGHT), items),
        ExpectedCalls(PROPOSE.role, _ideas_usage(spec, once), staged),
        ExpectedCalls(COORDINATE.role, once, rounds),
        ExpectedCalls("coding_agent", _attempt_usage(spec), rounds * spec.coders),
        *_critic_calls(spec, rounds * spec.coders),
    )
    attempts, steps = quantity(spec.coders, "attempt"), quantity(spec.steps, "step")
    return Expected(f"{quantity(rounds, 'round')}{guess} of {attempts}, {steps}", calls)


def _one_call_share(spec: CampaignSpec, limits: CoMindParameters) -> float:
    """Return the share of the time in which a round's ideas and drafts are one call."""
    seconds, most = spec.budget.seconds, 60 * limits.one_call_minutes
    if not seconds:
        return 0.0
    return 1.0 if seconds <= most else min(LATE_SHARE, most / seconds)


def _ideas_usage(spec: CampaignSpec, brainstorm: Usage) -> Usage:
    """Return the usage of a round's ideas; filtering continues the conversation of the brainstorm."""
    parameters = CoMindParameters.model_validate(spec.parameters)
    if not parameters.filtering:
        return brainstorm
    sent = brainstorm.prompt_tokens
    read = Usage(prompt_tokens=sent + _THOUGHT, cached_tokens=int(_CACHED * sent))
    return brainstorm + read + Usage(completion_tokens=_THOUGHT)


def _critic_calls(spec: CampaignSpec, attempts: int) -> tuple[ExpectedCalls, ...]:
    """Return the expected calls of the critic; none without it."""
    known = CoMindParameters.model_validate(spec.parameters)
    if not known.critic:
        return ()
    sizes = _sizes(spec, "critic")
    shown = int(_USED * (sizes.outline + sizes.data_outline + sizes.start_code))
    usage = Usage(prompt_tokens=shown, completion_tokens=_THOUGHT)
    return (ExpectedCalls("critic", usage, min(known.critic_calls, attempts)),)


def _attempt_usage(spec: CampaignSpec) -> Usage:
    sizes = _sizes(spec, "coding_agent")
    cell = max(_CELL, int(_CELL_SHARE * sizes.cell_reply))
    opening = int(_USED * (sizes.description + sizes.preview + sizes.method + sizes.start_code))
    step = cell + int(_USED * sizes.output)
    prompts = [opening + min(sizes.steps, number * step) for number in range(spec.steps + 1)]
    return Usage(
        prompt_tokens=sum(prompts),
        cached_tokens=int(_CACHED * sum(prompts)),
        completion_tokens=(spec.steps + 1) * cell,
    )


def _sizes(spec: CampaignSpec, role: str) -> Sizes:
    settings = spec.models.get(role) or spec.models.get("default") or ModelSettings()
    return Sizes.of(settings.context_tokens or ASSUMED_CONTEXT)

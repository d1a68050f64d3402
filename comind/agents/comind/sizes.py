"""How much fits into the prompts and replies of CoMind's roles, as shares of a model's context."""

from typing import ClassVar

from comind.agents.comind.thoughts import ANALYZE, COORDINATE
from comind.campaign.estimate import Expected, ExpectedCalls
from comind.campaign.events import CampaignSpec
from comind.domain.value import Value
from comind.llm.base import Usage
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings

__all__ = ["Sizes", "estimate"]

_LARGE = 131_072  # tokens of context at which the ceilings are reached
_CACHED = 0.85  # of an attempt's prompts
_USED = 0.5  # of what a prompt may show
_CELL, _CELL_SHARE = 600, 0.1  # tokens of a cell: at least, and of what it may have
_THOUGHT = 800  # tokens of a thought's reply
_THOUGHTS_A_ROUND = 3  # brainstorm, selection, drafts
_MINUTES_A_STEP = 1.5
_MOST_ITEMS = 22  # read in a first round


class Sizes(Value):
    """Limits for one size of context; in tokens, unless a name ends in `_shown`: those are counts.

    Each limit is the ceiling of `_BOUNDS` times the share that the context has of 131,072 tokens, and
    never less than the floor, which is what a model of 8,192 tokens can bear.
    """

    cell_reply: int
    thought_reply: int
    description: int
    """In an attempt's opening, which is sent with every step."""
    preview: int
    method: int
    start_code: int
    output: int
    error: int
    steps: int
    """Of all steps of an attempt together, word for word."""
    outline: int
    """The description where a role thinks about many things beside it."""
    data_outline: int
    """The preview, in the same prompts."""
    item: int
    """One notebook, thread or solution to be reported on."""
    summary: int
    """Of a report, where many reports are shown."""
    abstract: int
    """Of a report's code, in the same place."""
    suggestion: int
    """One idea of a report."""
    idea: int
    """One idea of the team's."""
    solution_code: int
    """The best solution's, where drafts are written."""
    neighbour: int
    """Of another attempt's title, and of what its best step was for."""
    preparation: int
    """The cell that fresh drafts share."""
    reports_shown: int
    ideas_shown: int
    solutions_shown: int
    tried_shown: int
    parts_shown: int
    """Of a score, by target or by block of rows."""
    complements_shown: int
    """What is not in the best solution yet."""

    _BOUNDS: ClassVar[dict[str, tuple[int, int]]] = {
        "cell_reply": (2_000, 16_384),
        "thought_reply": (2_000, 8_192),
        "description": (600, 9_000),
        "preview": (800, 4_000),
        "method": (700, 4_000),
        "start_code": (1_600, 16_000),
        "output": (600, 3_000),
        "error": (500, 2_000),
        "steps": (24_000, 65_536),
        "outline": (400, 9_000),
        "data_outline": (400, 4_000),
        "item": (1_500, 25_000),
        "summary": (65, 600),
        "abstract": (0, 400),
        "suggestion": (32, 120),
        "idea": (65, 400),
        "solution_code": (1_200, 12_000),
        "neighbour": (12, 30),
        "preparation": (400, 4_000),
        "reports_shown": (10, 30),
        "ideas_shown": (20, 80),
        "solutions_shown": (3, 8),
        "tried_shown": (12, 40),
        "parts_shown": (4, 12),
        "complements_shown": (0, 5),
    }

    @classmethod
    def of(cls, context_tokens: int) -> "Sizes":
        """Return the limits for a model that reads `context_tokens`, prompt and reply together."""
        share = min(1.0, context_tokens / _LARGE)
        return cls.model_validate(
            {name: max(least, int(share * most)) for name, (least, most) in cls._BOUNDS.items()}
        )


def estimate(spec: CampaignSpec) -> Expected:
    """Return what a campaign will about ask for if its attempts use all their steps."""
    rounds, guess = spec.iterations, ""
    if rounds is None:
        minutes = (spec.budget.seconds or spec.attempt_seconds) / 60
        rounds, guess = max(1, int(minutes / (spec.steps * _MINUTES_A_STEP))), " (a guess from the time)"
    items = min(spec.notebooks + spec.discussions, _MOST_ITEMS) + spec.coders * (rounds - 1)
    sizes = _sizes(spec, ANALYZE.role)
    read = int(_USED * (sizes.outline + sizes.item))
    shown = int(_USED * (sizes.outline + sizes.data_outline + sizes.reports_shown * sizes.summary))
    calls = (
        ExpectedCalls(ANALYZE.role, Usage(prompt_tokens=read, completion_tokens=_THOUGHT), items),
        ExpectedCalls(
            COORDINATE.role,
            Usage(prompt_tokens=shown, completion_tokens=_THOUGHT),
            rounds * _THOUGHTS_A_ROUND,
        ),
        ExpectedCalls("coding_agent", _attempt(spec), rounds * spec.coders),
    )
    plural = "s" if rounds != 1 else ""
    return Expected(
        f"{rounds} round{plural}{guess} of {spec.coders} attempts, {spec.steps} steps", calls
    )


def _attempt(spec: CampaignSpec) -> Usage:
    """Return what one attempt that uses all its steps will about take."""
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

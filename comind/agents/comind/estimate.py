"""What the rounds of a CoMind campaign will about ask for.

Tokens of one call, and what an attempt's prompt grows by with each step, are those of
benchmarks/prefix.py and of the recorded campaigns in docs/lab-notes.md.
"""

from comind.agents.comind.sizes import Sizes
from comind.agents.comind.thoughts import ANALYZE, COORDINATE
from comind.campaign.log.campaign_events import CampaignSpec
from comind.campaign.reports.call_costs import Expected, ExpectedCalls
from comind.llm.base import Usage
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings

__all__ = ["estimate"]

_CACHED = 0.85  # of an attempt's prompts
_USED = 0.5  # of what a prompt may show
_CELL, _CELL_SHARE = 600, 0.1  # tokens of a cell: at least, and of what it may have
_THOUGHT = 800  # tokens of a thought's reply
_THOUGHTS_A_ROUND = 3  # brainstorm, selection, drafts
_MINUTES_A_STEP = 1.5
_MOST_ITEMS = 22  # read in a first round


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

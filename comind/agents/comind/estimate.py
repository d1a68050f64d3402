"""What the rounds of a CoMind campaign will about ask for.

Tokens of one call, and what an attempt's prompt grows by with each step, are those of
benchmarks/prefix.py and of the recorded campaigns in docs/lab-notes.md.
"""

from comind.agents.comind.history import MOST_TOKENS
from comind.agents.comind.thoughts import ANALYZE
from comind.campaign.estimate import Expected, ExpectedCalls
from comind.campaign.events import CampaignSpec
from comind.llm.base import Usage

__all__ = ["estimate"]

_THOUGHT = Usage(prompt_tokens=2_500, completion_tokens=800)
_OPENING, _A_STEP, _REPLY = 2_500, 900, 600
_CACHED = 0.85  # of an attempt's prompts
_ITEMS_A_ROUND = 7  # read by the analyzer
_THOUGHTS_A_ROUND = 3  # brainstorm, selection, drafts
_MINUTES_A_STEP = 1.5


def estimate(spec: CampaignSpec) -> Expected:
    """Return what a campaign will about ask for if its attempts use all their steps."""
    rounds, guess = spec.iterations, ""
    if rounds is None:
        minutes = (spec.budget.seconds or spec.attempt_seconds) / 60
        rounds, guess = max(1, int(minutes / (spec.steps * _MINUTES_A_STEP))), " (a guess from the time)"
    items = _ITEMS_A_ROUND if spec.notebooks + spec.discussions else spec.coders
    prompts = [_OPENING + min(MOST_TOKENS, step * _A_STEP) for step in range(spec.steps + 1)]
    attempt = Usage(
        prompt_tokens=sum(prompts),
        cached_tokens=int(_CACHED * sum(prompts)),
        completion_tokens=(spec.steps + 1) * _REPLY,
    )
    calls = (
        ExpectedCalls(ANALYZE.role, _THOUGHT, rounds * (items + _THOUGHTS_A_ROUND)),
        ExpectedCalls("coding_agent", attempt, rounds * spec.coders),
    )
    plural = "s" if rounds != 1 else ""
    return Expected(
        f"{rounds} round{plural}{guess} of {spec.coders} attempts, {spec.steps} steps", calls
    )

"""What a campaign will take, told before it starts."""

from collections.abc import Callable
from typing import NamedTuple

from comind.campaign.events import CampaignSpec
from comind.llm.base import Usage

__all__ = ["Estimate", "estimate_of", "told"]

# Tokens of prompt and reply of one call, and what an attempt's prompt grows by with each step; from
# benchmarks/prefix.py and the recorded campaigns of docs/lab-notes.md.
_THOUGHT = Usage(prompt_tokens=2_500, completion_tokens=800)
_OPENING, _A_STEP, _REPLY = 2_500, 900, 600
_CACHED = 0.85  # of an attempt's prompts
_ITEMS_A_ROUND = 7  # read by the analyzer
_THOUGHTS_A_ROUND = 3  # brainstorm, selection, drafts
_MINUTES_A_STEP = 1.5


class Estimate(NamedTuple):
    """What one round, or all of them, will about take."""

    rounds: int
    attempts: int
    usage: Usage
    usd: float | None
    """None where the price is not known."""
    from_time: bool
    """Whether the number of rounds is a guess from the time."""


def estimate_of(
    spec: CampaignSpec, price: Callable[[str, Usage], float | None], *, most_history: int
) -> Estimate:
    """Return about what a campaign will take if its attempts use all their steps.

    Args:
        spec: what the user asked for.
        price: of a role's call, in dollars.
        most_history: tokens at which the steps of an attempt are compacted.
    """
    steps, from_time = spec.steps, spec.iterations is None
    rounds = spec.iterations
    if rounds is None:
        minutes = (spec.budget.seconds or spec.attempt_seconds) / 60
        rounds = max(1, int(minutes / (steps * _MINUTES_A_STEP)))
    items = _ITEMS_A_ROUND if spec.notebooks + spec.discussions else spec.coders
    thoughts = rounds * (items + _THOUGHTS_A_ROUND)
    attempts = rounds * spec.coders
    prompts = [_OPENING + min(most_history, step * _A_STEP) for step in range(steps + 1)]
    attempt = Usage(
        prompt_tokens=sum(prompts),
        cached_tokens=int(_CACHED * sum(prompts)),
        completion_tokens=(steps + 1) * _REPLY,
    )
    parts = [("analyze", _THOUGHT, thoughts), ("coding_agent", attempt, attempts)]
    usage, usd = Usage(), 0.0
    known = True
    for role, each, times in parts:
        dollars = price(role, each)
        known = known and dollars is not None
        usd += times * (dollars or 0.0)
        usage = Usage(
            prompt_tokens=usage.prompt_tokens + times * each.prompt_tokens,
            cached_tokens=usage.cached_tokens + times * each.cached_tokens,
            completion_tokens=usage.completion_tokens + times * each.completion_tokens,
        )
    return Estimate(rounds, attempts, usage, usd if known else None, from_time)


def told(estimate: Estimate, spec: CampaignSpec) -> str:
    """Return the estimate in one line."""
    rounds = f"{estimate.rounds} round{'s' if estimate.rounds != 1 else ''}"
    tokens = f"{_round(estimate.usage.prompt_tokens)} tokens read, "
    tokens += f"{_round(estimate.usage.completion_tokens)} written"
    usd = "price unknown" if estimate.usd is None else f"about ${estimate.usd:.2f}"
    guess = " (a guess from the time)" if estimate.from_time else ""
    limits = []
    if spec.budget.usd is not None:
        limits.append(f"${spec.budget.usd:g}")
    if spec.budget.tokens is not None:
        limits.append(f"{_round(spec.budget.tokens)} tokens")
    most = f", never more than {' or '.join(limits)}" if limits else ""
    return f"{rounds}{guess} of {spec.coders} attempts, {spec.steps} steps: {tokens}, {usd}{most}"


def _round(tokens: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {letter}"
    return str(tokens)

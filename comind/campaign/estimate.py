"""Estimate what a campaign will take before it starts, from the calls that its agent expects to make."""

from collections.abc import Callable
from typing import NamedTuple

from comind.domain.spend import Budget
from comind.llm.base import Usage

__all__ = ["Estimate", "Expected", "ExpectedCalls", "estimate_of", "summary"]


class ExpectedCalls(NamedTuple):
    """Calls of one role that are about alike."""

    role: str
    usage: Usage
    """Of one call, or of one conversation."""
    times: int


class Expected(NamedTuple):
    """What an agent expects to ask for."""

    plan: str
    """In words, such as `2 rounds of 4 attempts, 30 steps`."""
    calls: tuple[ExpectedCalls, ...]


class Estimate(NamedTuple):
    """What a campaign will about take."""

    usage: Usage
    usd: float | None
    """None where a price is not known."""


def estimate_of(expected: Expected, price: Callable[[str, Usage], float | None]) -> Estimate:
    """Return about what a campaign will take if its attempts use all their steps.

    `price` gives the dollars of a role's call; None where that is not known.
    """
    dollars = [price(each.role, each.usage) for each in expected.calls]
    counts = {
        name: sum(each.times * getattr(each.usage, name) for each in expected.calls)
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens")
    }
    known = [
        usd * each.times for usd, each in zip(dollars, expected.calls, strict=True) if usd is not None
    ]
    return Estimate(Usage(**counts), sum(known) if len(known) == len(dollars) else None)


def summary(expected: Expected, estimate: Estimate, budget: Budget) -> str:
    """Return the estimate in one line, with the limits that are never passed."""
    tokens = f"{_round(estimate.usage.prompt_tokens)} tokens read, "
    tokens += f"{_round(estimate.usage.completion_tokens)} written"
    usd = "price unknown" if estimate.usd is None else f"about ${estimate.usd:.2f}"
    limits = [] if budget.usd is None else [f"${budget.usd:g}"]
    if budget.tokens is not None:
        limits.append(f"{_round(budget.tokens)} tokens")
    most = f", never more than {' or '.join(limits)}" if limits else ""
    return f"{expected.plan}: {tokens}, {usd}{most}"


def _round(tokens: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {letter}"
    return str(tokens)

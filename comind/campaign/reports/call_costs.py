"""Estimate what model calls will cost before a campaign starts, and sum up what they did cost.

A call whose reply reports a plausible token count is charged at that count. All others (broken off,
without a plausible count, or in flight when their process was killed) are charged at their bound: a
token for each byte sent, the longest reply allowed, at the full price.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.work_state import Call
from comind.domain.spend import Budget, Spend
from comind.llm.model_ports import Usage


class ExpectedCalls(NamedTuple):
    """Similar calls of one role."""

    role: str
    usage: Usage
    """Of one call, or of one conversation."""
    times: int


class Estimate(NamedTuple):
    """Estimated usage and cost of a campaign."""

    usage: Usage
    usd: float | None
    """None if a price is unknown."""


MINUTES_A_STEP = 1.5
"""Of a cell or program that a model wrote, with the model's reply."""


def expected_programs(spec: CampaignSpec, most: int | None) -> tuple[int, str]:
    """Return how many programs of one step an agent may run, and that it is a guess where it is one."""
    limits = [limit for limit in (most, spec.evaluations) if limit is not None]
    if limits:
        return min(limits), ""
    minutes = spec.attempts_at_once() * (spec.budget.seconds or spec.attempt_seconds) / 60
    return max(1, int(minutes / MINUTES_A_STEP)), " (a guess from the time)"


class Expected(NamedTuple):
    """The calls that an agent expects to make."""

    plan: str
    """In words, such as `2 rounds of 4 attempts, 30 steps`."""
    calls: tuple[ExpectedCalls, ...]

    def estimate(self, price: Callable[[str, Usage], float | None]) -> Estimate:
        """Estimate the usage and cost of a campaign whose attempts use all their steps.

        `price` returns the dollars of a role's call; None if unknown.
        """
        usage, usd = Usage(), list[float]()
        for role, once, times in self.calls:
            usage += once * times
            dollars = price(role, once)
            if dollars is not None:
                usd.append(dollars * times)
        return Estimate(usage, sum(usd) if len(usd) == len(self.calls) else None)

    def summary(self, estimate: Estimate, budget: Budget) -> str:
        """Return the plan and its estimate in one line, with the budget's limits."""
        read, written = map(_round, (estimate.usage.prompt_tokens, estimate.usage.completion_tokens))
        usd = "price unknown" if estimate.usd is None else f"about ${estimate.usd:.2f}"
        limits = [] if budget.usd is None else [f"${budget.usd:g}"]
        if budget.tokens is not None:
            limits.append(f"{_round(budget.tokens)} tokens")
        most = f", never more than {' or '.join(limits)}" if limits else ""
        return f"{self.plan}: {read} tokens read, {written} written, {usd}{most}"


def _round(tokens: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {letter}"
    return str(tokens)


def spend_by_role(calls: Iterable[Call]) -> dict[str, Spend]:
    """Sum up the calls that have ended, by role, in order of appearance."""
    found: dict[str, Spend] = {}
    for call in calls:
        if call.ended is not None:
            found[call.role] = found.get(call.role, Spend()) + call.spend
    return found


_COLUMNS = [name for name in Spend.model_fields if name not in ("seconds", "calls")]


def calls_csv(calls: Mapping[str, Iterable[Call]]) -> str:
    """Return calls by work id as CSV, a line for each call that has ended."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["work", "call", "role", "model", *_COLUMNS])
    for work_id, mine in calls.items():
        for call in mine:
            if call.ended is not None:
                spend = call.spend.model_dump()
                row = [round(spend[name], 9) for name in _COLUMNS]
                table.writerow([work_id, call.number, call.role, call.model, *row])
    return text.getvalue()

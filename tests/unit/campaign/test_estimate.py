"""The estimate before the start: one line, from the plan alone."""

from comind.campaign.estimate import estimate_of, told
from comind.domain.spend import Budget
from comind.llm.base import Usage
from comind.llm.prices import price_of
from tests.unit.campaign.samples import spec


def test_the_estimate_follows_from_the_plan() -> None:
    """Twice the coders take twice the attempts' tokens; what is cached is priced as such."""
    small = spec(iterations=1, coders=2, steps=10, notebooks=10)
    large = small.model_copy(update={"coders": 4})
    free = lambda role, usage: 0.0  # noqa: E731
    one, other = (estimate_of(each, free, most_history=24_000) for each in (small, large))
    assert (one.attempts, other.attempts) == (2, 4)
    assert one.usage.prompt_tokens < other.usage.prompt_tokens < 2 * one.usage.prompt_tokens
    assert 0 < one.usage.cached_tokens < one.usage.prompt_tokens


def test_it_is_told_in_one_line() -> None:
    """Rounds, attempts, tokens, dollars and the limit that is never passed."""
    campaign = spec(iterations=2, coders=2, steps=10, budget=Budget(seconds=3600, usd=5.0))

    def price(role: str, usage: Usage) -> float | None:
        return price_of("gpt-5-mini", usage)

    line = told(estimate_of(campaign, price, most_history=24_000), campaign)
    assert line.startswith("2 rounds of 2 attempts, 10 steps: ")
    assert line.endswith(", never more than $5")
    assert "about $0." in line
    assert "\n" not in line


def test_what_is_not_known_is_said() -> None:
    """Without a price there is none; without a number of rounds it is a guess."""
    campaign = spec(iterations=None, steps=10)
    line = told(estimate_of(campaign, lambda role, usage: None, most_history=24_000), campaign)
    assert "price unknown" in line
    assert "a guess from the time" in line

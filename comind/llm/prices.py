"""What models cost and how much they read, known offline; the one module that knows the price list."""

from comind.llm.base import Usage
from comind.llm.settings import Price

__all__ = ["known_context", "known_price", "price_of", "priced"]

_MILLION = 1_000_000


def price_of(model: str, usage: Usage, price: Price | None = None) -> float | None:
    """Return the price of a call in dollars, or None for a model that the list does not have.

    `price` stands in place of the list's; `model` is its name at its provider.
    """
    if price is not None:
        cached = price.prompt if price.cached is None else price.cached
        fresh = usage.prompt_tokens - usage.cached_tokens
        dollars = fresh * price.prompt + usage.cached_tokens * cached
        return (dollars + usage.completion_tokens * price.completion) / _MILLION
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    priced = PricedUsage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cached_tokens,
        output_tokens=usage.completion_tokens,
    )
    try:
        return float(calc_price(priced, model_ref=model).total_price)
    except LookupError:
        return None


def priced(model: str, usage: Usage, price: Price | None) -> Usage:
    """Return a usage with its price; 0 where that is not known."""
    return usage.model_copy(update={"usd": price_of(model, usage, price) or 0.0})


def known_price(model: str, price: Price | None = None) -> bool:
    """Say whether calls to `model` can be priced."""
    sample = Usage(prompt_tokens=1000, completion_tokens=1000)
    return price_of(model, sample, price) is not None


def known_context(model: str) -> int | None:
    """Return how many tokens a model reads, or None where the list does not say."""
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    try:
        found = calc_price(PricedUsage(input_tokens=1), model_ref=model).model.context_window
    except LookupError:
        return None
    return found if isinstance(found, int) else None

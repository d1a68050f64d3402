"""What models cost, known offline; the one module that knows the price list."""

from comind.llm.base import Usage

__all__ = ["known_price", "price_of"]


def price_of(model: str, usage: Usage) -> float | None:
    """Return the price of a call in dollars, or None for a model that the list does not have."""
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


def known_price(model: str) -> bool:
    """Say whether calls to `model` can be priced."""
    return price_of(model, Usage(prompt_tokens=1000, completion_tokens=1000)) is not None

"""Bound, verify and price the tokens of a call; the one module that imports genai_prices."""

from collections.abc import Sequence

from comind.llm.model_ports import Message, ModelRequest, Usage
from comind.llm.settings import Price
from comind.llm.tokens import max_image_tokens

_MILLION = 1_000_000
# A token is at least one byte of text. What a server adds (roles, its template, a schema turned into a
# grammar or a prompt) is covered by the two allowances and by counting the schema.
_MESSAGE_ALLOWANCE = 16
_PROMPT_ALLOWANCE = 256
_LONGEST_TOKEN = 64  # bytes of text in one token, on the average of a whole prompt or reply


def max_usage(
    messages: Sequence[Message], request: ModelRequest, model: str, context_tokens: int | None
) -> Usage:
    """Return an upper bound on the tokens of one attempt at `request`, sent as `messages`.

    Images raise it at most to the context window, where that is known.
    """
    text = sum(len(message.content.encode()) + _MESSAGE_ALLOWANCE for message in messages)
    text += len(str(request.reply_schema).encode()) + _PROMPT_ALLOWANCE
    images = sum(max_image_tokens(message.images, model) for message in messages)
    prompt = text + images
    if context_tokens is not None:
        prompt = min(prompt, max(text, context_tokens))
    return Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens)


def plausible_usage(counts: dict[str, int] | None, bound: Usage, sent: int, text: str) -> Usage | None:
    """Return the token counts of a server, or None where they cannot be true.

    Args:
        counts: by field of `Usage`; missing ones count as 0.
        bound: upper bound of the call.
        sent: bytes of the prompt.
        text: the completion.
    """
    if counts is None or min(counts.values()) < 0:
        return None
    usage = Usage.model_validate(counts)
    possible = (
        sent // _LONGEST_TOKEN <= usage.prompt_tokens <= bound.prompt_tokens
        and len(text.encode()) // _LONGEST_TOKEN <= usage.completion_tokens <= bound.completion_tokens
        and usage.cached_tokens <= usage.prompt_tokens
        and usage.reasoning_tokens <= usage.completion_tokens
    )
    return usage if possible else None


def with_price(model: str, usage: Usage, price: Price | None) -> Usage:
    """Return a usage with its price in dollars; 0 where that is unknown."""
    return usage.model_copy(update={"usd": price_of(model, usage, price) or 0.0})


def known_price(model: str, price: Price | None = None) -> bool:
    """Return whether calls to `model` can be priced."""
    sample = Usage(prompt_tokens=1000, completion_tokens=1000)
    return price_of(model, sample, price) is not None


def costs_money(model: str, price: Price | None = None) -> bool:
    """Return whether calls to `model` have a known price above zero."""
    return bool(price_of(model, Usage(prompt_tokens=1000, completion_tokens=1000), price))


def known_context(model: str) -> int | None:
    """Return the context window of a model in tokens, None where the price list has none."""
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    try:
        found = calc_price(PricedUsage(input_tokens=1), model_ref=model).model.context_window
    except LookupError:
        return None
    return found if isinstance(found, int) else None


def price_of(model: str, usage: Usage, price: Price | None) -> float | None:
    """Return the price of a call; `price` overrides the list's, None: the list does not have `model`."""
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

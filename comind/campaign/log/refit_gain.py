"""Estimate what a program gains from all labelled rows, and whether that is worth the time.

The error of a program falls with its training rows n about as n to the power of -b (learning curves,
https://arxiv.org/abs/1712.00409). A campaign's log has no score of one program on two numbers of rows,
so b is a typical value by the number of rows: the more there are, the less more of them give.
"""

from comind.domain.metric import ValidationScore

_EXPONENTS = ((1_000, 0.3), (10_000, 0.2), (100_000, 0.1))  # up to so many training rows
_LEAST_EXPONENT = 0.05  # with more
_LONG = 1 / 3  # of the campaign's time; a quicker refit needs no gain that could be measured


def expected_gain(score: ValidationScore, train_rows: int, added_rows: int) -> float:
    """Return the gain to expect when `added_rows` join the training rows, in units of the metric.

    Of a score between 0 and 1 where more is better the error is the distance to 1, of others the score.
    """
    value = score.value.value
    error = 1 - value if score.value.maximize and 0 <= value <= 1 else abs(value)
    exponent = next((each for most, each in _EXPONENTS if train_rows <= most), _LEAST_EXPONENT)
    return float(error * (1 - (1 + added_rows / train_rows) ** -exponent))


def not_worth_it(
    score: ValidationScore | None, train_rows: int, added_rows: int, *, seconds: float, limit: float
) -> str:
    """Return why a refit of `seconds` is not begun in a campaign of `limit` seconds; empty if it is.

    It is not where it takes more than a third of the time and the gain to expect is below the noise of
    the validation score. Where the training rows are unknown (0, older logs), it is.
    """
    if score is None or not train_rows or seconds <= _LONG * limit:
        return ""
    gain, noise = expected_gain(score, train_rows, added_rows), score.interval.standard_error
    if gain >= noise:
        return ""
    return (
        f"it takes about {seconds:.0f} s, {seconds / limit:.0%} of the campaign's time, and the gain to "
        f"expect, {gain:.2g}, is below the standard error of the validation score, {noise:.2g}"
    )

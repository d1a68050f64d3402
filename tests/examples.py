"""Number of examples that Hypothesis draws for one property test."""

from hypothesis import settings

__all__ = ["examples"]

_USUAL = 25


def examples(count: int) -> settings:
    """Return settings with `count` examples, and with twenty times as many in the profile `long`.

    Tests without this decorator draw the number of their profile (tests/conftest.py): 25, or 500.
    """
    return settings(max_examples=count * settings().max_examples // _USUAL)

"""Number of examples that Hypothesis draws for one property test."""

from hypothesis import settings

__all__ = ["examples"]

_USUAL = 25


def examples(count: int) -> settings:
    """Return settings with `count` examples in `make test`, and twenty times as many in `make torture`.

    The profiles of tests/conftest.py have 25 and 500; tests without this decorator draw as many.
    """
    return settings(max_examples=count * settings().max_examples // _USUAL)

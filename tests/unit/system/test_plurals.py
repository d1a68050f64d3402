"""Counts with their nouns."""

import pytest

from comind.system.plurals import quantity


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 folds"), (1, "1 fold"), (2000, "2,000 folds"), (0.5, "0.5 folds"), (1.0, "1 fold")],
)
def test_only_one_takes_the_singular(count: float, shown: str) -> None:
    """A count of one has the noun in the singular, any other in the plural."""
    assert quantity(count, "fold") == shown

"""How many rounds a model of boosting runs: as its settings say, else as many as are affordable."""

from typing import Any

from comind.baseline.recipes.kind import Fold

__all__ = ["PATIENCE", "rounds_for", "without_rounds"]

PATIENCE = 30  # rounds without a gain on the rows that are held out


def without_rounds(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that the library itself takes."""
    return {name: value for name, value in settings.items() if name != "rounds"}


def rounds_for(fold: Fold, settings: dict[str, Any]) -> int:
    """Return the rounds that were found; before, the most: many rows and classes get fewer."""
    if "rounds" in settings:
        return int(settings["rounds"])
    a_round = len(fold.y) * max(1, len(fold.goal.classes) if len(fold.goal.classes) > 2 else 1)
    return int(min(max(2e8 / a_round, 100), 1000))

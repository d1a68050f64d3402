"""Compute the number of boosting rounds: from the settings, else what is affordable."""

from typing import Any

from comind.baseline.recipes.kind import Fold

PATIENCE = 30  # early-stopping rounds


def without_rounds(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the library's own settings."""
    return {name: value for name, value in settings.items() if name != "rounds"}


def rounds_for(fold: Fold, settings: dict[str, Any]) -> int:
    """Return the rounds in the settings, else an upper limit, lower for many rows and classes."""
    if "rounds" in settings:
        return int(settings["rounds"])
    a_round = len(fold.y) * max(1, len(fold.goal.classes) if len(fold.goal.classes) > 2 else 1)
    return int(min(max(2e8 / a_round, 100), 1000))

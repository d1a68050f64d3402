"""Draw settings from a space: at random, and every second time near the best ones so far."""

from typing import Any

import numpy as np

__all__ = ["Sampler"]

NEAR = 0.15  # of a setting's range: the standard deviation around the best one
KEPT = 0.7  # the share of choices that stay as they are in the best settings


class Sampler:
    """Proposes settings, and learns which were the best."""

    def __init__(self, space: dict[str, tuple[Any, ...]], seed: int, best: dict[str, Any]) -> None:
        self.space = space
        self.draw = np.random.default_rng(seed)
        self.best = best
        self.asked = 0

    def ask(self) -> dict[str, Any]:
        """Return settings to try."""
        self.asked += 1
        near = self.asked % 2 == 1
        return {name: self.drawn(name, *how, near=near) for name, how in self.space.items()}

    def drawn(self, name: str, how: str, *values: Any, near: bool) -> Any:
        """Return one value, near the best one or anywhere."""
        if how == "one of":
            keep = near and self.draw.random() < KEPT
            return self.best[name] if keep else values[int(self.draw.integers(len(values)))]
        low, high = values if how == "even" else np.log(values)
        if near:
            middle = self.best[name] if how == "even" else np.log(self.best[name])
            found = float(np.clip(self.draw.normal(middle, NEAR * (high - low)), low, high))
        else:
            found = float(self.draw.uniform(low, high))
        if how == "even":
            return found
        return round(np.exp(found)) if how == "whole" else float(np.exp(found))

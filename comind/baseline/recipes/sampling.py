"""Sample hyperparameters: at random, and every second time near the best ones so far."""

from typing import Any

import numpy as np

PROPOSAL_STD = 0.15  # standard deviation around the best value, relative to the range
KEEP_PROBABILITY = 0.7  # probability of keeping the best choice


class Sampler:
    """Proposes hyperparameters; the caller records the best ones in `best`."""

    def __init__(self, space: dict[str, tuple[Any, ...]], seed: int, best: dict[str, Any]) -> None:
        self.space = space
        self.draw = np.random.default_rng(seed)
        self.best = best
        self.asked = 0

    def ask(self) -> dict[str, Any]:
        """Return hyperparameters to evaluate."""
        self.asked += 1
        near = self.asked % 2 == 1
        return {name: self.drawn(name, *how, near=near) for name, how in self.space.items()}

    def drawn(self, name: str, how: str, *values: Any, near: bool) -> Any:
        """Return one value, near the best one or uniform over the range."""
        if how == "choice":
            keep = near and self.draw.random() < KEEP_PROBABILITY
            return self.best[name] if keep else values[int(self.draw.integers(len(values)))]
        low, high = values if how == "uniform" else np.log(values)
        if near:
            middle = self.best[name] if how == "uniform" else np.log(self.best[name])
            found = float(np.clip(self.draw.normal(middle, PROPOSAL_STD * (high - low)), low, high))
        else:
            found = float(self.draw.uniform(low, high))
        if how == "uniform":
            return found
        return round(np.exp(found)) if how == "log-int" else float(np.exp(found))

"""Draw settings from a space: by Optuna where it is there, else at random."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["Sampler"]


class Sampler:
    """Proposes settings, and learns from what they gave."""

    def __init__(self, space: dict[str, tuple[Any, ...]], seed: int) -> None:
        self.space = space
        self.draw = np.random.default_rng(seed)
        self.study: Any = None
        if find_spec("optuna"):
            optuna = import_module("optuna")
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            first = optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
            self.study = optuna.create_study(sampler=first)
            self.trial: Any = None

    def ask(self) -> dict[str, Any]:
        """Return settings to try."""
        if self.study is None:
            return {name: self.drawn(*how) for name, how in self.space.items()}
        self.trial = self.study.ask()
        return {name: self.suggested(name, *how) for name, how in self.space.items()}

    def tell(self, loss: float) -> None:
        """Take in the loss of the settings that were asked for last."""
        if self.study is not None:
            self.study.tell(self.trial, loss)

    def drawn(self, how: str, *values: Any) -> Any:
        """Return one value at random."""
        if how == "one of":
            return values[int(self.draw.integers(len(values)))]
        low, high = values
        if how == "even":
            return float(self.draw.uniform(low, high))
        found = float(np.exp(self.draw.uniform(np.log(low), np.log(high))))
        return round(found) if how == "whole" else found

    def suggested(self, name: str, how: str, *values: Any) -> Any:
        """Return one value of Optuna's."""
        if how == "one of":
            return self.trial.suggest_categorical(name, values)
        if how == "whole":
            return self.trial.suggest_int(name, *values, log=True)
        return self.trial.suggest_float(name, *values, log=how == "log")

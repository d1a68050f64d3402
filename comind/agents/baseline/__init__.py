"""The agent of `--model offline`: it searches hyperparameters of established libraries.

What to try next, and how an attempt carries it out, belongs here; the programs belong to
comind.baseline.
"""

from comind.agents.baseline.hyperparameter_search import BaselineAgent

__all__ = ["BaselineAgent"]

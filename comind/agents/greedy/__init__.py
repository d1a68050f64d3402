"""Greedy refinement: a model writes better and better versions of its best program (docs/greedy.md).

Prompts are files in `prompts/`.
"""

from comind.agents.greedy.greedy import Greedy

__all__ = ["Greedy"]

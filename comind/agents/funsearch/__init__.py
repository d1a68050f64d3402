"""FunSearch: a model writes next versions of programs that live on islands (docs/funsearch.md).

    funsearch.py   the agent
    islands.py     the database: which programs an island has, and which of them a model sees

Prompts are files in `prompts/`.
"""

from comind.agents.funsearch.funsearch import FunSearch

__all__ = ["FunSearch"]

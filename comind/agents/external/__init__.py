"""A program of others as an agent: it runs once in a sandbox, and hands in a file (docs/external.md).

The task it reads and the cells that run it are files in `prompts/`.
"""

from comind.agents.external.external import External

__all__ = ["External"]

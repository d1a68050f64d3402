"""CoMind: a community of roles around a shared pool of solutions.

`agent` plans; each role has a module, and its prompts are files in `prompts/`.
"""

from comind.agents.comind.agent import CoMind

__all__ = ["CoMind"]

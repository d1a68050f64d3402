"""The smallest agent: what `--model offline` runs, a search for the settings of well-kept libraries.

Here belongs what is tried next, and how an attempt carries it out. The programs themselves do not:
they are comind.baseline's.
"""

from comind.agents.baseline.agent import BaselineAgent

__all__ = ["BaselineAgent"]

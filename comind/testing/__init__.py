"""Doubles and tiny examples, for our tests and for anyone who builds an agent.

ScriptedModel       replies from a list or a function
ScriptedSession     cells as Python functions
ThreadExecutor      carries out work in threads, without Prefect
TinyAgent           the smallest agent that improves on a baseline
"""

from comind.testing.agent import TinyAgent
from comind.testing.executor import ThreadExecutor
from comind.testing.grader import ColumnGrader
from comind.testing.model import ScriptedModel
from comind.testing.session import ScriptedSession

__all__ = ["ColumnGrader", "ScriptedModel", "ScriptedSession", "ThreadExecutor", "TinyAgent"]

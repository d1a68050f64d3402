"""Test doubles for authors of agents, and for our own tests.

ScriptedModel     replies from a list or a function
ScriptedEmbedder  word counts as embeddings
ScriptedSession   cells as Python functions
ThreadExecutor    executes work in threads, without Prefect
TinyAgent         the smallest agent that improves on a baseline
"""

from comind.testing.embedder import ScriptedEmbedder
from comind.testing.executor import ThreadExecutor
from comind.testing.grader import ColumnGrader
from comind.testing.model import ScriptedModel
from comind.testing.session import ScriptedSession
from comind.testing.tiny_agent import TinyAgent

__all__ = [
    "ColumnGrader",
    "ScriptedEmbedder",
    "ScriptedModel",
    "ScriptedSession",
    "ThreadExecutor",
    "TinyAgent",
]

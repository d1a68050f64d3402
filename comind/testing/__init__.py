"""Test doubles, for our tests and for authors of agents.

ScriptedModel       replies from a list or a function
ScriptedEmbedder    word counts as embeddings
RecordedReplies     replies replayed from logs
Endpoint            an OpenAI-compatible HTTP server with injected faults and its own token counts
QuickClock          a clock on which every wait returns at once
ScriptedSession     cells as Python functions
ScriptedNeighbours  the progress of other attempts as a list
ThreadExecutor      executes work in threads, without Prefect
TinyAgent           the smallest agent that improves on a baseline
"""

from comind.testing.agent import TinyAgent
from comind.testing.clock import QuickClock
from comind.testing.embedder import ScriptedEmbedder
from comind.testing.endpoint import Endpoint
from comind.testing.executor import ThreadExecutor
from comind.testing.grader import ColumnGrader
from comind.testing.model import ScriptedModel
from comind.testing.neighbours import ScriptedNeighbours
from comind.testing.recorded import RecordedReplies
from comind.testing.session import ScriptedSession

__all__ = [
    "ColumnGrader",
    "Endpoint",
    "QuickClock",
    "RecordedReplies",
    "ScriptedEmbedder",
    "ScriptedModel",
    "ScriptedNeighbours",
    "ScriptedSession",
    "ThreadExecutor",
    "TinyAgent",
]

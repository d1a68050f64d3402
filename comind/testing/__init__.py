"""Doubles and tiny examples, for our tests and for anyone who builds an agent.

ScriptedModel       replies from a list or a function
ScriptedEmbedder    vectors of the words in a text
RecordedReplies     replies from the logs of earlier work
Endpoint            an OpenAI-compatible HTTP server that errs on command and keeps its own count
QuickClock          time that passes at once
ScriptedSession     cells as Python functions
ScriptedNeighbours  what other attempts have come to, as a list of readings
ThreadExecutor      carries out work in threads, without Prefect
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

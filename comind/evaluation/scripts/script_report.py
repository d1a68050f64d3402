"""What an evaluator that a model wrote says."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from comind.domain.value import Value
from comind.errors import ReplyError

__all__ = ["EVALUATE", "SPLIT", "EvaluationFunction", "ScriptCheckError", "ScriptReport"]

SPLIT = "split_dataset.py"
EVALUATE = "evaluate.py"


class ScriptCheckError(ReplyError):
    """A program that a model wrote fails a check; the message names it and goes back to the model."""

    kind: ClassVar[str] = "script-check"


class ScriptReport(Value):
    """The answer of `evaluate.py` to one prediction file, in the form of the paper's appendix I.4."""

    score: float | None
    success: bool
    message: str = ""


class EvaluationFunction(Protocol):
    """Runs `evaluate.py`, each time in a fresh sandbox that ends with it."""

    def __call__(self, answers: Sequence[bytes], predictions: Sequence[bytes]) -> list[ScriptReport]:
        """Return a report for each pair of an answers file and a prediction file."""
        ...

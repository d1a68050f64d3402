"""The report of a generated `evaluate.py`."""

from typing import ClassVar

from comind.domain.value import Value
from comind.errors import ReplyError

__all__ = ["EVALUATE", "SPLIT", "ScriptCheckError", "ScriptReport"]

SPLIT = "split_dataset.py"
EVALUATE = "evaluate.py"


class ScriptCheckError(ReplyError):
    """A generated program fails a check; the message names the check and goes into the repair prompt."""

    kind: ClassVar[str] = "script-check"


class ScriptReport(Value):
    """The report of `evaluate.py` on one prediction file, as in the paper's appendix I.4."""

    score: float | None
    success: bool
    message: str = ""

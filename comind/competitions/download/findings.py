"""Define what was inferred about a download, as lines for people, and what only the user can decide."""

from comind.domain.value import Value
from comind.errors import CompetitionError


class Question(Value):
    """A value of competition.yaml that the files do not decide."""

    key: str
    text: str
    choices: tuple[str, ...]
    """The likeliest values, best first."""
    several: bool = False
    """Whether the value is a list."""


class Finding(Value):
    """One inferred fact: a short topic, such as `train`, and what was found, with its evidence."""

    topic: str
    text: str
    question: Question | None = None
    """What the user has to decide here; None if the fact is certain."""

    def line(self) -> str:
        """Return the fact as one line of the report."""
        mark = "" if self.question is None else "NOT CERTAIN: "
        return f"  {self.topic:<10} {mark}{self.text}"


class OpenQuestionError(CompetitionError):
    """A download cannot be arranged before the user has decided something."""

    def __init__(self, message: str, question: Question, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.question = question

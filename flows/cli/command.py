"""What a command answers: values for a program, text for a person, an exit code for a script."""

from dataclasses import dataclass, field
from typing import Any

from comind.errors import ComindError

__all__ = ["CommandError", "CommandResult"]


@dataclass
class CommandResult:
    """The outcome of a command; with an error, `values` hold whatever is known all the same."""

    values: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    error: ComindError | None = None
    told: bool = False
    """Whether it was said while the command ran, on the `stdout` of its arguments."""

    @property
    def exit_code(self) -> int:
        """0, or what the error stands for."""
        return 0 if self.error is None else self.error.exit_code

    @classmethod
    def failure(
        cls, error: ComindError, known: dict[str, Any] | None = None, text: str = ""
    ) -> "CommandResult":
        """Return the answer to a command that failed, with what is known and told all the same."""
        told = {"kind": error.kind, "message": str(error), "hint": error.hint}
        return cls(values={"error": told, **(known or {})}, text=text, error=error)


class CommandError(Exception):
    """A command failed but has something to show for it."""

    def __init__(self, answer: CommandResult) -> None:
        super().__init__(str(answer.error))
        self.answer = answer

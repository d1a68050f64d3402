"""Results of commands: values for programs, text for people, an exit code for scripts."""

from dataclasses import dataclass, field
from typing import Any

from comind.errors import ComindError

resume_with = ""
"""The command that continues what this process runs; the signal handler prints it."""


@dataclass
class CommandResult:
    """The outcome of a command; after an error, `values` hold what is known."""

    values: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    error: ComindError | None = None
    printed: bool = False
    """Whether the command itself has printed its result on the `stdout` of its arguments."""

    @property
    def exit_code(self) -> int:
        """0, or the error's code."""
        return 0 if self.error is None else self.error.exit_code

    @classmethod
    def failure(
        cls, error: ComindError, known: dict[str, Any] | None = None, text: str = ""
    ) -> "CommandResult":
        """Return the result of a command that failed; `known` and `text` are printed as well."""
        described = {"kind": error.error_code, "message": str(error), "hint": error.hint}
        return cls(values={"error": described, **(known or {})}, text=text, error=error)

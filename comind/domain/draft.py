"""What is proposed, before anyone has run it."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from comind.domain.value import Value

__all__ = ["Draft", "Operator"]


class Operator(StrEnum):
    """How a draft relates to its parents."""

    DRAFT = "draft"
    DEBUG = "debug"
    IMPROVE = "improve"
    ENSEMBLE = "ensemble"
    ABLATE = "ablate"
    REFIT = "refit"
    BLEND = "blend"
    FOLD = "fold"


class Draft(Value):
    """A solution to be implemented: what to do, and the code to start from."""

    title: str = Field(min_length=1, max_length=200)
    method: str
    codebase: str = ""
    """Code of the solution or notebook that this one starts from; empty for a fresh start."""
    codebase_seconds: float | None = None
    """How long that code ran here; None where nobody has run it."""
    codebase_result: str = ""
    """What it scored here, in words."""
    kind: str = ""
    """What part it plays among the drafts of its round, in the agent's words."""
    sources: tuple[str, ...] = ()
    """Ids of the ideas, community items and solutions that it came from."""
    inputs: tuple[str, ...] = ()
    """Those of its sources whose files are mounted for it."""
    notebook: str = ""
    """Language of the public notebook that `codebase` is, where it is to be run first, adapted to the
    split; empty for code of ours, and in older logs, where such a notebook is shown alone."""
    members: tuple[str, ...] = ()
    """The attempts whose predictions it combines; only of an ensemble."""
    preparation: str = ""
    """A cell that all fresh drafts of a round begin with, after the tables were read."""

    @model_validator(mode="after")
    def _one_line(self) -> Self:
        if "\n" in self.title:
            raise ValueError("a title is one line")
        return self

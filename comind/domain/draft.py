"""What is proposed, before anyone has run it."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from comind.domain.metric import Paired
from comind.domain.value import Name, Value

__all__ = ["Blend", "BlendMember", "Draft", "Operator"]


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


class BlendMember(Value):
    """One step of an attempt, and how much it counts."""

    attempt: Name
    step: int
    weights: tuple[int, ...] = Field(min_length=1)
    """How often it was picked: one number for all target columns, or one for each."""
    seconds: float = 0.0
    """How long the cells ran that led to its submission."""

    def __str__(self) -> str:
        return f"{self.attempt} step {self.step} x {'/'.join(map(str, self.weights))}"


class Blend(Value):
    """What is averaged, how, and what it gained on rows that it was not selected on."""

    mean: str
    """What is averaged: values, ranks, logarithms, votes (`comind/evaluation/blending/program.py`)."""
    ids: tuple[str, ...]
    """The columns of a submission that name its rows."""
    targets: tuple[str, ...]
    """The columns that are averaged."""
    members: tuple[BlendMember, ...]
    """The heaviest first."""
    gain: Paired
    """Over the best single submission, out of selection."""

    @property
    def seconds(self) -> float:
        """How long the code of its members took."""
        return sum(each.seconds for each in self.members)

    def __str__(self) -> str:
        return f"{self.mean} of {', '.join(map(str, self.members))}"

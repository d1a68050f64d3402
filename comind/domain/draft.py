"""Define proposed solutions: drafts that agents implement, and blends of submissions."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from comind.domain.metric import Paired
from comind.domain.resources import Hardware
from comind.domain.value import Name, Value

__all__ = ["Blend", "BlendMember", "Draft", "Operator"]


class Operator(StrEnum):
    """Relation of a draft to its parents."""

    DRAFT = "draft"
    DEBUG = "debug"
    IMPROVE = "improve"
    ENSEMBLE = "ensemble"
    REFIT = "refit"
    BLEND = "blend"
    FOLD = "fold"


class Draft(Value):
    """A solution to implement: a method and the code to start from."""

    title: str = Field(min_length=1, max_length=200)
    method: str
    codebase: str = ""
    """Code of the solution or notebook to start from; empty for a fresh start."""
    codebase_seconds: float | None = None
    """Measured run time of that code; None if it has not run here."""
    codebase_result: str = ""
    """Its score here, in words."""
    strategy: str = Field(default="", alias="kind")
    """What sets it apart among the drafts of its round, in the agent's words; logs have it as `kind`."""
    sources: tuple[str, ...] = ()
    """Ids of the ideas, community items and solutions that it came from."""
    inputs: tuple[str, ...] = ()
    """The sources whose files are mounted."""
    notebook: str = ""
    """Language of the public notebook in `codebase`, which is run first, adapted to the split.

    Empty for our own code, and in older logs, which only show the notebook to the model.
    """
    members: tuple[str, ...] = ()
    """Attempts whose predictions an ensemble combines; empty for other drafts."""
    preparation: str = ""
    """A cell that all fresh drafts of a round run after reading the tables."""

    needs: Hardware = Hardware()
    """What a node has to have for it."""

    @model_validator(mode="after")
    def _one_line(self) -> Self:
        if "\n" in self.title:
            raise ValueError("a title is one line")
        return self


class BlendMember(Value):
    """A step of an attempt and its weights in a blend."""

    attempt: Name
    step: int
    weights: tuple[int | float, ...] = Field(min_length=1)
    """One for all target columns, or one for each; integers if the blend is not stacked."""
    seconds: float = 0.0
    """Run time of the cells that led to its submission."""

    def __str__(self) -> str:
        return (
            f"{self.attempt} step {self.step} x {'/'.join(f'{weight:.3g}' for weight in self.weights)}"
        )


class Blend(Value):
    """A weighted average or sum of submissions, and its gain on rows that it was not selected on."""

    mean: str
    """What is averaged: values, ranks, logarithms or votes (`comind/grading/blending/averaging.py`)."""
    ids: tuple[str, ...]
    """Id columns of the submission."""
    targets: tuple[str, ...]
    """Columns that are averaged."""
    members: tuple[BlendMember, ...]
    """In order of falling weight."""
    gain: Paired
    """Over the best single submission, on held-out rows."""
    offsets: tuple[float, ...] = Field(default=(), exclude_if=lambda offsets: not offsets)
    """What is added to a weighted sum, for each target column, or what decides between labels."""
    labels: tuple[str, ...] = Field(default=(), exclude_if=lambda labels: not labels)
    """The labels whose probabilities, or numbers before rounding, are averaged."""
    stacked: bool = Field(default=False, exclude_if=lambda stacked: not stacked)
    """Whether the weights were learned on out-of-fold predictions for rows of train.csv."""
    out_of_fold_rows: int = Field(default=0, exclude_if=lambda rows: not rows)
    """Rows of train.csv on which it was judged besides."""

    @property
    def seconds(self) -> float:
        """Run time of its members' code together."""
        return sum(each.seconds for each in self.members)

    def __str__(self) -> str:
        learned = ", learned on out-of-fold predictions" if self.stacked else ""
        return f"{self.mean} of {', '.join(map(str, self.members))}{learned}"

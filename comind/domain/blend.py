"""A weighted average of the submissions of several attempts, as a value."""

from pydantic import Field

from comind.domain.metric import Paired
from comind.domain.value import Name, Value

__all__ = ["Blend", "BlendMember"]


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
    """What is averaged: values, ranks, logarithms, votes (`comind/evaluation/blending/averaging.py`)."""
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

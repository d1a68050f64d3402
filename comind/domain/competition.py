"""A competition as its folder describes it."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from comind.domain.value import Name, Value

__all__ = ["SAMPLE_SUBMISSION", "TABLES", "Competition", "SplitRule"]

SAMPLE_SUBMISSION = "sample_submission"
"""As `target_columns`: whatever columns the sample submission has beyond the ids."""
TABLES = ("train.csv", "test.csv", "sample_submission.csv")
"""What the public folder of every competition has."""


class SplitRule(Value):
    """How validation rows are taken from the labelled ones.

    `group` never parts rows that share `column` (or its date, with `by: date`; or, where its cells are
    pixels `<picture>_<row>_<column>`, their picture, with `by: picture`); `time` takes the last
    `horizon_days` of `column`.
    """

    kind: Literal["random", "stratified", "group", "time"]
    column: str | None = None
    by: Literal["date", "picture"] | None = None
    horizon_days: int | None = Field(default=None, gt=0)
    fraction: float | None = Field(default=None, gt=0, lt=1)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind != "random" and self.column is None:
            raise ValueError(f"a {self.kind} split names its column")
        if self.by is not None and self.kind != "group":
            raise ValueError("'by' goes with a group split only")
        if self.horizon_days is not None and self.kind != "time":
            raise ValueError("'horizon_days' goes with a time split only")
        return self


class Competition(Value):
    """The values of `competition.yaml`, and the folder they were read from."""

    folder: Path
    id: Name
    title: str
    kind: str = ""
    metric: str | None = None
    id_columns: tuple[str, ...] = Field(min_length=1)
    train_id_columns: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = Field(min_length=1)
    target_columns: Annotated[tuple[str, ...], Field(min_length=1)] | Literal["sample_submission"]
    split: SplitRule | None = None
    deadline: str | None = None
    leaderboard_comparable: bool = True
    licence: str = ""
    files: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.train_id_columns or self.id_columns) != len(self.id_columns):
            raise ValueError("train_id_columns must name as many columns as id_columns")
        targets = () if self.target_columns == SAMPLE_SUBMISSION else tuple(self.target_columns)
        _refuse_repeated((*self.id_columns, *targets), "id_columns and target_columns")
        train_ids = self.train_id_columns or self.id_columns
        _refuse_repeated((*train_ids, *self.label_columns), "id_columns and label_columns")
        return self

    @property
    def public(self) -> Path:
        """Folder of what every competitor may see."""
        return self.folder / "public"

    @property
    def answers(self) -> Path:
        """True answers of the test rows, in the shape of a submission; past competitions only."""
        return self.folder / "private" / "answers.csv"


def _refuse_repeated(names: tuple[str, ...], where: str) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"the column {name!r} is there twice in {where}")

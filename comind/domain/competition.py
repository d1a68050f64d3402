"""A competition as its folder describes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from comind.domain.value import Name, Value

__all__ = ["PERIODS", "SAMPLE_SUBMISSION", "TABLES", "Competition", "SplitRule", "join_names"]

SAMPLE_SUBMISSION = "sample_submission"
"""As `target_columns`: whatever columns the sample submission has beyond the ids."""
TABLES = ("train.csv", "test.csv", "sample_submission.csv")
"""What the public folder of every competition has."""
PERIODS = ("day", "week", "month", "year")
"""What a time split may go by, beside columns: stretches of the calendar."""

_LATER = ("parts", "columns", "sizes", "within")
_AXES = 2
_NAMED = 3


class SplitRule(Value):
    """How validation rows are taken from the labelled ones.

    `group` never parts rows that share `column`, or what `by` makes of it:

    - `date`: the day of a time;
    - `picture`: the picture, where cells are pixels `<picture>_<row>_<column>`;
    - `parts`: these parts of the cell, counted from 1; parts are runs of letters and digits such as
      `p12` in `p12_s3-a`;
    - `place`: the block of the plane over the two `columns`; `sizes` are the sides of a block;
    - `twins`: rows whose cells in all of `columns` are equal or, with `sizes`, numbers that differ by
      no more than those (chains of twins are one group).

    `time` takes the last `horizon_days` of `column` (or so many of its own units, where it holds plain
    numbers); with `within` the last ones of each day, week, month or year, or of each value of the
    column `within`.
    """

    kind: Literal["random", "stratified", "group", "time"]
    column: str | None = None
    by: Literal["date", "picture", "parts", "place", "twins"] | None = None
    parts: tuple[Annotated[int, Field(gt=0)], ...] = ()
    columns: tuple[str, ...] = ()
    sizes: tuple[Annotated[float, Field(gt=0)], ...] = ()
    within: str | None = None
    horizon_days: int | None = Field(default=None, gt=0)
    fraction: float | None = Field(default=None, gt=0, lt=1)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns of train.csv that the rule looks at."""
        named = (self.column, None if self.within in PERIODS else self.within)
        return (*(name for name in named if name is not None), *self.columns)

    @property
    def groups(self) -> str:
        """What a group is, in words, in the plural."""
        match self.by:
            case "date":
                return f"days of {self.column}"
            case "picture":
                return "pictures"
            case "parts":
                parts = " and ".join(map(str, self.parts))
                return f"groups of one {self.column} (part{'s' * (len(self.parts) > 1)} {parts} of it)"
            case "place":
                sides = " by ".join(f"{size:g}" for size in self.sizes)
                return f"blocks of {' and '.join(self.columns)}, {sides}"
            case "twins":
                alike = "nearly equal" if self.sizes else "equal"
                return f"groups of rows that are {alike} in {join_names(self.columns)}"
            case None:
                return f"groups of one {self.column}"

    @model_validator(mode="after")
    def _complete(self) -> Self:
        over_columns = self.by in ("place", "twins")
        if self.kind != "random" and self.column is None and not over_columns:
            raise ValueError(f"a {self.kind} split names its column")
        if self.by is not None and self.kind != "group":
            raise ValueError("'by' goes with a group split only")
        for name in ("horizon_days", "within"):
            if getattr(self, name) is not None and self.kind != "time":
                raise ValueError(f"'{name}' goes with a time split only")
        if bool(self.parts) != (self.by == "parts"):
            raise ValueError("'by: parts' and 'parts' go together")
        if bool(self.columns) != over_columns:
            raise ValueError("'columns' goes with 'by: place' and 'by: twins', and they with it")
        if over_columns and self.column is not None:
            raise ValueError(f"'by: {self.by}' goes by 'columns'; 'column' says nothing beside it")
        if self.by == "place" and not len(self.columns) == len(self.sizes) == _AXES:
            raise ValueError("'by: place' names two columns and two sizes")
        if self.sizes and not (over_columns and len(self.sizes) == len(self.columns)):
            raise ValueError("'sizes' has a number for each of 'columns'")
        return self

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what came later and is not given: names of splits are hashes of this."""
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if value or name not in _LATER}


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


def join_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _refuse_repeated(names: tuple[str, ...], where: str) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"the column {name!r} is there twice in {where}")

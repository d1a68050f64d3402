"""Define a competition as described by its folder."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from comind.domain.value import Name, Value

SAMPLE_SUBMISSION = "sample_submission"
"""Value of `target_columns` for all columns of the sample submission but the ids."""
NORMALISED_SCORE = "normalised score"
"""Name of the metric where submissions are programs."""
TABLES = ("train.csv", "test.csv", "sample_submission.csv")
"""Tables in the public folder of every competition."""
PERIODS = ("day", "week", "month", "year")
"""Calendar periods that a time split can be made within."""

_LATER_FIELDS = ("parts", "separator", "width", "columns", "sizes", "also", "within", "earliest")
_FUNCTION = re.compile(r"([\w-]+/)*[\w-]+\.py:\w+|\w+(\.\w+)+")
_LATER_KEYS = ("positive_class", "id_parts", "metric_function", "program")
_NAMED = 3


class SplitRule(Value):
    """Rule that selects validation rows from the labelled rows, as stored in competition.yaml.

    `comind/splits/rule.py` has what each kind of rule does; `comind/splits/groupings/` has what each
    value of `by` means and which of the keys from `parts` to `sizes` it takes. Both check their keys.
    """

    kind: Literal["random", "stratified", "group", "time"]
    column: str | None = None
    by: str | None = None
    parts: tuple[Annotated[int, Field(gt=0)], ...] = ()
    separator: str | None = Field(default=None, min_length=1, max_length=3)
    width: int | None = Field(default=None, gt=0)
    columns: tuple[str, ...] = ()
    sizes: tuple[Annotated[float, Field(gt=0)], ...] = ()
    also: "tuple[SplitRule, ...]" = ()
    """Further group rules: validation and training rows have no group of any of them in common."""
    within: str | None = None
    """The period, or the column of groups, of which a time split takes the last rows."""
    earliest: bool = False
    """Whether a time split takes the first rows: test rows precede train rows."""
    horizon_days: int | None = Field(default=None, gt=0)
    fraction: float | None = Field(default=None, gt=0, lt=1)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns of train.csv that the rule reads."""
        named = (self.column, None if self.within in PERIODS else self.within)
        others = (name for rule in self.also for name in rule.used_columns)
        names = (*(name for name in named if name is not None), *self.columns, *others)
        return tuple(dict.fromkeys(names))

    @property
    def groupings(self) -> "tuple[SplitRule, ...]":
        """Its groupings, each as a rule of its own."""
        return (self.model_copy(update={"also": ()}), *self.also)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind in ("stratified", "time") and self.column is None:
            raise ValueError(f"a {self.kind} split requires 'column'")
        for name in ("horizon_days", "within", "earliest"):
            if getattr(self, name) not in (None, False) and self.kind != "time":
                raise ValueError(f"'{name}' requires a time split")
        if self.also and self.kind != "group":
            raise ValueError("'also' requires a group split")
        if any(rule.kind != "group" or rule.also or rule.fraction is not None for rule in self.also):
            raise ValueError("'also' requires group splits without 'also' and 'fraction'")
        return self

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit later fields that are unset: the names of splits are hashes of this."""
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if value or name not in _LATER_FIELDS}


class IdParts(Value):
    """The columns whose cells, joined, are the id of a submission that the tables lack: `Oslo_7`."""

    columns: tuple[str, ...]
    separator: str = "_"

    @model_validator(mode="after")
    def _several(self) -> Self:
        if len(self.columns) < 2:  # noqa: PLR2004
            raise ValueError("an id joins two columns or more")
        return self


class MetricFunction(Value):
    """A metric that is a function (truth, prediction) -> number."""

    function: str
    """`file.py:name`, from the folder of competition.yaml, or `package.module.name`."""
    maximize: bool
    needs: Literal["labels", "probabilities", "numbers", "ranks", "texts"]
    """What it takes as predictions.

    `ranks` are numbers of which only the order counts, `texts` are cells of any form, also blank ones.
    """

    @field_validator("function")
    @classmethod
    def _named(cls, function: str) -> str:
        if _FUNCTION.fullmatch(function) is None:
            raise ValueError("name it as file.py:function, or as package.module.function")
        if function.startswith("public/"):
            raise ValueError("agents see the files in public/; put it beside competition.yaml")
        return function


class ProgramLimits(Value):
    """What a program may use on one instance, where submissions are programs."""

    seconds: float = Field(default=10.0, gt=0, le=3_600)
    """Of processor time."""
    memory_mb: int = Field(default=2_048, ge=64)


class Competition(Value):
    """The values of `competition.yaml` and the folder that it was read from."""

    folder: Path
    id: Name
    title: str
    kind: str = ""
    metric: str | None = None
    metric_function: MetricFunction | None = None
    """Where `metric` is a mapping; the metric's name is the function's."""
    id_columns: tuple[str, ...] = Field(min_length=1)
    train_id_columns: tuple[str, ...] = ()
    id_parts: IdParts | None = None
    label_columns: tuple[str, ...] = Field(min_length=1)
    target_columns: Annotated[tuple[str, ...], Field(min_length=1)] | Literal["sample_submission"]
    positive_class: str | None = None
    """The label that counts as 1 for metrics such as ROC AUC and F1."""
    split: SplitRule | None = None
    deadline: str | None = None
    leaderboard_comparable: bool = True
    licence: str = ""
    files: tuple[str, ...] = ()
    program: ProgramLimits | None = None
    """Where submissions are programs, which are run on instances; None where they are tables."""

    @field_validator("deadline", mode="before")
    @classmethod
    def _text_of_time(cls, value: object) -> object:
        """Return a time as text: YAML reads one without quotation marks as a time."""
        return value.isoformat() if isinstance(value, date) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.train_id_columns or self.id_columns) != len(self.id_columns):
            raise ValueError("train_id_columns must name as many columns as id_columns")
        if self.id_parts is not None and len(self.id_columns) != 1:
            raise ValueError("id_parts requires one id column, which joins them")
        targets = () if self.target_columns == SAMPLE_SUBMISSION else tuple(self.target_columns)
        _refuse_repeated((*self.id_columns, *targets), "id_columns and target_columns")
        train_ids = self.train_id_columns or self.id_columns
        _refuse_repeated((*train_ids, *self.label_columns), "id_columns and label_columns")
        if self.deadline is not None:
            parse_deadline(self.deadline)
        return self

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit later fields that are unset: the names of splits are hashes of this."""
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if value or name not in _LATER_KEYS}

    @property
    def ends_at(self) -> datetime | None:
        """The deadline as a time; None where none is stated."""
        return None if self.deadline is None else parse_deadline(self.deadline)

    @property
    def has_answers(self) -> bool:
        """Whether submissions can be scored on the test rows or instances."""
        return self.program is not None or self.answers.is_file()

    @property
    def public(self) -> Path:
        """Folder of the public data."""
        return self.folder / "public"

    @property
    def answers(self) -> Path:
        """True answers of the test rows in the form of a submission; past competitions only."""
        return self.folder / "private" / "answers.csv"


def parse_deadline(text: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no zone; a date alone means its last minute.

    Raises:
        ValueError: it is no such time.
    """
    try:
        time = datetime.fromisoformat(text.strip())
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"deadline {text!r} is no ISO 8601 time such as 2023-04-01T23:59:00Z") from None
    return time + timedelta(hours=23, minutes=59) if len(text.strip()) == len("2023-04-01") else time


def join_names(names: Sequence[str]) -> str:
    """Return the first three names and the number of the others."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _refuse_repeated(names: tuple[str, ...], where: str) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"the column {name!r} is there twice in {where}")

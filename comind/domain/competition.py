"""Define a competition as described by its folder."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from comind.domain.value import Name, Value

SAMPLE_SUBMISSION = "sample_submission"
"""Value of `target_columns` for all columns of the sample submission but the ids."""
TABLES = ("train.csv", "test.csv", "sample_submission.csv")
"""Tables in the public folder of every competition."""
PERIODS = ("day", "week", "month", "year")
"""Calendar periods that a time split can be made within."""

_LATER_FIELDS = ("parts", "separator", "width", "columns", "sizes", "also", "within")
_LATER_KEYS = ("positive_class", "id_parts", "metric_function")
_OF_IDS = ("parts", "prefix", "series")
_AXES = 2
_NAMED = 3


class SplitRule(Value):
    """Rule that selects validation rows from the labelled rows.

    `group` never separates rows with the same `column`, or the same value that `by` derives from it:

    - `date`: the day of a time;
    - `picture`: the picture, where ids of pixels are `<picture>_<row>_<column>`;
    - `parts`: these parts of the cell, counted from 1; parts are runs of letters and digits such as
      `p12` in `p12_s3-a`;
    - `prefix`: the text before the last `separator`, such as `3fa9c2` in `3fa9c2_17`, or the first
      `width` characters;
    - `series`: the text without its date or, if it has none, without the number at its end or start,
      such as `Oslo_` in `Oslo_2020-01-07`;
    - `place`: the block of the plane over the two `columns`; `sizes` are the sides of a block;
    - `twins`: rows that are equal in all of `columns` or, with `sizes`, differ by at most those numbers
      (chains of twins are one group).

    With `also`, further group rules, validation and training rows have no group of any of them in
    common; rows that mix are in neither part, unless chains of such rows are small groups by themselves.

    `time` selects the last `horizon_days` of `column` (in its own units if it holds plain numbers); with
    `within` the last ones of each day, week, month or year, or of each value of the column `within`, or
    of what `by` (`parts`, `prefix` or `series`) derives from it. With `by: series` and no other column
    as `within`, the time is the date or number that `series` removes.
    """

    kind: Literal["random", "stratified", "group", "time"]
    column: str | None = None
    by: Literal["date", "picture", "parts", "prefix", "series", "place", "twins"] | None = None
    parts: tuple[Annotated[int, Field(gt=0)], ...] = ()
    separator: str | None = Field(default=None, min_length=1, max_length=3)
    width: int | None = Field(default=None, gt=0)
    columns: tuple[str, ...] = ()
    sizes: tuple[Annotated[float, Field(gt=0)], ...] = ()
    also: "tuple[SplitRule, ...]" = ()
    within: str | None = None
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

    @property
    def is_of_series(self) -> bool:
        """Whether the times are the dates or numbers that `series` removes from the column."""
        within = (None, *PERIODS, self.column)
        return self.kind == "time" and self.by == "series" and self.within in within

    @property
    def within_groups(self) -> "SplitRule | None":
        """The groups, if any, that the times are ordered within; None for calendar periods."""
        if self.within is None or self.within in PERIODS:
            return None
        same = {name: getattr(self, name) for name in ("by", "parts", "separator", "width")}
        return SplitRule(kind="group", column=self.within, **same)

    @property
    def within_name(self) -> str:
        """Name of the period or group that the times are ordered within; empty for none."""
        groups = self.within_groups
        return self.within or "" if groups is None else f"{groups.column}{_part_of_id(groups)}"

    @property
    def groups(self) -> str:
        """The name of its groups, in the plural."""
        return " and ".join(_name_groups(rule) for rule in self.groupings)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        over_columns = self.by in ("place", "twins")
        if self.kind != "random" and self.column is None and not over_columns:
            raise ValueError(f"a {self.kind} split requires 'column'")
        if self.by is not None and self.kind != "group" and not self._is_by_ids:
            raise ValueError("'by' requires a group split, or a time split of ids")
        for name in ("horizon_days", "within"):
            if getattr(self, name) is not None and self.kind != "time":
                raise ValueError(f"'{name}' requires a time split")
        if bool(self.columns) != over_columns:
            raise ValueError("'columns' is required by 'by: place' and 'by: twins', and by no others")
        if over_columns and self.column is not None:
            raise ValueError(f"'by: {self.by}' uses 'columns'; 'column' is not allowed")
        if self.by == "place" and not len(self.columns) == len(self.sizes) == _AXES:
            raise ValueError("'by: place' requires two columns and two sizes")
        if self.sizes and not (over_columns and len(self.sizes) == len(self.columns)):
            raise ValueError("'sizes' requires one number for each of 'columns'")
        return self

    @model_validator(mode="after")
    def _parts_of_ids(self) -> Self:
        if bool(self.parts) != (self.by == "parts"):
            raise ValueError("'by: parts' and 'parts' require each other")
        ends = [end for end in (self.separator, self.width) if end is not None]
        if len(ends) != (self.by == "prefix"):
            raise ValueError("'by: prefix' and either 'separator' or 'width' require each other")
        return self

    @property
    def _is_by_ids(self) -> bool:
        """Whether `by` says how ids name series of times, or what series they are of."""
        in_column = self.within is not None and self.within not in PERIODS
        return self.kind == "time" and self.by in _OF_IDS and (in_column or self.is_of_series)

    @model_validator(mode="after")
    def _several_groupings(self) -> Self:
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

    function: str = Field(pattern=r"^([\w-]+/)*[\w-]+\.py:\w+$|^\w+(\.\w+)+$")
    """`file.py:name`, from the folder of competition.yaml, or `package.module.name`."""
    maximize: bool
    needs: Literal["labels", "probabilities", "numbers", "ranks"]
    """What it takes as predictions; `ranks` are numbers of which only the order counts."""

    @model_validator(mode="after")
    def _not_public(self) -> Self:
        if self.function.startswith("public/"):
            raise ValueError("agents see the files in public/; put it beside competition.yaml")
        return self


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


def _name_groups(rule: SplitRule) -> str:
    """Return the name of the groups of one grouping, in the plural."""
    if rule.by == "date":
        return f"days of {rule.column}"
    if rule.by == "picture":
        return "pictures"
    if rule.by == "place":
        sides = " by ".join(f"{size:g}" for size in rule.sizes)
        return f"blocks of {' and '.join(rule.columns)}, {sides}"
    if rule.by == "twins":
        alike = "nearly equal" if rule.sizes else "equal"
        return f"groups of rows that are {alike} in {join_names(rule.columns)}"
    return f"groups of one {rule.column}{_part_of_id(rule)}"


def _part_of_id(rule: SplitRule) -> str:
    """Return what of a cell names its group, in parentheses; empty for all of it."""
    if rule.by == "parts":
        parts = " and ".join(map(str, rule.parts))
        return f" (part{'s' * (len(rule.parts) > 1)} {parts} of it)"
    if rule.by == "series":
        return " (without its date or number)"
    if rule.width is not None:
        return f" (its first {rule.width} character{'s' * (rule.width > 1)})"
    return "" if rule.separator is None else f" (before its last {rule.separator!r})"

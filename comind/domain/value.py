"""What all values have in common."""

import re
from functools import cached_property
from typing import Annotated, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    JsonValue,
    RootModel,
    StringConstraints,
    ValidationError,
)

from comind.errors import UsageError

__all__ = ["Name", "Payload", "Text", "Value", "check_name", "one_line", "validate_input"]

T = TypeVar("T", bound=BaseModel)


class Value(BaseModel):
    """A frozen record that refuses unknown fields and numbers that JSON cannot write."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )


class Payload(RootModel[dict[str, JsonValue]]):
    """A JSON object of a type that its reader names; validated once for each type and payload."""

    model_config = ConfigDict(frozen=True)

    root: dict[str, JsonValue] = {}

    @classmethod
    def of(cls, value: BaseModel) -> Self:
        """Return the payload that reads as `value`; by way of its JSON, as a replay will read it."""
        return cls.model_validate_json(value.model_dump_json())

    def read(self, kind: type[T]) -> T:
        """Return the payload as a `kind`.

        Raises:
            pydantic.ValidationError: it is none.
        """
        found = self.parsed.get(kind)
        if found is None:
            found = self.parsed[kind] = kind.model_validate(self.root)
        assert isinstance(found, kind)
        return found

    @cached_property
    def parsed(self) -> dict[type[BaseModel], BaseModel]:
        """The values that this payload was read as, by type; a cache, no part of the payload."""
        return {}


def validate_input(kind: type[T], values: object, where: str) -> T:
    """Return as a `kind` what a user wrote at `where`.

    Raises:
        UsageError: a value is unknown or out of range.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(": ".join(filter(None, (where, place, first["msg"].lower())))) from None


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def check_name(text: str) -> str:
    """Return `text` if it is a `Name`.

    Raises:
        ValueError: it is none; the message says what one looks like.
    """
    if not _NAME.fullmatch(text) or ".." in text or text.endswith((".", ".lock")):
        raise ValueError(
            f"{text!r} is not a name: letters, digits, dot, dash and underscore, "
            "starting with a letter or digit, at most 120"
        )
    return text


def one_line(text: str, most: int) -> str:
    """Return text as one line without control characters; after `most` of them it ends with ` ...`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:most] + (" ..." if len(line) > most else "")


Name = Annotated[str, AfterValidator(check_name)]
"""Text that is safe as a folder name and as a part of a git ref."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text with something in it."""

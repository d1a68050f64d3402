"""What all values have in common."""

import re
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from comind.errors import UsageError

__all__ = ["Name", "Text", "Value", "check_name", "one_line", "rename_fields", "wanted"]

T = TypeVar("T", bound=BaseModel)


class Value(BaseModel):
    """A frozen record that refuses unknown fields and numbers that JSON cannot write."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )


def rename_fields(values: Any, **former: str) -> Any:
    """Return recorded values with the present names of fields, given by their former names.

    For a validator before all others of a value that older logs hold; anything but a dict is returned.
    """
    if not isinstance(values, dict) or former.keys().isdisjoint(values):
        return values
    return {former.get(name, name): value for name, value in values.items()}


def wanted(kind: type[T], values: object, where: str) -> T:
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

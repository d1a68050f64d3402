"""Define the base class of values, validated names and text, and typed JSON payloads."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    JsonValue,
    RootModel,
    StringConstraints,
    ValidationError,
)

from comind.domain.suggestions import did_you_mean
from comind.errors import UsageError

__all__ = [
    "AnyText",
    "Name",
    "Payload",
    "Text",
    "Value",
    "check_name",
    "describe_error",
    "one_line",
    "replace_surrogates",
    "validate_input",
]

T = TypeVar("T", bound=BaseModel)


class Value(BaseModel):
    """A frozen model that rejects unknown fields and numbers that JSON cannot represent.

    A field whose stored key has another name has it as its alias.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="constants",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Payload(RootModel[dict[str, JsonValue]]):
    """A JSON object whose type its reader supplies; validated once for each type."""

    model_config = ConfigDict(frozen=True)

    root: dict[str, JsonValue] = {}

    @classmethod
    def of(cls, value: BaseModel) -> Self:
        """Serialise `value` through JSON, so that it reads as in a replay."""
        return cls.model_validate_json(value.model_dump_json())

    def read(self, value_type: type[T]) -> T:
        """Return the payload as a `value_type`.

        Raises:
            pydantic.ValidationError: it does not match.
        """
        found = self.parsed.get(value_type)
        if found is None:
            found = self.parsed[value_type] = value_type.model_validate(self.root)
        assert isinstance(found, value_type)
        return found

    @cached_property
    def parsed(self) -> dict[type[BaseModel], BaseModel]:
        """Cache of the parsed values by type; not part of the payload."""
        return {}


def validate_input(value_type: type[T], values: object, where: str) -> T:
    """Validate what a user wrote at `where` as a `value_type`.

    Raises:
        UsageError: a value is unknown or out of range.
    """
    try:
        return value_type.model_validate(values)
    except ValidationError as error:
        _refuse_unknown_key(value_type, values, error, where)
        path, text = describe_error(error, values)
        raise UsageError(": ".join(filter(None, (where, path, text)))) from None


def describe_error(error: ValidationError, values: object) -> tuple[str, str]:
    """Return the path of the first wrong value among `values`, with dots, and why it is wrong."""
    errors = error.errors()
    path = errors[0]["loc"]
    if path[1:] and isinstance(path[-1], str) and not isinstance(_at(values, path[:-1]), Mapping):
        path = path[:-1]  # the last part names a type of a union
    reasons = [
        each["msg"].removeprefix("Value error, ")
        if each["type"] == "value_error"
        else each["msg"].lower()
        for each in errors
        if each["loc"][: len(path)] == path
    ]
    return ".".join(map(str, path)), " or ".join(dict.fromkeys(reasons))


def _refuse_unknown_key(
    value_type: type[BaseModel], values: object, error: ValidationError, where: str
) -> None:
    """Raise UsageError, with the known keys, if the first error is a key that is not known."""
    first = error.errors()[0]
    if first["type"] != "extra_forbidden":
        return
    *path, key = first["loc"]
    while path and not isinstance(_at(values, tuple(path)), Mapping):
        path.pop()  # it names a type of a union
    value_types = {value_type}
    for part in path:
        if fields := [each.model_fields[str(part)] for each in value_types if part in each.model_fields]:
            value_types = {found for field in fields for found in _models_in(field.annotation)}
    known = sorted({name for each in value_types for name in each.model_fields})
    text = f"there is no key {key!r}{did_you_mean(str(key), known)}"
    place = ": ".join(filter(None, (where, ".".join(map(str, path)), text)))
    raise UsageError(place, hint=f"its keys: {', '.join(known)}" if known else "") from None


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names, such as those of a union or of a mapping's values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _at(values: object, path: tuple[int | str, ...]) -> object:
    """Return the value at a path of keys and indices, or None."""
    for key in path:
        try:
            values = values[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return values


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def check_name(text: str) -> str:
    """Return `text` if it is a valid `Name`.

    Raises:
        ValueError: it is not; the message states the rules.
    """
    if not _NAME.fullmatch(text) or ".." in text or text.endswith((".", ".lock")):
        raise ValueError(
            f"{text!r} is not a name: letters, digits, dot, dash and underscore, "
            "starting with a letter or digit, at most 120"
        )
    return text


def one_line(text: str, most: int) -> str:
    """Return text as one printable line, truncated with ` ...` after `most` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:most] + (" ..." if len(line) > most else "")


def replace_surrogates(text: str) -> str:
    """Join halves of characters (surrogates) that are a pair; replace lone ones by U+FFFD.

    No file, log or request can hold a lone one, but JSON, file names and codecs of Python can.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _writable(text: object) -> object:
    return replace_surrogates(text) if isinstance(text, str) else text


AnyText = Annotated[str, BeforeValidator(_writable)]
"""Text of any origin, such as a reply or the message of an exception, that a log can hold."""

Name = Annotated[str, AfterValidator(check_name)]
"""Text that is safe as a folder name and in a git ref."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Non-empty text."""

"""A JSON object that is stored as it is and read as the type that its owner knows."""

from functools import cached_property
from typing import Self, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, RootModel

__all__ = ["Payload"]

T = TypeVar("T", bound=BaseModel)


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

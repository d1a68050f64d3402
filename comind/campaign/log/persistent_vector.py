"""Hold a growing sequence as an immutable value whose copies share structure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from immutables import Map

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PersistentVector(Generic[T]):
    """Persistent vector: `put` returns a new one that shares structure."""

    _values: Map[int, T] = Map()  # noqa: RUF009 - immutable, safe to share

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        return (self._values[number] for number in range(len(self)))

    @property
    def last(self) -> T | None:
        """The last value, or None."""
        return self._values.get(len(self) - 1)

    def put(self, number: int, value: T) -> "PersistentVector[T]":
        """Return a copy with `value` at index `number`, at most the length."""
        return PersistentVector(self._values.set(number, value))

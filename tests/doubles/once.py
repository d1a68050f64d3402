"""A function that fails at its first call."""

__all__ = ["FailsOnce"]


class FailsOnce:
    """Raises `error` at the first call; later calls return None. `calls` counts all."""

    def __init__(self, error: Exception) -> None:
        self.calls = 0
        self._error = error

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise self._error

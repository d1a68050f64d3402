"""Define error responses, and inject them and entry conditions into the server, to test clients."""

import threading

from comind.domain.value import Value


class RouteError(Exception):
    """An error response: HTTP status `code`, a one-line message, `Retry-After` in seconds."""

    def __init__(self, code: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class EntryConditions(Value):
    """Conditions for entering a competition, beyond those of its folder."""

    rules_accepted: bool = True
    code_only: bool = False
    closed: bool = False


class FaultInjector:
    """Inject error responses into the next calls; thread-safe.

    `method` is the end of a route's name, such as `ListSubmissions`; empty matches every call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[tuple[str, RouteError]] = []
        self._conditions: dict[str, EntryConditions] = {}
        self.expired = False
        """Whether all credentials are rejected."""

    def rate_limit(self, calls: int = 1, *, retry_after: float | None = 1, method: str = "") -> None:
        """Answer the next calls with 429 and `Retry-After` in seconds."""
        self._inject(method, RouteError(429, "Too many requests", retry_after), calls)

    def fail(self, calls: int = 1, *, method: str = "", code: int = 500) -> None:
        """Answer the next calls with a server error."""
        self._inject(method, RouteError(code, "Internal server error"), calls)

    def expire(self, *, expired: bool = True) -> None:
        """Reject all credentials with 401, or accept them again."""
        self.expired = expired

    def set_conditions(self, competition: str, conditions: EntryConditions) -> None:
        """Set the conditions for entering a competition."""
        self._conditions[competition] = conditions

    def conditions(self, competition: str) -> EntryConditions:
        """Return the conditions for entering a competition."""
        return self._conditions.get(competition, EntryConditions())

    def raise_next(self, method: str) -> None:
        """Raise the next `RouteError` injected into a method, once, if there is one."""
        with self._lock:
            for index, (expected, error) in enumerate(self._pending):
                if method.endswith(expected):
                    del self._pending[index]
                    raise error

    def _inject(self, method: str, error: RouteError, calls: int) -> None:
        with self._lock:
            self._pending += [(method, error)] * calls

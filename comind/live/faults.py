"""What can go wrong with a server of competitions, on demand, for whoever tests a client."""

import threading

from comind.domain.value import Value

__all__ = ["Conditions", "Faults", "Refusal"]


class Refusal(Value):
    """What is answered in place of the answer; `retry_after` is in seconds."""

    code: int
    message: str
    retry_after: float | None = None


class Conditions(Value):
    """What a competition asks of who enters it, beside what its folder says."""

    rules_accepted: bool = True
    code_only: bool = False
    closed: bool = False


class Faults:
    """Told what to get wrong; safe to use from many threads.

    A fault counts calls: `method` is the end of a route's name, such as `ListSubmissions`, or empty for
    every call.
    """

    def __init__(self) -> None:
        """Begin with nothing wrong."""
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, Refusal]] = []
        self._conditions: dict[str, Conditions] = {}
        self.expired = False
        """Whether all credentials are refused."""

    def busy(self, calls: int = 1, *, retry_after: float | None = 1, method: str = "") -> None:
        """Answer the next calls with 429."""
        refusal = Refusal(code=429, message="Too many requests", retry_after=retry_after)
        self._expect(method, refusal, calls)

    def broken(self, calls: int = 1, *, method: str = "", code: int = 500) -> None:
        """Answer the next calls with a server's error."""
        self._expect(method, Refusal(code=code, message="Internal server error"), calls)

    def expire(self, *, expired: bool = True) -> None:
        """Refuse all credentials with 401, or take them again."""
        self.expired = expired

    def condition(self, competition: str, conditions: Conditions) -> None:
        """Set what a competition asks of who enters it."""
        self._conditions[competition] = conditions

    def of(self, competition: str) -> Conditions:
        """Return what a competition asks."""
        return self._conditions.get(competition, Conditions())

    def next(self, method: str) -> Refusal | None:
        """Return what goes wrong with this call, which is over then; None where nothing does."""
        with self._lock:
            for index, (expected, refusal) in enumerate(self._waiting):
                if method.endswith(expected):
                    del self._waiting[index]
                    return refusal
        return None

    def _expect(self, method: str, refusal: Refusal, calls: int) -> None:
        with self._lock:
            self._waiting += [(method, refusal)] * calls

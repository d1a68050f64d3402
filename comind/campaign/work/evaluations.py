"""Number the gradings of a campaign's agents, and keep their limit under concurrency."""

import threading
from collections.abc import Callable

from comind.campaign.log.outcome import BudgetExceeded

_LOOK_SECONDS = 1.0  # between two looks at the deadline while others hold the rest


class Evaluations:
    """Gradings of submissions of a campaign's attempts: `used` of at most `limit`. Thread-safe."""

    def __init__(self, limit: int | None, used: int = 0) -> None:
        self.limit = limit
        self.used = used
        self._held = 0
        self._changed = threading.Condition()

    @property
    def over(self) -> str:
        """Why no further submission is graded, in one line; empty if one may be."""
        if self.limit is None or self.used < self.limit:
            return ""
        return f"{self.used} of {self.limit} evaluations are used up"

    def place(self) -> "EvaluationPlace":
        """Return the place of an attempt, not yet taken."""
        return EvaluationPlace(self)

    def hold(self, seconds_left: Callable[[], float]) -> None:
        """Reserve one grading; block while other attempts hold the rest.

        Raises:
            BudgetExceeded: all are used up.
            DeadlineExceeded: raised by `seconds_left`, which is called again and again.
        """
        with self._changed:
            while self.limit is not None and self.used + self._held >= self.limit:
                if self.over:
                    raise BudgetExceeded(self.over)
                self._changed.wait(min(seconds_left(), _LOOK_SECONDS))
            self._held += 1

    def free(self, *, used: bool) -> int:
        """Give a reserved grading back, or use it; return how many are used."""
        with self._changed:
            self._held -= 1
            self.used += used
            self._changed.notify_all()
            return self.used


class EvaluationPlace:
    """One grading, reserved by an attempt before its step runs, so that no step runs in vain."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._of = evaluations
        self._taken = False
        self.limit = evaluations.limit

    def take(self, seconds_left: Callable[[], float]) -> None:
        """Reserve the grading, unless it is; blocks and raises as `Evaluations.hold`."""
        if not self._taken:
            self._of.hold(seconds_left)
            self._taken = True

    def use(self) -> int:
        """Use the grading; return its number, from 1."""
        self._taken = False
        return self._of.free(used=True)

    def release(self) -> None:
        """Give the grading back, if it is reserved."""
        if self._taken:
            self._taken = False
            self._of.free(used=False)

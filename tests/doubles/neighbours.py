"""Report the progress of other attempts from a script."""

from collections.abc import Sequence

from comind.campaign.log.work_events import Neighbour

__all__ = ["ScriptedNeighbours"]


class ScriptedNeighbours:
    """Returns the next of several readings with each call, at last the last one; `asked` counts them."""

    def __init__(self, *readings: Sequence[Neighbour]) -> None:
        self.asked = 0
        self._readings = readings

    def __call__(self) -> tuple[Neighbour, ...]:
        """Return the next reading."""
        self.asked += 1
        last = len(self._readings) - 1
        return tuple(self._readings[min(self.asked - 1, last)]) if self._readings else ()

"""Neighbours of an attempt without attempts."""

from collections.abc import Sequence

from comind.campaign.log.work_events import Neighbour

__all__ = ["ScriptedNeighbours"]


class ScriptedNeighbours:
    """Tells of other attempts what a list says, a reading a call; the last one stays.

    `asked` counts the calls.
    """

    def __init__(self, *readings: Sequence[Neighbour]) -> None:
        self.asked = 0
        self._readings = readings

    def __call__(self) -> tuple[Neighbour, ...]:
        """Return the next reading."""
        self.asked += 1
        last = len(self._readings) - 1
        return tuple(self._readings[min(self.asked - 1, last)]) if self._readings else ()

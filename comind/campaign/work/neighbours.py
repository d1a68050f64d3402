"""What is new of a campaign's other attempts, for the feedback on a step."""

from collections.abc import Callable, Iterable

from comind.campaign.log.work_events import Neighbour

_MOST = 3  # reported with one step


class NeighbourNews:
    """Reports each change of another attempt once."""

    def __init__(self, neighbours: Callable[[], tuple[Neighbour, ...]]) -> None:
        """Set what returns the progress of the other attempts, best first."""
        self._neighbours = neighbours
        self._reported: dict[str, Neighbour] = {}

    def latest(self) -> tuple[Neighbour, ...]:
        """Return the first attempts that have changed since they were reported."""
        changed = [each for each in self._neighbours() if self._reported.get(each.id) != each]
        return tuple(changed[:_MOST])

    def report(self, neighbours: Iterable[Neighbour]) -> None:
        """Mark attempts as reported, live or in a replay."""
        self._reported |= {each.id: each for each in neighbours}

"""What the live view tells."""

from comind.campaign.attempt import AttemptState, CellEnded
from comind.session.base import CellResult, CellStatus
from flows.view import _work_line


def test_a_stopped_cell_is_told_with_its_reason() -> None:
    """A cell that the monitor stopped has not failed, and the line says why it ended."""
    error = "the monitor stopped it after 40 s: the loss explodes (it printed: loss: 9e9)"
    ended = CellEnded(ordinal=0, result=CellResult(status=CellStatus.STOPPED, error=error))
    assert _work_line(ended, AttemptState(steps=3)) == f"step 3 stopped: {error}"

"""On a full disk the campaign halts with an error that names it, and resumes once there is room."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS
from comind.eventlog.log import read_log
from tests.unit.campaign.world import World

_PROGRAM = """
import sys
from pathlib import Path
from comind.errors import DiskError
from tests.unit.campaign.world import World
world = World(Path(sys.argv[1]))
try:
    world.run(world.campaign())
except DiskError as error:
    print(f"{error.exit_code}: {error}")
"""


def _bounded() -> None:
    """No file may grow further, which simulates a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))


def test_a_campaign_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """An event that could not be written did not happen: no attempt fails, and the end is the same."""
    whole, full = World(tmp_path / "whole"), World(tmp_path / "full")
    expected = whole.run(whole.campaign())
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(full.root)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=_bounded,
    )
    assert done.stdout.startswith(f"4: {full.root}"), done.stderr
    assert "no space left on its disk" in done.stdout
    before = read_log(full.folder.log, CAMPAIGN_EVENTS)
    assert all(record.event.type != "campaign-ended" for record in before)
    state = full.run(full.campaign())
    assert [(a.id, a.outcome and a.outcome.score) for a in state.works.attempts()] == [
        (a.id, a.outcome and a.outcome.score) for a in expected.works.attempts()
    ]
    assert all(a.outcome.failure is None for a in state.works.attempts())
    assert state.ended == expected.ended

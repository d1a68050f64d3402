"""A recorded model replays replies for the same requests only."""

from pathlib import Path

import pytest

from comind.campaign.worker import execute
from comind.errors import ModelServiceError
from comind.testing import ScriptedModel
from tests.doubles.recorded import RecordedReplies
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, reply


def test_a_recorded_attempt_is_played_again(tmp_path: Path) -> None:
    """From the log alone, the same attempt gets the same score in another folder."""
    world = World(tmp_path / "one", [reply("look"), reply("good")])
    log = world.folder.work("attempt-000").log
    first = execute(world.agent, code(), world.folder.work("attempt-000"), world.dependencies())
    other = World(tmp_path / "other")
    recorded = RecordedReplies(log)
    other.model = recorded  # type: ignore[assignment]
    again = execute(other.agent, code(), other.folder.work("attempt-000"), other.dependencies())
    assert again.kind == "code"
    assert first.kind == "code"
    assert again.score == first.score
    assert len(recorded.requests) == 2
    with pytest.raises(ModelServiceError, match="no reply to this request"):
        execute(other.agent, code("another"), other.folder.work("attempt-001"), other.dependencies())
    assert isinstance(world.model, ScriptedModel)

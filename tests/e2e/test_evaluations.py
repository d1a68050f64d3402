"""`--evaluations N` ends a campaign after N gradings, also when it was killed on the way."""

import json
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from tests.e2e.command import comind
from tests.e2e.programs import LINEAR, SAMPLE

_SIGKILLED = -9
_REPLIES = [
    {"reply": "Program", "contains": "The best program", "say": {"plan": "Fit.", "code": LINEAR}},
    {"reply": "Program", "say": {"plan": "Hand in the sample.", "code": SAMPLE}},
]


@pytest.mark.parametrize("killed_at", ["", "grade-recorded", "cell-recorded"])
def test_a_campaign_has_as_many_gradings_as_its_limit(
    killed_at: str, tmp_path: Path, shared_server: str
) -> None:
    """Greedy refinement stops after three, the hidden baseline and the refit not counted."""
    del shared_server
    rules = tmp_path / "rules.yaml"
    rules.write_text(json.dumps(_REPLIES))
    given = ("--model", f"scripted:{rules}", "--coders", "1", "--no-monitor", "--no-blend")
    words = ("demo-tumours", "--agent", "greedy", "--evaluations", "3", "--baseline", "hidden", *given)
    out = ("--out", tmp_path, "--json")
    ran = comind("solve", *words, *out, COMIND_KILL_AT=killed_at)
    if killed_at:
        assert ran.exit_code == _SIGKILLED, ran.stderr
        [campaign] = ProjectFolder(tmp_path).campaigns()
        ran = comind("solve", "--resume", campaign, *out)
    assert ran.exit_code == 0, ran.stderr
    assert "3 of 3 evaluations are used up" in ran.stderr
    folder = ProjectFolder(tmp_path).campaign(ran.json["campaign"])
    state = read_state(folder)
    assert state.spend.evaluations == 3
    parents = [each.work.parents for each in state.works.attempts()]
    assert parents == [(), (), ("attempt-001",), ("attempt-002",)], "the baseline is hidden"
    page = (folder.root / "journal.md").read_text()
    assert "attempt-003" in page

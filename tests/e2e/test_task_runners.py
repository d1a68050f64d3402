"""Attempts run where the flow's task runner puts them: tasks have names and paths as arguments."""

from pathlib import Path
from typing import Any

import pytest
from prefect.task_runners import ProcessPoolTaskRunner

from comind.app.campaign_opening import open_campaign
from comind.app.open_campaigns import open_campaign_of
from comind.app.paths import find_or_fetch_competition
from comind.campaign.log.campaign_events import CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign, read_state
from comind.domain.spend import Budget
from comind.errors import CampaignError
from tests.e2e.command import begin_tracking
from tests.e2e.prefect_graph import filtered
from tests.unit.campaign.samples import spec


def test_a_campaign_has_its_attempts_in_another_process(tmp_path: Path, shared_server: str) -> None:
    """With a runner of processes, attempt, gradings and refit run there; state and log are whole."""
    from flows.campaign import solve_competition

    begin_tracking(tmp_path)
    competition = find_or_fetch_competition("demo-tumours", tmp_path)
    settings = {"model": "offline", "iterations": 0, "prove": False}
    opened = open_campaign(tmp_path, competition, settings, None, lambda _line: None)
    runner: Any = ProcessPoolTaskRunner(max_workers=1)
    solve_competition.with_options(task_runner=runner)(tmp_path, opened.name)
    state = read_state(ProjectFolder(tmp_path).campaign(opened.name))
    assert state.ended is not None
    assert state.refit() is not None
    assert opened.submission.is_file()
    [run] = filtered(shared_server, "flow_runs", {"flow_runs": {"name": {"any_": [opened.name]}}})
    logged = filtered(shared_server, "logs", {"logs": {"flow_run_id": {"any_": [run["id"]]}}})
    assert [each for each in logged if each["message"].endswith("/attempt-000: starts")]


@pytest.mark.parametrize("limit", [{"usd": 1.0}, {"tokens": 1000}], ids=repr)
def test_a_budget_is_kept_in_one_process(tmp_path: Path, limit: dict[str, Any]) -> None:
    """Two processes do not see each other's requests, so a task elsewhere is refused before one."""
    folder = ProjectFolder(tmp_path).campaign("c1")
    with Campaign(folder) as campaign:
        campaign.record(CampaignOpened(spec=spec(id="c1", budget=Budget(**limit))))
    with pytest.raises(CampaignError, match="limit of"):
        open_campaign_of(tmp_path, "c1")

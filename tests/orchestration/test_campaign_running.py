"""A campaign runs to its end by any function that runs it, a flow or another."""

from pathlib import Path

import pytest

from comind.app.campaign_running import solve_to_end
from comind.campaign.log.campaign_events import CampaignEnded, CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.errors import ComindError, OrchestrationError
from tests.unit.campaign.samples import spec


class _Solve:
    """Records the end of a campaign or not, and fails."""

    def __init__(self, error: Exception, *, ends: bool) -> None:
        self.error = error
        self.ends = ends

    def __call__(self, project: Path, campaign: str, *, refresh: bool) -> None:
        assert not refresh
        with Campaign(ProjectFolder(project).campaign(campaign)) as opened:
            opened.record(CampaignOpened(spec=spec(id=campaign)))
            if self.ends:
                opened.record(CampaignEnded(reason="done"))
        raise self.error


def test_only_an_end_that_cannot_be_reported_is_no_error(tmp_path: Path) -> None:
    """The log has the end, so an orchestrator that fails afterwards changes nothing."""
    solve_to_end(_Solve(RuntimeError("no server"), ends=True), tmp_path, "c1")


@pytest.mark.parametrize(
    ("error", "ends"),
    [(RuntimeError("no server"), False), (OrchestrationError("no remote"), True)],
    ids=["before the end", "a push that fails after it"],
)
def test_an_error_that_a_user_has_to_know_is_raised(
    error: Exception, tmp_path: Path, *, ends: bool
) -> None:
    """A campaign that has not ended has failed, and our own errors are for the user."""
    with pytest.raises(type(error)) as raised:
        solve_to_end(_Solve(error, ends=ends), tmp_path, "c1")
    assert raised.value is error
    assert isinstance(error, ComindError) is ends

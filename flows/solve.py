"""The flow that opens a campaign on a competition and runs it, for deployments and Prefect's page."""

from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger

from comind.app.campaign_opening import open_campaign
from comind.app.paths import find_or_fetch_competition
from flows.campaign import solve_competition

__all__ = ["solve"]


# A retry would open a second campaign; `comind solve --resume` continues this one.
@flow(flow_run_name="solve {competition}", persist_result=False, retries=0)
def solve(
    competition: str,
    model: str | None = None,
    minutes: float | None = None,
    max_usd: float | None = None,
    profile: str | None = None,
    options: dict[str, Any] | None = None,
    project: Path | None = None,
) -> str:
    """Open a campaign and run it to its end; returns its name.

    Args:
        competition: a folder, a zip, a demo or a Kaggle slug.
        model: a model at the endpoint; `offline`: the baseline alone.
        minutes: time budget.
        max_usd: cost budget.
        profile: a profile of params.yaml.
        options: further parameters of the section `solve` of params.yaml.
        project: the project's folder; the working directory of the run.

    Raises:
        ComindError: as `comind solve` fails.
    """
    here = (project or Path.cwd()).absolute()
    named = {"model": model, "minutes": minutes, "max_usd": max_usd}
    given = {name: value for name, value in named.items() if value is not None}
    folder = find_or_fetch_competition(competition, here)
    notify = get_run_logger().info
    campaign = open_campaign(here, folder, {**(options or {}), **given}, profile, notify)
    solve_competition(here, campaign.name)
    return campaign.name

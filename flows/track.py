"""The flow that follows a live competition: each run continues from the log of the runs before."""

import logging
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from comind.app.campaign_running import solve_to_end
from comind.app.campaign_slices import DaySteps, FollowingParams
from comind.app.followed_day import end_of_day, follow_for_a_day
from comind.following.day import SINGLE_STEPS, StepName
from comind.servers.stopping import stoppable
from flows.campaign import solve_competition
from tasks.artifacts import show_report
from tasks.community import import_community
from tasks.competitions import fetch_from_kaggle
from tasks.following import repeatable_step, single_step

_log = logging.getLogger(__name__)


# The next run resumes from the log.
@flow(flow_run_name="following {slug}", persist_result=False, retries=0)
def follow_competition(project: Path, slug: str, params: FollowingParams) -> State[None]:
    """Follow a competition for a day: fetch news, run a campaign, submit, record the rank.

    The flow run ends in a state with the name and the reason of the day's decision.

    Raises:
        ComindError: an input or a service is missing or refuses; the next run resumes from the log.
    """
    steps = DaySteps(
        fetch=fetch_from_kaggle,
        import_community=import_community,
        run_campaign=_run_campaign,
        run_step=_run_step,
        show_report=show_report,
        notify=_log.info,
    )
    with stoppable():
        name, message = end_of_day(follow_for_a_day(project, slug, params, steps))
    return Completed(name=name, message=message)


def _run_campaign(project: Path, campaign: str) -> None:
    solve_to_end(solve_competition, project, campaign, refresh=True)


def _run_step(project: Path, slug: str, name: StepName, *values: Any) -> Any:
    """Run a step of a day as a task run of its name."""
    return (single_step if name in SINGLE_STEPS else repeatable_step)(project, slug, name, values)

"""Follow a competition for a day, and project its log: data in DVC, metrics, report, commit."""

from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of, version
from comind.adapters.git.refs import commit_files, following_ref
from comind.adapters.mlflow.following import FollowingTracker
from comind.adapters.notify.following_alerts import FollowingAlerts
from comind.app.campaign_slices import DaySteps, FollowingParams, ProjectSlices
from comind.app.following_report import following_page, following_report
from comind.app.open_days import OpenDay, day_opened
from comind.app.params import read_params
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.following.day import CampaignSlices, Day
from comind.following.event_text import describe_standing, line_of
from comind.following.events import Verdict
from comind.following.history import followed_competitions
from comind.following.state import Following, FollowingLog, following_log_path, read_following
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import KaggleSettings
from comind.system.files import write_atomically
from comind.system.timing import ServerClock
from comind.wiring.competition_data import open_kaggle

_END_NAMES: dict[Verdict, str] = {"submit": "Submitted", "ask": "Waiting", "keep": "Kept"}


def follow_for_a_day(
    project: Path,
    slug: str,
    params: FollowingParams,
    steps: DaySteps,
    connect: Callable[[KaggleSettings, ServerClock], Kaggle] = open_kaggle,
    slices_of: Callable[..., CampaignSlices] = ProjectSlices,
) -> Following:
    """Fetch news, run a campaign, submit, record the rank; returns the state at the end.

    Raises:
        ComindError: an input or a service is missing or refuses; the next run resumes from the log.
    """
    given = read_params(project)
    shared, settings = given.following, given.kaggle
    with FollowingAlerts(project, slug, given.alerts), FollowingLog(project, slug) as log:
        time = ServerClock()
        kaggle = connect(settings, time)
        slices = slices_of(project, slug, params, kaggle, time, steps)
        plan = shared.plan_for(slug, params.plan, _others(project, slug))

        def submissions_on(day: date) -> int | None:
            return shared.submissions_for(slug, _others(project, slug), day)

        run_step = partial(steps.run_step, project, slug)
        day = Day(slug, log, kaggle, slices, plan, time, run_step, submissions_on)
        try:
            with day_opened(project, slug, OpenDay(day, kaggle, settings.wanted, time)):
                day.run()
        finally:
            _project_log(project, slug, steps.show_report)
        return log.state


def end_of_day(state: Following) -> tuple[str | None, str]:
    """Return the name of the end, None if nothing was decided, and its reason."""
    if state.standing is not None and state.standing.final:
        return "Over", describe_standing(state.standing)
    decision = state.decision
    if decision is None:
        return None, "nothing to decide"
    return _END_NAMES[decision.verdict], line_of(decision)


def _others(project: Path, slug: str) -> dict[str, Following]:
    """Return the states of the other competitions that this project follows."""
    names = (name for name in followed_competitions(project) if name != slug)
    return {name: read_following(project, name) for name in names}


def _project_log(project: Path, slug: str, show_report: Callable[[str, str], None]) -> None:
    """Version the fetched data, write metrics and report, and commit log and pointers; idempotent."""
    seen = ProjectFolder(project).kaggle / slug
    pointers = version(project, [seen]) if (seen / "competition.yaml").is_file() else []
    store = pointer_of(ProjectFolder(project).community_store)
    pointers += [store] if store.is_file() else []
    FollowingTracker(project, slug).sync()
    log = following_log_path(project, slug)
    if log.stat().st_size:
        report = log.with_name("report.md")
        text = following_report(project, slug)
        write_atomically(report, text)
        write_atomically(report.with_suffix(".html"), following_page(project, slug))
        show_report(slug, text)
        files = [project / ".dvc" / "config", log, report, *pointers]
        commit_files(project, following_ref(slug), files, f"{slug}: a day")

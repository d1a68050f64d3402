"""Follow a live competition on a schedule: fetch news, run a campaign, submit, record the rank."""

import argparse
import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from comind.app.campaign_slices import FollowingParams
from comind.app.following_report import following_page, following_report
from comind.app.params import read_params
from comind.app.paths import find_project, open_project, write_page_file
from comind.app.specification import check_budget
from comind.app.terminal.background import shown_in_background
from comind.campaign.log.campaign_settings import NONE, CampaignSettings
from comind.cli.arguments import EVERY_HOURS
from comind.cli.command import CommandResult
from comind.cli.settings_options import settings_given
from comind.errors import ComindError, UsageError
from comind.eventlog.log import LogTail
from comind.following.day import DayPlan
from comind.following.event_text import line_of
from comind.following.events import FOLLOWING_EVENTS, SubmissionApproved
from comind.following.history import (
    dated_notice,
    followed_competitions,
    read_days,
    todays_notices,
)
from comind.following.state import Following, FollowingLog, following_log_path, read_following
from comind.kaggle.fetch import slug_of
from comind.servers.orphans import close_killed_runs, terminate_orphans
from comind.servers.tool_servers import prefect_server
from comind.system.plurals import quantity
from comind.system.progress import step
from comind.wiring.competition_data import open_kaggle

_POLL_SECONDS = 1.0


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    if args.status and args.slug is None:
        return _all_statuses(find_project(args.out))
    slug = slug_of(args.slug)
    if slug is None:
        raise UsageError(f"{args.slug[:200]}: is no name of a competition on Kaggle")
    if args.status:
        return _status(find_project(args.out), slug, args.html)
    project = open_project(args.out)
    if args.allow:
        with FollowingLog(project, slug) as log:
            log.record(_approval(args.allow, log.state))
    try:
        _follow(args, project, slug)
    except ComindError as error:
        return CommandResult.failure(error, _values(slug, read_following(project, slug)))
    state = read_following(project, slug)
    return CommandResult(values=_values(slug, state), text=_text(slug, state))


def _all_statuses(project: Path) -> CommandResult:
    states = {slug: read_following(project, slug) for slug in followed_competitions(project)}
    lines = [f"{slug:40} {_line(state)}" for slug, state in states.items()]
    values = {"competitions": [_values(slug, state) for slug, state in states.items()]}
    return CommandResult(values=values, text="\n".join([*(lines or ["nothing is followed here"]), ""]))


def _status(project: Path, slug: str, page: str | None) -> CommandResult:
    if slug not in (known := followed_competitions(project)):
        raise UsageError(
            f"{slug} is not followed in {project}", hint=f"followed: {', '.join(known) or 'none'}"
        )
    state, days = read_following(project, slug), read_days(project, slug)
    history = [
        {"day": day.isoformat(), "events": [each.model_dump(mode="json") for each in events]}
        for day, events in days
    ]
    values = {**_values(slug, state), "days": history}
    if page is not None:
        write_page_file(Path(page), following_page(project, slug))
    return CommandResult(values=values, text=following_report(project, slug, terminal=True))


def _follow(args: argparse.Namespace, project: Path, slug: str) -> None:

    # Fail before the first run where a value is out of range or the credentials are missing.
    every, once, runs = args.every or EVERY_HOURS, args.once, args.runs
    settings = CampaignSettings.model_validate(settings_given(args))
    given = read_params(project).with_profile(args.profile).with_solve(settings.given())
    check_budget(given.solve)
    params = _params(args, settings, given.solve.max_usd)
    open_kaggle(given.kaggle)
    terminate_orphans(project)
    with prefect_server(project):
        with step("loading the flow"):  # Prefect, which it imports, reads its server's address on import
            from comind.cli.schedule import deploy, work
            from comind.servers.stopping import ended_by_signals
            from flows.track import follow_competition

            close_killed_runs(project)
        if once:
            with _printed_events(project, slug), ended_by_signals():
                follow_competition(project, slug, params)
            return
        made = deploy(project, slug, params, timedelta(hours=every))
        print(f"following {slug} every {quantity(every, 'hour')}; Ctrl-C ends it", file=sys.stderr)
        with _printed_events(project, slug):
            work(project, made, runs=runs, on_end=lambda run: _print_run(project, slug, run))


def _printed_events(project: Path, slug: str) -> AbstractContextManager[None]:
    """Print each new event of the log as a line on stderr while the block runs."""
    tail = LogTail(following_log_path(project, slug), FOLLOWING_EVENTS)
    for _ in tail.read():
        pass

    def show(ended: threading.Event) -> None:
        last = False
        with suppress(ComindError):  # the run itself reports a log that cannot be read
            while not last:
                last = ended.wait(_POLL_SECONDS)
                for record in tail.read():
                    if line := line_of(record.event):
                        print(f"{record.event.at:%Y-%m-%d %H:%M} {line}", file=sys.stderr, flush=True)

    return shown_in_background(show, "events")


def _params(
    args: argparse.Namespace, settings: CampaignSettings, usd: float | str | None
) -> FollowingParams:
    plan: dict[str, Any] = {
        "submit": args.submit,
        "minutes": settings.given().get("minutes"),
        "usd": None if usd == NONE else usd,
        "submissions": args.max_submissions,
    }
    return FollowingParams(
        plan=DayPlan.model_validate(_without_none(plan)), solve=settings, profile=args.profile
    )


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _approval(what: str, state: Following) -> Any:
    """Return the event that approves the waiting submission, or the changed rules."""
    observation, candidate = state.observation, state.candidate
    if observation is None:
        raise UsageError("--allow: nothing was seen yet", hint="run it once without --allow")
    if what == "rules":
        return SubmissionApproved(at=observation.at, rules_sha256=observation.rules_sha256)
    least = 6
    if candidate is None or len(what) < least or not candidate.sha256.startswith(what):
        waiting = candidate.sha256[:12] if candidate else "none"
        raise UsageError(f"--allow: {what[:80]} is not the file that waits", hint=f"it is {waiting}")
    return SubmissionApproved(at=observation.at, sha256=candidate.sha256)


def _print_run(project: Path, slug: str, run: Any) -> None:
    from comind.cli.schedule import failure_reason

    if run.state.is_completed():
        state = read_following(project, slug)
        line = "; ".join([_line(state), *todays_notices(state)])
    else:
        line = f"{run.state.name.lower()}: {failure_reason(run)}"
    print(f"{run.end_time or run.state.timestamp:%Y-%m-%d %H:%M} {line}", file=sys.stderr, flush=True)


def _values(slug: str, state: Following) -> dict[str, Any]:
    """Return the current status, for `--json`."""
    observation, candidate, standing = state.observation, state.candidate, state.standing
    final = bool(standing and standing.final)
    return {
        "competition": slug,
        "campaign": state.last_slice.campaign if state.last_slice else None,
        "deadline": observation.deadline.isoformat() if observation and observation.deadline else None,
        "validation_score": candidate.validation.value.value if candidate else None,
        "submissions": len(state.submissions),
        "public_score": None if final else getattr(standing, "score", None),
        "private_score": getattr(standing, "score", None) if final else None,
        **{name: getattr(standing, name, None) for name in ("rank", "teams", "percentile")},
        "decision": state.decision.verdict if state.decision else None,
        "reason": state.decision.reason if state.decision else None,
        "waiting": candidate.sha256
        if candidate and state.decision and state.decision.verdict == "ask"
        else None,
        "notices": [dated_notice(each) for each in state.notices],
    }


def _line(state: Following) -> str:
    """Return scores, rank and the last decision, in one line."""
    parts = []
    if state.candidate is not None:
        score = state.candidate.validation
        parts.append(f"validation {score}")
    if state.standing is not None:
        standing = state.standing
        place = f"rank {standing.rank} of {standing.teams}, percentile {standing.percentile:.0f}"
        half = "final: private" if standing.final else "public"
        parts.append(f"{half} {standing.score:g}, {place}")
    if state.decision is not None:
        parts.append(f"{state.decision.verdict}: {state.decision.reason}")
    if not parts and state.submissions:
        parts.append(f"not followed; {quantity(len(state.submissions), 'submission')}")
    return "; ".join(parts) or "nothing is known yet"


def _text(slug: str, state: Following) -> str:
    notices = "".join(f"  note        {each}\n" for each in todays_notices(state))
    return f"\n  {slug}\n  status      {_line(state)}\n{notices}"

"""Serve the client's competition service: metadata, data files, leaderboards and submissions."""

import csv
import io
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Literal

from comind.errors import LiveError
from comind.live.fault_injection import RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import build, competitions, file_entry, response, stable_id, to_json
from comind.live.leaderboards import LeaderboardEntry
from comind.live.routes import (
    FileContent,
    FileLink,
    RequestContext,
    RouteResponse,
    RouteTable,
    matches,
    page_response,
)
from comind.live.submissions import Submission

_FAR_FUTURE = datetime.max.replace(tzinfo=UTC)


def _list(request: Any, context: RequestContext) -> RouteResponse:
    hosts = context.catalog.hosted.values()
    found = [h for h in hosts if matches(request.search, f"{h.id} {h.competition.title}")]
    if request.group.name == "COMPETITION_LIST_TAB_ENTERED":
        found = [h for h in found if h.world.submissions(context.user)]
    latest = request.sort_by.name == "COMPETITION_SORT_BY_LATEST_DEADLINE"
    if latest or request.sort_by.name == "COMPETITION_SORT_BY_EARLIEST_DEADLINE":
        found.sort(key=lambda h: h.world.deadline or _FAR_FUTURE, reverse=latest)
    serialize = partial(_metadata, context)
    return page_response("ListCompetitions", "competitions", found, request, serialize)


def _get(request: Any, context: RequestContext) -> RouteResponse:
    return to_json(_metadata(context, context.catalog.find(request.competition_name)))


def _metadata(context: RequestContext, hosted: HostedCompetition) -> Any:
    world, conditions = hosted.world, context.catalog.faults.conditions(hosted.id)
    board = world.board("private" if world.final else "public")
    return build(
        competitions.ApiCompetition,
        id=stable_id(hosted.id, "competition", hosted.id),
        ref=hosted.id,
        title=hosted.competition.title,
        url=f"https://www.kaggle.com/competitions/{hosted.id}",
        description=hosted.competition.title,
        category="Replayed",
        deadline=world.deadline,
        kernel_count=len(world.community.view(world.clock.moment).notebooks),
        team_count=len(board.entries),
        user_has_entered=conditions.rules_accepted,
        user_rank=world.rank(context.user),
        max_daily_submissions=world.budget.submissions_per_day,
        evaluation_metric=hosted.competition.metric,
        is_kernels_submissions_only=conditions.code_only,
        submissions_disabled=conditions.closed or world.over,
    )


def _pages(request: Any, context: RequestContext) -> RouteResponse:
    pages = context.catalog.find(request.competition_name).pages()
    listed = [
        build(
            competitions.ApiCompetitionPage,
            name=name,
            content=text,
            is_published=True,
            mime_type="text/markdown",
        )
        for name, text in pages.items()
        if request.page_name in ("", None, name)
    ]
    return response("ListCompetitionPages", pages=listed)


# --- data ------------------------------------------------------------------------------------


def _files(request: Any, context: RequestContext) -> RouteResponse:
    hosted = context.catalog.find(request.competition_name)
    serialize = partial(file_entry, competitions.ApiDataFile)
    return page_response("ListDataFiles", "files", hosted.stat_files(hosted.files), request, serialize)


def _download_file(request: Any, context: RequestContext) -> RouteResponse:
    hosted = context.catalog.find_entered(request.competition_name)
    if hosted.files.find(request.file_name) is None:
        raise RouteError(404, "File not found")
    return FileLink("data", hosted.id, name=request.file_name)


def _download_files(request: Any, context: RequestContext) -> RouteResponse:
    return FileLink("data", context.catalog.find_entered(request.competition_name).id)


# --- leaderboard -----------------------------------------------------------------------------


def _leaderboard(request: Any, context: RequestContext) -> RouteResponse:
    world = context.catalog.find(request.competition_name).world
    private = world.final and not request.override_public
    board = world.leaderboard("private" if private else "public")
    return page_response("GetLeaderboard", "submissions", board.entries, request, _leaderboard_row)


def _leaderboard_row(entry: LeaderboardEntry) -> Any:
    return build(
        competitions.ApiLeaderboardSubmission,
        team_id=entry.team_id,
        team_name=entry.team,
        submission_date=entry.last_submission,
        score=entry.written,
    )


def _download_leaderboard(request: Any, context: RequestContext) -> RouteResponse:
    world = context.catalog.find(request.competition_name).world
    half: Literal["public", "private"] = "private" if world.final else "public"
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score"])
    for rank, entry in enumerate(world.leaderboard(half).entries, start=1):
        last = entry.last_submission
        at = last.strftime("%Y-%m-%d %H:%M:%S") if last else ""
        table.writerow([rank, entry.team_id, entry.team, at, entry.written])
    data = io.BytesIO()
    name = world.competition.id
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        file = zipfile.ZipInfo(f"{name}-{half}leaderboard.csv")
        archive.writestr(file, text.getvalue())
    return FileContent(data.getvalue(), f"{name}.zip", "application/zip")


# --- submissions -----------------------------------------------------------------------------


def _limits(request: Any, context: RequestContext) -> RouteResponse:
    limits = context.catalog.find(request.competition_name).world.limits(context.user)
    return to_json(
        build(
            competitions.ApiSubmissionLimits,
            num_today=limits.today,
            num_total=limits.total,
            num_allowed_now=limits.left,
            limited_by_total=limits.by_total,
        )
    )


def _find_open(name: str, context: RequestContext) -> HostedCompetition:
    """Return a competition that accepts a submission from this user now; `RouteError` otherwise."""
    hosted = context.catalog.find(name)
    conditions = context.catalog.faults.conditions(hosted.id)
    if not conditions.rules_accepted:
        raise RouteError(403, "You must accept this competition's rules before you can submit.")
    if conditions.closed:
        raise RouteError(400, "Submission not allowed: this competition takes no submissions.")
    if conditions.code_only:
        raise RouteError(
            400, "Submission not allowed: This competition only accepts Submissions from Notebooks."
        )
    try:
        hosted.world.check_open(context.user)
    except LiveError as error:
        raise RouteError(400, str(error)) from None
    return hosted


def _start_upload(request: Any, context: RequestContext) -> RouteResponse:
    if request.competition_name:
        _find_open(request.competition_name, context)
    name = PurePosixPath(request.file_name).name or "submission.csv"
    token = context.catalog.uploads.start(context.user, name, request.content_length)
    url = f"{context.base_url}/upload/{token}"
    return response("StartSubmissionUpload", token=token, create_url=url)


def _submit(request: Any, context: RequestContext) -> RouteResponse:
    hosted = _find_open(request.competition_name, context)
    upload = context.catalog.uploads.pop(request.blob_file_tokens, context.user)
    try:
        submission = hosted.world.accept(
            upload.path,
            request.submission_description,
            user=context.user,
            file_name=upload.name,
        )
    except LiveError as error:
        raise RouteError(400, str(error)) from None
    finally:
        upload.path.unlink(missing_ok=True)
    context.catalog.grade(hosted, submission.ref)
    message = f"Successfully submitted to {hosted.competition.title}"
    return response("CreateSubmission", ref=submission.ref, message=message)


def _submit_code(request: Any, context: RequestContext) -> RouteResponse:
    context.catalog.find(request.competition_name)
    raise RouteError(400, "Submission not allowed: notebooks are not run here.")


def _submissions(request: Any, context: RequestContext) -> RouteResponse:
    found = context.catalog.find(request.competition_name).world.submissions(context.user)[::-1]
    if request.group.name == "SUBMISSION_GROUP_SUCCESSFUL":
        found = [each for each in found if each.status == "complete"]
    return page_response("ListSubmissions", "submissions", found, request, _submission)


def _one_submission(request: Any, context: RequestContext) -> RouteResponse:
    return to_json(_submission(_find_own(request.ref, context)[1]))


def _download_submission(request: Any, context: RequestContext) -> RouteResponse:
    hosted, found = _find_own(request.submission_id, context)
    return FileLink("submission", hosted.id, ref=str(found.ref), name=found.file_name)


def _find_own(ref: int, context: RequestContext) -> tuple[HostedCompetition, Submission]:
    for hosted in context.catalog.hosted.values():
        found = hosted.world.submission(ref)
        if found is not None and found.user == context.user:
            return hosted, found
    raise RouteError(404, "Submission not found")


def _submission(submission: Submission) -> Any:
    """Serialize a submission, from which the world has removed scores that are not visible yet."""
    marks = submission.marks
    return build(
        competitions.ApiSubmission,
        ref=submission.ref,
        total_bytes=submission.total_bytes,
        date=submission.at,
        description=submission.description,
        error_description=marks.message if marks and not marks.valid else None,
        file_name=submission.file_name,
        public_score=_score(marks.public if marks else None),
        private_score=_score(marks.private if marks else None),
        status=competitions.SubmissionStatus[submission.status.upper()],
        submitted_by=submission.user,
        submitted_by_ref=submission.user,
        team_name=submission.user,
    )


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


COMPETITION_ROUTES: RouteTable = {
    "competitions.CompetitionApiService/ListCompetitions": _list,
    "competitions.CompetitionApiService/GetCompetition": _get,
    "competitions.CompetitionApiService/ListCompetitionPages": _pages,
    "competitions.CompetitionApiService/ListDataFiles": _files,
    "competitions.CompetitionApiService/DownloadDataFile": _download_file,
    "competitions.CompetitionApiService/DownloadDataFiles": _download_files,
    "competitions.CompetitionApiService/GetLeaderboard": _leaderboard,
    "competitions.CompetitionApiService/DownloadLeaderboard": _download_leaderboard,
    "competitions.CompetitionApiService/GetSubmissionLimits": _limits,
    "competitions.CompetitionApiService/StartSubmissionUpload": _start_upload,
    "competitions.CompetitionApiService/CreateSubmission": _submit,
    "competitions.CompetitionApiService/CreateCodeSubmission": _submit_code,
    "competitions.CompetitionApiService/ListSubmissions": _submissions,
    "competitions.CompetitionApiService/GetSubmission": _one_submission,
    "competitions.CompetitionApiService/DownloadSubmission": _download_submission,
}

"""What is answered about competitions, in the client's types."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from comind.live.standings import Entry
from comind.live.submissions import Submission
from comind.live.wire.types import Json, SubmissionStatus, competitions, made, security, written
from comind.live.world import Limits

__all__ = [
    "competition",
    "competition_list",
    "data_files",
    "leaderboard",
    "limits",
    "one",
    "pages",
    "submission",
    "submissions",
    "submitted",
    "token_holder",
    "upload",
]


def competition(**facts: Any) -> Any:
    """Return a competition, an object to be listed or written."""
    return made(competitions.ApiCompetition, **facts)


def one(thing: Any) -> Json:
    """Return an object of the client's as it is written."""
    answer: Json = thing.to_dict()
    return answer


def competition_list(listed: Sequence[Any], token: str) -> Json:
    """Return a page of competitions."""
    kind = competitions.ApiListCompetitionsResponse
    return written(kind, competitions=list(listed), next_page_token=token)


def pages(found: dict[str, str]) -> Json:
    """Return a competition's pages, texts by name."""
    listed = [
        made(
            competitions.ApiCompetitionPage,
            name=name,
            content=text,
            is_published=True,
            mime_type="text/markdown",
        )
        for name, text in found.items()
    ]
    return written(competitions.ApiListCompetitionPagesResponse, pages=listed)


def data_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of a competition's files: name, bytes, time."""
    listed = [
        made(competitions.ApiDataFile, ref=name, name=name, total_bytes=size, creation_date=time)
        for name, size, time in found
    ]
    return written(competitions.ApiListDataFilesResponse, files=listed, next_page_token=token)


def leaderboard(entries: Iterable[Entry], token: str) -> Json:
    """Return a page of a leaderboard."""
    listed = [
        made(
            competitions.ApiLeaderboardSubmission,
            team_id=entry.team_id,
            team_name=entry.team,
            submission_date=entry.at,
            score=entry.written,
        )
        for entry in entries
    ]
    return written(competitions.ApiGetLeaderboardResponse, submissions=listed, next_page_token=token)


def limits(found: Limits) -> Json:
    """Return how many submissions are left."""
    return written(
        competitions.ApiSubmissionLimits,
        num_today=found.today,
        num_total=found.total,
        num_allowed_now=found.left,
        limited_by_total=found.by_total,
    )


def upload(token: str, url: str) -> Json:
    """Return where a file is to be sent."""
    return written(competitions.ApiStartSubmissionUploadResponse, token=token, create_url=url)


def submitted(ref: int, message: str) -> Json:
    """Return that a submission was taken."""
    return written(competitions.ApiCreateSubmissionResponse, ref=ref, message=message)


def submission(found: Submission) -> Any:
    """Return a submission, an object; what its owner may not know has been taken out of it before."""
    marks = found.marks
    status = {
        "pending": SubmissionStatus.PENDING,
        "complete": SubmissionStatus.COMPLETE,
        "error": SubmissionStatus.ERROR,
    }
    return made(
        competitions.ApiSubmission,
        ref=found.ref,
        total_bytes=found.total_bytes,
        date=found.at,
        description=found.description,
        error_description=marks.message if marks and not marks.valid else None,
        file_name=found.file_name,
        public_score=_score(marks.public if marks else None),
        private_score=_score(marks.private if marks else None),
        status=status[found.status],
        submitted_by=found.user,
        submitted_by_ref=found.user,
        team_name=found.user,
    )


def submissions(found: Iterable[Any], token: str) -> Json:
    """Return a page of submissions."""
    kind = competitions.ApiListSubmissionsResponse
    return written(kind, submissions=list(found), next_page_token=token)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


def token_holder(user: str | None) -> Json:
    """Return whose token it is; None is nobody's."""
    return written(security.IntrospectTokenResponse, active=user is not None, username=user or "")

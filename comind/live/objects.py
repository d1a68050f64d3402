"""From the values of a world to the client's objects, which a response lists or holds."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from comind.domain.community import Comment, Dataset, Discussion, Notebook
from comind.live.standings import Entry
from comind.live.submissions import Submission
from comind.live.wire import (
    DatasetInfo,
    SettingsLicense,
    SubmissionStatus,
    competitions,
    datasets,
    discussions,
    kernels,
    made,
    number,
    utc,
)
from comind.live.world import Limits

__all__ = [
    "Branch",
    "comment",
    "data_file",
    "dataset",
    "dataset_info",
    "last_word",
    "leaderboard_row",
    "limits",
    "messages",
    "notebook",
    "notebook_file",
    "notebook_program",
    "page",
    "submission",
    "topic",
    "topic_of_competition",
]

Branch = tuple[Comment, Sequence["Branch"]]
"""A comment, and the answers to it."""
File = tuple[str, int, datetime]
"""Name, bytes, time."""

_STATUS = {
    "pending": SubmissionStatus.PENDING,
    "complete": SubmissionStatus.COMPLETE,
    "error": SubmissionStatus.ERROR,
}


# --- competitions --------------------------------------------------------------------------------


def page(name: str, text: str) -> Any:
    """Return one of a competition's pages."""
    return made(
        competitions.ApiCompetitionPage,
        name=name,
        content=text,
        is_published=True,
        mime_type="text/markdown",
    )


def data_file(kind: Any, file: File) -> Any:
    """Return a file of a competition's or a dataset's, which the client has one kind each for."""
    name, size, time = file
    return made(kind, ref=name, name=name, total_bytes=size, creation_date=time)


def leaderboard_row(entry: Entry) -> Any:
    """Return a row of a leaderboard."""
    return made(
        competitions.ApiLeaderboardSubmission,
        team_id=entry.team_id,
        team_name=entry.team,
        submission_date=entry.at,
        score=entry.written,
    )


def limits(found: Limits) -> Any:
    """Return how many submissions are left."""
    return made(
        competitions.ApiSubmissionLimits,
        num_today=found.today,
        num_total=found.total,
        num_allowed_now=found.left,
        limited_by_total=found.by_total,
    )


def submission(found: Submission) -> Any:
    """Return a submission, an object; what its owner may not know has been taken out of it before."""
    marks = found.marks
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
        status=_STATUS[found.status],
        submitted_by=found.user,
        submitted_by_ref=found.user,
        team_name=found.user,
    )


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


# --- notebooks and datasets ----------------------------------------------------------------------


def notebook(name: str, found: Notebook) -> Any:
    """Return what is known of a notebook, an object; its public score is nowhere told."""
    return made(
        kernels.ApiKernelMetadata,
        id=number(name, "notebook", found.ref),
        ref=found.ref,
        title=found.title,
        author=found.author,
        slug=found.ref.split("/")[1],
        last_run_time=found.created_at,
        language=found.language,
        kernel_type="script",
        is_private=False,
        dataset_data_sources=list(found.datasets),
        kernel_data_sources=list(found.notebooks),
        competition_data_sources=[name],
        total_votes=found.votes,
        current_version_number=found.version,
    )


def notebook_program(found: Notebook) -> Any:
    """Return a notebook's program, an object."""
    return made(
        kernels.ApiKernelBlob,
        source=found.source,
        language=found.language,
        kernel_type="script",
        slug=found.ref.split("/")[1],
    )


def notebook_file(file: File) -> Any:
    """Return one of the files that a notebook left behind."""
    name, size, time = file
    return made(kernels.ApiListKernelFilesItem, name=name, size=size, creation_date=f"{utc(time)}Z")


def dataset(name: str, found: Dataset, total_bytes: int) -> Any:
    """Return what is known of a dataset, an object."""
    owner = found.ref.split("/")[0]
    return made(
        datasets.ApiDataset,
        id=number(name, "dataset", found.ref),
        ref=found.ref,
        title=found.title,
        creator_name=owner,
        owner_name=owner,
        owner_ref=owner,
        total_bytes=total_bytes,
        last_updated=found.published_at,
        license_name=found.licence,
        current_version_number=found.version,
    )


def dataset_info(name: str, found: Dataset) -> Any:
    """Return a dataset's description."""
    owner, slug = found.ref.split("/")
    return made(
        DatasetInfo,
        dataset_id=number(name, "dataset", found.ref),
        dataset_slug=slug,
        owner_user=owner,
        title=found.title,
        licenses=[made(SettingsLicense, name=found.licence)] if found.licence else None,
    )


# --- discussions ---------------------------------------------------------------------------------


def last_word(found: Discussion) -> datetime | None:
    """Return when somebody last wrote in a discussion."""
    times = (found.posted_at, *(comment.posted_at for comment in found.comments))
    return max((time for time in times if time), default=None)


def topic_of_competition(name: str, found: Discussion) -> Any:
    """Return a discussion as the list of a competition's shows it, an object."""
    identity = number(name, "topic", found.id)
    return made(
        competitions.ApiCompetitionTopic,
        id=identity,
        title=found.title,
        topic_url=f"/competitions/{name}/discussion/{identity}",
        author_name=found.author,
        comment_count=len(found.comments),
        votes=found.votes,
        post_date=found.posted_at,
        last_comment_post_date=last_word(found),
    )


def topic(name: str, found: Discussion) -> Any:
    """Return a discussion with its text, an object."""
    identity = number(name, "topic", found.id)
    return made(
        discussions.ApiDiscussionTopic,
        id=identity,
        title=found.title,
        url=f"/competitions/{name}/discussion/{identity}",
        post_date=found.posted_at,
        last_comment_date=last_word(found),
        author_name=found.author,
        author_url=f"/{found.author}",
        votes=found.votes,
        comment_count=len(found.comments),
        forum_name=name,
        forum_id=number(name, "forum", name),
        content=found.body,
    )


def messages(name: str, found: Discussion, tree: Sequence[Branch]) -> list[Any]:
    """Return a discussion as a tree of messages, its own text first."""
    return [_message(name, "topic", found, []), *(_branch(name, branch) for branch in tree)]


def _branch(name: str, branch: Branch) -> Any:
    found, answers = branch
    return _message(name, "comment", found, [_branch(name, answer) for answer in answers])


def _message(name: str, kind: str, found: Discussion | Comment, answers: list[Any]) -> Any:
    return made(
        competitions.ApiTopicMessage,
        id=number(name, kind, found.id),
        post_date=found.posted_at,
        content=found.body,
        raw_markdown=found.body,
        author_name=found.author,
        votes=found.votes,
        replies=answers,
    )


def comment(name: str, branch: Branch) -> Any:
    """Return a comment with the answers to it, an object."""
    found, answers = branch
    return made(
        discussions.ApiDiscussionComment,
        id=number(name, "comment", found.id),
        author_name=found.author,
        author_url=f"/{found.author}",
        post_date=found.posted_at,
        content=found.body,
        votes=found.votes,
        replies=[comment(name, answer) for answer in answers],
    )

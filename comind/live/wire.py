"""The official client's own request and response types: the schema of the server, met only here.

Answers are built from the client's classes, whose setters check every field, and written by their own
serialisation; requests are read by it, and what is not of a field's type is refused.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.competitions.types.submission_status import SubmissionStatus
from kagglesdk.datasets.types import dataset_api_service as datasets
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus
from kagglesdk.datasets.types.dataset_types import DatasetInfo, SettingsLicense
from kagglesdk.discussions.types import discussions_api_service as discussions
from kagglesdk.kernels.types import kernels_api_service as kernels
from kagglesdk.kernels.types.kernels_enums import KernelWorkerStatus
from kagglesdk.security.types import oauth_service as security

from comind.domain.community import Comment, Dataset, Discussion, Notebook
from comind.live.standings import Entry
from comind.live.submissions import Submission
from comind.live.world import Limits

__all__ = ["REQUESTS", "number", "read_request"]

Json = dict[str, Any]

_COMPETITIONS = "competitions.CompetitionApiService"
_KERNELS = "kernels.KernelsApiService"
_DATASETS = "datasets.DatasetApiService"
_DISCUSSIONS = "discussions.DiscussionApiService"

REQUESTS: dict[str, Any] = {
    **{
        f"{_COMPETITIONS}/{name}": getattr(competitions, f"Api{name}Request")
        for name in (
            "ListCompetitions",
            "GetCompetition",
            "ListCompetitionPages",
            "ListDataFiles",
            "DownloadDataFile",
            "DownloadDataFiles",
            "GetLeaderboard",
            "DownloadLeaderboard",
            "GetSubmissionLimits",
            "StartSubmissionUpload",
            "CreateSubmission",
            "CreateCodeSubmission",
            "ListSubmissions",
            "GetSubmission",
            "DownloadSubmission",
            "ListCompetitionTopics",
            "ListTopicMessages",
        )
    },
    **{
        f"{_KERNELS}/{name}": getattr(kernels, f"Api{name}Request")
        for name in (
            "ListKernels",
            "GetKernel",
            "ListKernelFiles",
            "ListKernelSessionOutput",
            "GetKernelSessionStatus",
        )
    },
    **{
        f"{_DATASETS}/{name}": getattr(datasets, f"Api{name}Request")
        for name in (
            "ListDatasets",
            "GetDataset",
            "GetDatasetMetadata",
            "GetDatasetStatus",
            "ListDatasetFiles",
            "DownloadDataset",
        )
    },
    **{
        f"{_DISCUSSIONS}/{name}": getattr(discussions, f"Api{name}Request")
        for name in ("ListTopics", "GetTopic", "ListComments")
    },
    "security.OAuthService/IntrospectToken": security.IntrospectTokenRequest,
}
"""Every route that is served, by the name in its path, with what is asked there."""

_KEPT_FROM = 100_000  # Kaggle's own numbers are unique on the whole site; small ones are somebody's own


def read_request(method: str, body: Any) -> Any:
    """Return what is asked. ValueError where the body does not have the form of this route's request."""
    kind = REQUESTS[method]
    if not isinstance(body, dict):
        raise ValueError("the body is no JSON object")  # noqa: TRY004 - one kind of error for all
    for field in kind._fields:
        value = body.get(field.json_name)
        if field.field_type in (str, int, bool) and value is not None:
            whole = field.field_type is int and isinstance(value, bool)
            if not isinstance(value, field.field_type) or whole:
                raise ValueError(f"{field.json_name} is not of type {field.field_type.__name__}")
    try:
        return kind.from_dict({key: value for key, value in body.items() if value is not None})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("a field has a value that is not known") from None


def number(competition: str, kind: str, identity: str) -> int:
    """Return the number under which the client knows something; the same in every world.

    It depends on the thing alone, never on what else there is, as that might be from later.
    """
    if identity.isdecimal() and _KEPT_FROM <= int(identity) < 1 << 40:
        return int(identity)
    digest = hashlib.sha256(f"{competition}\n{kind}\n{identity}".encode()).digest()
    return (1 << 40) + int.from_bytes(digest[:5])


def _made(kind: Any, **fields: Any) -> Any:
    """Return an object of the client's, None left out; its setters check the types."""
    made = kind()
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, _utc(value) if isinstance(value, datetime) else value)
    return made


def _utc(time: datetime) -> datetime:
    """Return a time as the client writes it: in UTC, without saying so."""
    return time.astimezone(UTC).replace(tzinfo=None)


def _written(kind: Any, **fields: Any) -> Json:
    answer: Json = _made(kind, **fields).to_dict()
    return answer


# --- competitions ---------------------------------------------------------------------------------


def competition(**facts: Any) -> Any:
    """Return a competition, an object to be listed or written."""
    return _made(competitions.ApiCompetition, **facts)


def one(thing: Any) -> Json:
    """Return an object of the client's as it is written."""
    written: Json = thing.to_dict()
    return written


def competition_list(listed: Sequence[Any], token: str) -> Json:
    """Return a page of competitions."""
    kind = competitions.ApiListCompetitionsResponse
    return _written(kind, competitions=list(listed), next_page_token=token)


def pages(found: dict[str, str]) -> Json:
    """Return a competition's pages, texts by name."""
    made = [
        _made(
            competitions.ApiCompetitionPage,
            name=name,
            content=text,
            is_published=True,
            mime_type="text/markdown",
        )
        for name, text in found.items()
    ]
    return _written(competitions.ApiListCompetitionPagesResponse, pages=made)


def data_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of a competition's files: name, bytes, time."""
    made = [
        _made(competitions.ApiDataFile, ref=name, name=name, total_bytes=size, creation_date=time)
        for name, size, time in found
    ]
    return _written(competitions.ApiListDataFilesResponse, files=made, next_page_token=token)


def leaderboard(entries: Iterable[Entry], token: str) -> Json:
    """Return a page of a leaderboard."""
    made = [
        _made(
            competitions.ApiLeaderboardSubmission,
            team_id=entry.team_id,
            team_name=entry.team,
            submission_date=entry.at,
            score=entry.written,
        )
        for entry in entries
    ]
    return _written(competitions.ApiGetLeaderboardResponse, submissions=made, next_page_token=token)


def limits(found: Limits) -> Json:
    """Return how many submissions are left."""
    return _written(
        competitions.ApiSubmissionLimits,
        num_today=found.today,
        num_total=found.total,
        num_allowed_now=found.left,
        limited_by_total=found.by_total,
    )


def upload(token: str, url: str) -> Json:
    """Return where a file is to be sent."""
    return _written(competitions.ApiStartSubmissionUploadResponse, token=token, create_url=url)


def submitted(ref: int, message: str) -> Json:
    """Return that a submission was taken."""
    return _written(competitions.ApiCreateSubmissionResponse, ref=ref, message=message)


def submission(found: Submission) -> Any:
    """Return a submission, an object; what its owner may not know has been taken out of it before."""
    marks = found.marks
    status = {
        "pending": SubmissionStatus.PENDING,
        "complete": SubmissionStatus.COMPLETE,
        "error": SubmissionStatus.ERROR,
    }
    return _made(
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
    return _written(kind, submissions=list(found), next_page_token=token)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


# --- discussions ----------------------------------------------------------------------------------


def _comment_count(found: Discussion) -> int:
    return len(found.comments)


def last_word(found: Discussion) -> datetime | None:
    """Return when somebody last wrote in a discussion."""
    times = (found.posted_at, *(comment.posted_at for comment in found.comments))
    return max((time for time in times if time), default=None)


def competition_topics(name: str, found: Iterable[Discussion], total: int) -> Json:
    """Return a page of a competition's discussions."""
    made = [
        _made(
            competitions.ApiCompetitionTopic,
            id=number(name, "topic", topic.id),
            title=topic.title,
            topic_url=f"/competitions/{name}/discussion/{number(name, 'topic', topic.id)}",
            author_name=topic.author,
            comment_count=_comment_count(topic),
            votes=topic.votes,
            post_date=topic.posted_at,
            last_comment_post_date=last_word(topic),
        )
        for topic in found
    ]
    return _written(competitions.ApiListCompetitionTopicsResponse, topics=made, total_count=total)


def messages(name: str, topic: Discussion | None, tree: Sequence["Branch"]) -> Json:
    """Return a discussion as a tree of messages, its own text first where `topic` is given."""
    first = []
    if topic is not None:
        kept = Comment(
            id=topic.id,
            author=topic.author,
            posted_at=topic.posted_at,
            votes=topic.votes,
            body=topic.body,
        )
        first = [_message(name, "topic", kept, [])]
    made = [_messages(name, branch) for branch in tree]
    return _written(competitions.ApiListTopicMessagesResponse, messages=[*first, *made])


Branch = tuple[Comment, Sequence["Branch"]]
"""A comment, and the answers to it."""


def _messages(name: str, branch: Branch) -> Any:
    comment, answers = branch
    return _message(name, "comment", comment, [_messages(name, answer) for answer in answers])


def _message(name: str, kind: str, comment: Comment, answers: list[Any]) -> Any:
    return _made(
        competitions.ApiTopicMessage,
        id=number(name, kind, comment.id),
        post_date=comment.posted_at,
        content=comment.body,
        raw_markdown=comment.body,
        author_name=comment.author,
        votes=comment.votes,
        replies=answers,
    )


def topic(name: str, found: Discussion) -> Any:
    """Return a discussion with its text, an object."""
    identity = number(name, "topic", found.id)
    return _made(
        discussions.ApiDiscussionTopic,
        id=identity,
        title=found.title,
        url=f"/competitions/{name}/discussion/{identity}",
        post_date=found.posted_at,
        last_comment_date=last_word(found),
        author_name=found.author,
        author_url=f"/{found.author}",
        votes=found.votes,
        comment_count=_comment_count(found),
        forum_name=name,
        forum_id=number(name, "forum", name),
        content=found.body,
    )


def one_topic(found: Any) -> Json:
    """Return the answer that holds one discussion."""
    return _written(discussions.ApiGetTopicResponse, topic=found)


def topics(found: Sequence[Any], total: int, token: str) -> Json:
    """Return a page of discussions."""
    kind = discussions.ApiListTopicsResponse
    return _written(kind, topics=list(found), total_count=total, next_page_token=token)


def comments(name: str, tree: Sequence[Branch], token: str) -> Json:
    """Return a page of comments with the answers to them."""
    kind = discussions.ApiListCommentsResponse
    made = [_discussion_comment(name, branch) for branch in tree]
    return _written(kind, comments=made, next_page_token=token)


def _discussion_comment(name: str, branch: Branch) -> Any:
    comment, answers = branch
    return _made(
        discussions.ApiDiscussionComment,
        id=number(name, "comment", comment.id),
        author_name=comment.author,
        author_url=f"/{comment.author}",
        post_date=comment.posted_at,
        content=comment.body,
        votes=comment.votes,
        replies=[_discussion_comment(name, answer) for answer in answers],
    )


# --- notebooks ------------------------------------------------------------------------------------


def notebook(name: str, found: Notebook) -> Any:
    """Return what is known of a notebook, an object; its public score is nowhere told."""
    return _made(
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


def notebooks(found: Sequence[Any], token: str) -> Json:
    """Return a page of notebooks."""
    return _written(kernels.ApiListKernelsResponse, kernels=list(found), next_page_token=token)


def notebook_with_source(name: str, found: Notebook) -> Json:
    """Return a notebook with its program."""
    blob = _made(
        kernels.ApiKernelBlob,
        source=found.source,
        language=found.language,
        kernel_type="script",
        slug=found.ref.split("/")[1],
    )
    return _written(kernels.ApiGetKernelResponse, metadata=notebook(name, found), blob=blob)


def notebook_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of what a notebook left behind: name, bytes, time."""
    made = [
        _made(kernels.ApiListKernelFilesItem, name=name, size=size, creation_date=f"{_utc(time)}Z")
        for name, size, time in found
    ]
    return _written(kernels.ApiListKernelFilesResponse, files=made, next_page_token=token)


def notebook_output(found: Iterable[tuple[str, str]], token: str) -> Json:
    """Return a page of what a notebook left behind: name, address."""
    made = [_made(kernels.ApiKernelSessionOutputFile, file_name=name, url=url) for name, url in found]
    kind = kernels.ApiListKernelSessionOutputResponse
    return _written(kind, files=made, next_page_token=token)


def notebook_status() -> Json:
    """Return that a notebook has run to its end."""
    kind = kernels.ApiGetKernelSessionStatusResponse
    return _written(kind, status=KernelWorkerStatus.COMPLETE)


# --- datasets -------------------------------------------------------------------------------------


def dataset(name: str, found: Dataset, total_bytes: int) -> Any:
    """Return what is known of a dataset, an object."""
    owner = found.ref.split("/")[0]
    return _made(
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


def dataset_list(found: Sequence[Any], token: str) -> Json:
    """Return a page of datasets."""
    return _written(datasets.ApiListDatasetsResponse, datasets=list(found), next_page_token=token)


def dataset_metadata(name: str, found: Dataset) -> Json:
    """Return a dataset's description."""
    owner, slug = found.ref.split("/")
    info = _made(
        DatasetInfo,
        dataset_id=number(name, "dataset", found.ref),
        dataset_slug=slug,
        owner_user=owner,
        title=found.title,
        licenses=[_made(SettingsLicense, name=found.licence)] if found.licence else None,
    )
    return _written(datasets.ApiGetDatasetMetadataResponse, info=info)


def dataset_files(found: Iterable[tuple[str, int, datetime]], token: str) -> Json:
    """Return a page of a dataset's files: name, bytes, time."""
    made = [
        _made(datasets.ApiDatasetFile, ref=name, name=name, total_bytes=size, creation_date=time)
        for name, size, time in found
    ]
    kind = datasets.ApiListDatasetFilesResponse
    return _written(kind, dataset_files=made, next_page_token=token)


def dataset_status() -> Json:
    """Return that a dataset can be used."""
    kind = datasets.ApiGetDatasetStatusResponse
    return _written(kind, status=DatabundleVersionStatus.READY)


# --- who asks -------------------------------------------------------------------------------------


def token_holder(user: str | None) -> Json:
    """Return whose token it is; None is nobody's."""
    return _written(security.IntrospectTokenResponse, active=user is not None, username=user or "")

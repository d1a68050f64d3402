"""The port to Kaggle through its official client; the one module that knows it, and finds credentials.

Credentials are whatever the client finds: KAGGLE_API_TOKEN, KAGGLE_USERNAME with KAGGLE_KEY, or its
files. They stay in the client: nothing here returns, prints or writes them.
"""

import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.competitions.types.competition_enums import SubmissionGroup, SubmissionSortBy
from kagglesdk.datasets.types.dataset_api_service import ApiListDatasetsRequest
from kagglesdk.discussions.types import discussions_api_service as discussions
from kagglesdk.discussions.types.discussions_enums import TopicListSortBy
from kagglesdk.kaggle_client import KaggleClient
from kagglesdk.kaggle_env import KaggleEnv
from kagglesdk.kernels.types.kernels_api_service import ApiGetKernelRequest, ApiListKernelsRequest
from kagglesdk.kernels.types.kernels_enums import KernelsListSortType, KernelsListViewType
from requests.adapters import HTTPAdapter

from comind.errors import (
    KaggleAccountError,
    KaggleBusyError,
    KaggleRefusedError,
    KaggleUnknownError,
    UsageError,
)
from comind.kaggle.facts import (
    Chunk,
    CommentFacts,
    CompetitionFacts,
    DataFile,
    DatasetFacts,
    LeaderboardRow,
    Limits,
    NotebookFacts,
    NotebookOrder,
    Page,
    Received,
    SubmissionFacts,
    TopicFacts,
    TopicOrder,
)
from comind.kaggle.received import md5_sent, name_sent
from comind.kaggle.refusals import CREDENTIALS, explain
from comind.kaggle.wire import (
    comments_of,
    competition_of,
    dataset_of,
    file_of,
    last_part,
    limits_of,
    notebook_of,
    page_of,
    row_of,
    submission_of,
    topic_of,
)

__all__ = ["OfficialKaggle"]

T = TypeVar("T")

_CONNECT_SECONDS, _READ_SECONDS = 15.0, 120.0
_CHUNK = 100
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")
_ORDERS = {
    "votes": "VOTE_COUNT",
    "score-ascending": "SCORE_ASCENDING",
    "score-descending": "SCORE_DESCENDING",
    "newest": "DATE_RUN",
}


class OfficialKaggle:
    """The official client behind our port."""

    def __init__(
        self, endpoint: str | None = None, hear: Callable[[datetime], None] | None = None
    ) -> None:
        """Take the credentials that the client finds; nothing is sent for a user name with key.

        Args:
            endpoint: another server that speaks Kaggle's language, such as `comind live serve`; None
                for Kaggle itself.
            hear: is told with each answer what time it is there.

        Raises:
            UsageError: `endpoint` is no address that credentials may be sent to.
            KaggleError: there are no credentials, or they cannot be used.
        """
        self._endpoint = _checked(endpoint) if endpoint else None
        self._api = _signed_in(self._endpoint, hear or (lambda _: None))
        self._client = self._api.build_kaggle_client()
        values = self._api.config_values
        self._secrets = [values[key] for key in ("key", "token") if values.get(key)]
        self._competitions = self._client.competitions.competition_api_client
        self._kernels = self._client.kernels.kernels_api_client
        self._discussions = self._client.discussions.discussion_api_client

    def account(self) -> str:
        """Return the name of whoever the credentials belong to, once Kaggle has accepted them."""
        request = _made(competitions.ApiListCompetitionsRequest, page=1, page_size=1)
        with self._explained("the account"):
            self._competitions.list_competitions(request)
        return str(self._api.config_values.get("username") or "")

    def competition(self, slug: str) -> CompetitionFacts:
        """Return the facts of a competition."""
        request = _made(competitions.ApiGetCompetitionRequest, competition_name=slug)
        try:
            with self._explained("the competition", slug):
                return competition_of(self._competitions.get_competition(request))
        except (KaggleRefusedError, KaggleUnknownError):
            return self._listed(slug)

    def _listed(self, slug: str) -> CompetitionFacts:
        """Return the facts from the list; not every server and account is shown a competition alone."""
        request = _made(competitions.ApiListCompetitionsRequest, search=slug, page=1)
        with self._explained("the competition", slug):
            for each in self._competitions.list_competitions(request).competitions or ():
                if last_part(each.ref) == slug:
                    return competition_of(each)
        raise KaggleUnknownError(
            f"{slug}: Kaggle has no such competition, or does not show it to this account",
            hint=f"the name is the last part of its address, https://www.kaggle.com/competitions/{slug}",
        )

    def pages(self, slug: str) -> tuple[Page, ...]:
        """Return a competition's pages."""
        request = _made(competitions.ApiListCompetitionPagesRequest, competition_name=slug)
        with self._explained("the pages", slug):
            answer = self._competitions.list_competition_pages(request)
            return tuple(page_of(each) for each in answer.pages or ())

    def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
        """Return a part of the list of data files."""
        request = _made(
            competitions.ApiListDataFilesRequest,
            competition_name=slug,
            page_size=2 * _CHUNK,
            page_token=at or "",
        )
        with self._explained("the data files", slug):
            answer = self._competitions.list_data_files(request)
            return _chunk(answer, answer.files, file_of)

    def download(self, slug: str, name: str | None, target: Path) -> Received:
        """Write a data file to `target`; a part that lies there and is of this file is gone on with."""
        with self._explained("all data files" if name is None else f"the file {name}", slug):
            with self._opened(slug, name) as response:
                # The rest of a file can be asked for by its address; a call's body is not sent again.
                resume = response.request.method == "GET"
                self._api.download_file(
                    response,
                    str(target),
                    self._client.http_client(),
                    quiet=True,
                    resume=resume,
                    max_retries=0,  # whoever is behind the port waits and asks again
                )
            return Received(path=target, name=name_sent(response, name), md5=md5_sent(response))

    def _opened(self, slug: str, name: str | None) -> requests.Response:
        """Ask for a file, or for all; return the answer before its content is read."""
        response: requests.Response
        if name is None:
            everything = _made(competitions.ApiDownloadDataFilesRequest, competition_name=slug)
            response = self._competitions.download_data_files(everything)
        else:
            kind = competitions.ApiDownloadDataFileRequest
            request = _made(kind, competition_name=slug, file_name=name)
            response = self._competitions.download_data_file(request)
        return response

    def leaderboard(self, slug: str, at: str | None = None) -> Chunk[LeaderboardRow]:
        """Return a part of the public leaderboard, best first."""
        request = _made(
            competitions.ApiGetLeaderboardRequest,
            competition_name=slug,
            page_size=2 * _CHUNK,
            page_token=at or "",
        )
        with self._explained("the leaderboard", slug):
            answer = self._competitions.get_leaderboard(request)
            return _chunk(answer, answer.submissions, row_of)

    def notebooks(self, slug: str, order: NotebookOrder, at: str | None = None) -> Chunk[NotebookFacts]:
        """Return a part of the list of public notebooks."""
        request = _made(
            ApiListKernelsRequest,
            competition=slug,
            page_size=_CHUNK,
            group=KernelsListViewType.EVERYONE,
            sort_by=KernelsListSortType[_ORDERS[order]],
            language="all",
            kernel_type="all",
            output_type="all",
            **_place(at),
        )
        with self._explained("the notebooks", slug):
            answer = self._kernels.list_kernels(request)
            return _chunk(answer, answer.kernels, notebook_of)

    def notebook(self, ref: str) -> NotebookFacts:
        """Return the newest version of a notebook, with its source."""
        owner, _, name = ref.partition("/")
        request = _made(ApiGetKernelRequest, user_name=owner, kernel_slug=name)
        with self._explained("the notebook", ref):
            answer = self._kernels.get_kernel(request)
            return notebook_of(answer.metadata, answer.blob.source or "")

    def topics(self, slug: str, order: TopicOrder, at: str | None = None) -> Chunk[TopicFacts]:
        """Return a part of the list of discussions; the place is `page:seen`, as there is no token."""
        page, seen = map(int, (at or "1:0").split(":"))
        by = TopicListSortBy[f"TOPIC_LIST_SORT_BY_{order.upper()}"]
        kind = competitions.ApiListCompetitionTopicsRequest
        request = _made(kind, competition_name=slug, page=page, sort_by=by)
        with self._explained("the discussions", slug):
            answer = self._competitions.list_competition_topics(request)
            items = tuple(topic_of(each) for each in answer.topics or ())
            seen += len(items)
            more = bool(items) and seen < (answer.total_count or 0)
            return Chunk(items=items, following=f"{page + 1}:{seen}" if more else None)

    def topic(self, number: int) -> TopicFacts:
        """Return a discussion with its body."""
        request = _made(discussions.ApiGetTopicRequest, id=number)
        with self._explained("the discussion", str(number)):
            return topic_of(self._discussions.get_topic(request).topic)

    def comments(self, number: int, at: str | None = None) -> Chunk[CommentFacts]:
        """Return a part of a discussion's comments, answers after what they answer."""
        request = _made(discussions.ApiListCommentsRequest, topic_id=number, page_token=at or "")
        with self._explained("the comments", str(number)):
            answer = self._discussions.list_comments(request)
            items = tuple(comments_of(answer.comments))
            return Chunk(items=items, following=answer.next_page_token or None)

    def datasets(self, words: str, at: str | None = None) -> Chunk[DatasetFacts]:
        """Return a part of the public datasets that are found by these words."""
        request = _made(ApiListDatasetsRequest, search=words, **_place(at))
        with self._explained("the datasets", words):
            answer = self._client.datasets.dataset_api_client.list_datasets(request)
            return _chunk(answer, answer.datasets, dataset_of)

    def limits(self, slug: str) -> Limits:
        """Return how many submissions are left."""
        request = _made(competitions.ApiGetSubmissionLimitsRequest, competition_name=slug)
        with self._explained("the submission limits", slug):
            return limits_of(self._competitions.get_submission_limits(request))

    def submissions(self, slug: str, at: str | None = None) -> Chunk[SubmissionFacts]:
        """Return a part of our own submissions, newest first."""
        request = _made(
            competitions.ApiListSubmissionsRequest,
            competition_name=slug,
            group=SubmissionGroup.SUBMISSION_GROUP_ALL,
            sort_by=SubmissionSortBy.SUBMISSION_SORT_BY_DATE,
            page_size=_CHUNK,
            **_place(at),
        )
        with self._explained("the submissions", slug):
            answer = self._competitions.list_submissions(request)
            return _chunk(answer, answer.submissions, submission_of)

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Hand in a file; return the reference that `submissions` lists it by."""
        token = self._uploaded(slug, file)
        request = _made(
            competitions.ApiCreateSubmissionRequest,
            competition_name=slug,
            blob_file_tokens=token,
            submission_description=message,
        )
        with self._explained("the submission", slug):
            return str(self._competitions.create_submission(request).ref or "")

    def _uploaded(self, slug: str, file: Path) -> str:
        """Send the file; return the token it is known by. Nothing is handed in yet."""
        from kaggle.api.kaggle_api_extended import ResumableUploadResult

        facts = file.stat()
        request = _made(
            competitions.ApiStartSubmissionUploadRequest,
            competition_name=slug,
            file_name=file.name,
            content_length=facts.st_size,
            last_modified_epoch_seconds=int(facts.st_mtime),
        )
        try:
            with self._explained("the upload", slug):
                answer = self._competitions.start_submission_upload(request)
        except KaggleBusyError as error:
            error.perhaps_done = False
            raise
        with contextlib.redirect_stdout(io.StringIO()):  # a failure is printed, with a signed address
            done = self._api.upload_complete(str(file), answer.create_url, quiet=True)
        if done != ResumableUploadResult.COMPLETE:
            raise KaggleBusyError(
                f"{slug}: the upload of {file.name} did not succeed",
                hint="nothing was handed in; try again",
                perhaps_done=False,
            )
        return str(answer.token)

    @contextlib.contextmanager
    def _explained(self, what: str, slug: str = "") -> Iterator[None]:
        """Raise what the client raises as errors of ours."""
        try:
            yield
        except Exception as error:
            known = explain(error, what, slug, self._secrets)
            if known is error:
                raise
            raise known from None


class _Patient(HTTPAdapter):
    """Sends as requests does, but waits for nobody for ever."""

    def send(self, request: Any, **options: Any) -> Any:  # type: ignore[override]
        options["timeout"] = options.get("timeout") or (_CONNECT_SECONDS, _READ_SECONDS)
        return super().send(request, **options)


def _patient(client: Any) -> Any:
    """Return the client with an end to its patience; it has no setting for this."""
    client.__enter__()
    for scheme in ("http://", "https://"):
        client.http_client()._session.mount(scheme, _Patient())  # noqa: SLF001
    return client


def _checked(endpoint: str) -> str:
    """Return an address without its last slash; keys go unencrypted to our own machine alone."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"kaggle endpoint {endpoint!r}: is no address", hint="http://127.0.0.1:8080")
    if parts.scheme == "http" and parts.hostname not in _OWN_MACHINE:
        raise UsageError(
            f"kaggle endpoint {endpoint!r}: credentials would go there unencrypted", hint="use https"
        )
    return endpoint.rstrip("/")


def _signed_in(endpoint: str | None, hear: Callable[[datetime], None]) -> Any:
    """Return the client, with the credentials that it finds.

    Raises:
        KaggleError: there are none, or they cannot be used.
    """
    missing = KaggleAccountError("no credentials for Kaggle were found", hint=CREDENTIALS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # its help would be an answer of ours
            api = _class(endpoint, hear)()
            api.authenticate()
    except SystemExit:
        raise missing from None
    except Exception as error:
        known = explain(error, "the credentials", "", ())
        if known is error:
            raise
        raise known from None
    return api


def _class(endpoint: str | None, hear: Callable[[datetime], None]) -> Any:
    """Return the client's class, quiet and bound to an endpoint."""
    if "kaggle" not in sys.modules:
        # The package signs in while it is imported: it sends the token, prints, and may end the
        # process. Its modules are wanted without that.
        spec = importlib.util.find_spec("kaggle")
        assert spec is not None
        sys.modules["kaggle"] = importlib.util.module_from_spec(spec)
    from kaggle.api.kaggle_api_extended import KaggleApi

    class Api(KaggleApi):  # type: ignore[misc]
        args = [each for each in KaggleApi.args if each != "--verbose"]  # it would print the key

        def get_response_processor(self) -> Callable[[requests.Response], None]:
            """Look at each answer for the time, and not for newer versions, which would be printed."""

            def process(response: requests.Response) -> None:
                with contextlib.suppress(ValueError):
                    hear(parsedate_to_datetime(response.headers.get("Date", "")))

            return process

        def build_kaggle_client(self) -> Any:
            if endpoint is None:
                return _patient(super().build_kaggle_client())
            client = KaggleClient(
                env=KaggleEnv.LOCAL,
                username=self.config_values.get("username"),
                password=self.config_values.get("key"),
                api_token=self.config_values.get("token"),
                response_processor=self.get_response_processor(),
            )
            client.http_client()._endpoint = endpoint  # noqa: SLF001 - the client knows only its own
            return _patient(client)

    return Api


def _made(kind: Any, **fields: Any) -> Any:
    """Return a request of the client's with these fields."""
    request = kind()
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def _place(at: str | None) -> dict[str, Any]:
    """Return the fields that name a place in a list that has both numbers and tokens."""
    return {"page": 1} if at is None else {"page_token": at}


def _chunk(answer: Any, items: Any, make: Callable[[Any], T]) -> Chunk[T]:
    """Return the items of an answer that names the next place in its list."""
    found = tuple(make(each) for each in items or () if each is not None)
    return Chunk(items=found, following=answer.next_page_token or None)

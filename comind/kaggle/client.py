"""Implement the Kaggle port with the official client, whose types do not leave this module.

Each method is one request; `authentication.py` finds the credentials.
"""

import base64
import binascii
import contextlib
import inspect
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import requests
from kagglesdk.competitions.types.competition_enums import SubmissionGroup, SubmissionSortBy
from kagglesdk.discussions.types.discussions_enums import TopicListSortBy
from kagglesdk.kernels.types.kernels_enums import KernelsListSortType, KernelsListViewType

from comind.errors import KaggleBusyError, KaggleRefusedError, KaggleUnknownError
from comind.kaggle import conversion, port
from comind.kaggle.authentication import authenticate, upload
from comind.kaggle.client_errors import translate_error

T = TypeVar("T")

_CHUNK = 100
_ORDERS = {
    "votes": "VOTE_COUNT",
    "score-ascending": "SCORE_ASCENDING",
    "score-descending": "SCORE_DESCENDING",
    "newest": "DATE_RUN",
}


class OfficialKaggle:
    """The official client as a `Kaggle` port."""

    def __init__(
        self, endpoint: str | None = None, on_date: Callable[[datetime], None] | None = None
    ) -> None:
        """Find the credentials; a user name with key is not verified yet.

        Args:
            endpoint: another server of Kaggle's API, such as `comind live serve`; None: Kaggle.
            on_date: callback for the Date header of each response.

        Raises:
            UsageError: credentials may not be sent to `endpoint`.
            KaggleError: there are no credentials, or they cannot be used.
        """
        self._api = authenticate(endpoint, on_date)
        self._client = self._api.build_kaggle_client()
        values = self._api.config_values
        self._secrets = [values[key] for key in ("key", "token") if values.get(key)]
        self._competitions = self._client.competitions.competition_api_client
        self._kernels = self._client.kernels.kernels_api_client
        self._datasets = self._client.datasets.dataset_api_client
        self._discussions = self._client.discussions.discussion_api_client

    def account(self) -> str:
        """Return the name of the account, once Kaggle has accepted its credentials."""
        with self._ask("the account", "", self._competitions.list_competitions, page=1, page_size=1):
            pass
        return str(self._api.config_values.get("username") or "")

    def competition(self, slug: str) -> port.CompetitionFacts:
        """Return the facts of a competition."""
        send = self._competitions.get_competition
        try:
            with self._ask("the competition", slug, send, competition_name=slug) as answer:
                return conversion.competition_of(answer)
        except (KaggleRefusedError, KaggleUnknownError):
            return self._listed(slug)

    def _listed(self, slug: str) -> port.CompetitionFacts:
        """Return the facts from the list, as not every server returns a single competition."""
        send = self._competitions.list_competitions
        with self._ask("the competition", slug, send, search=slug, page=1) as answer:
            for each in answer.competitions or ():
                if conversion.last_part(each.ref) == slug:
                    return conversion.competition_of(each)
        raise KaggleUnknownError(
            f"{slug}: Kaggle has no such competition, or does not show it to this account",
            hint=f"the name is the last part of its URL, https://www.kaggle.com/competitions/{slug}",
        )

    def pages(self, slug: str) -> tuple[port.Page, ...]:
        """Return a competition's pages."""
        send = self._competitions.list_competition_pages
        with self._ask("the pages", slug, send, competition_name=slug) as answer:
            return tuple(conversion.page_of(each) for each in answer.pages or ())

    def files(self, slug: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of data files."""
        fields = {"competition_name": slug, "page_size": 2 * _CHUNK, "page_token": at or ""}
        send = self._competitions.list_data_files
        with self._ask("the data files", slug, send, **fields) as answer:
            return _chunk(answer, answer.files, conversion.file_of)

    def download(self, slug: str, name: str | None, target: Path) -> str | None:
        """Download a data file to `target`, resuming a partial one; return its MD5 in hexadecimal."""
        if name is None:
            send = self._competitions.download_data_files
            return self._save("all data files", slug, target, send, competition_name=slug)
        send, fields = self._competitions.download_data_file, {"competition_name": slug}
        return self._save(f"the file {name}", slug, target, send, **fields, file_name=name)

    def _save(
        self, what: str, slug: str, target: Path, send: Callable[..., Any], **fields: Any
    ) -> str | None:
        """Request a file and write it to `target`; return its MD5 if it is sent."""
        with self._explained(what, slug):
            response: requests.Response = _send(send, **fields)
            with response:
                # Only a GET can be resumed with a Range header; a POST body is not sent again.
                resume = response.request.method == "GET"
                self._api.download_file(
                    response,
                    str(target),
                    self._client.http_client(),
                    quiet=True,
                    resume=resume,
                    max_retries=0,  # rate_limit.py retries
                )
            return _md5_sent(response)

    def leaderboard(self, slug: str, at: str | None = None) -> port.Chunk[port.LeaderboardRow]:
        """Return a page of the public leaderboard, best first."""
        fields = {"competition_name": slug, "page_size": 2 * _CHUNK, "page_token": at or ""}
        send = self._competitions.get_leaderboard
        with self._ask("the leaderboard", slug, send, **fields) as answer:
            return _chunk(answer, answer.submissions, conversion.row_of)

    def notebooks(
        self, slug: str, order: port.NotebookOrder, at: str | None = None
    ) -> port.Chunk[port.NotebookFacts]:
        """Return a page of the list of public notebooks."""
        with self._ask(
            "the notebooks",
            slug,
            self._kernels.list_kernels,
            competition=slug,
            page_size=_CHUNK,
            group=KernelsListViewType.EVERYONE,
            sort_by=KernelsListSortType[_ORDERS[order]],
            language="all",
            kernel_type="all",
            output_type="all",
            **_place(at),
        ) as answer:
            return _chunk(answer, answer.kernels, conversion.notebook_of)

    def notebook(self, ref: str) -> port.NotebookFacts:
        """Return the newest version of a notebook, with its source."""
        owner, _, name = ref.partition("/")
        send = self._kernels.get_kernel
        with self._ask("the notebook", ref, send, user_name=owner, kernel_slug=name) as answer:
            return conversion.notebook_of(answer.metadata, answer.blob.source or "")

    def topics(
        self, slug: str, order: port.TopicOrder, at: str | None = None
    ) -> port.Chunk[port.TopicFacts]:
        """Return a page of the list of discussions; `at` is `page:seen`, as the API has no token."""
        page, seen = map(int, (at or "1:0").split(":"))
        by = TopicListSortBy[f"TOPIC_LIST_SORT_BY_{order.upper()}"]
        fields = {"competition_name": slug, "page": page, "sort_by": by}
        send = self._competitions.list_competition_topics
        with self._ask("the discussions", slug, send, **fields) as answer:
            items = tuple(conversion.topic_of(each) for each in answer.topics or ())
            seen += len(items)
            more = bool(items) and seen < (answer.total_count or 0)
            return port.Chunk(items=items, following=f"{page + 1}:{seen}" if more else None)

    def topic(self, number: int) -> port.TopicFacts:
        """Return a discussion with its body."""
        send = self._discussions.get_topic
        with self._ask("the discussion", str(number), send, id=number) as answer:
            return conversion.topic_of(answer.topic)

    def comments(self, number: int, at: str | None = None) -> port.Chunk[port.CommentFacts]:
        """Return a page of a discussion's comments, replies after their parents."""
        fields = {"topic_id": number, "page_token": at or ""}
        send = self._discussions.list_comments
        with self._ask("the comments", str(number), send, **fields) as answer:
            items = tuple(conversion.comments_of(answer.comments))
            return port.Chunk(items=items, following=answer.next_page_token or None)

    def datasets(self, words: str, at: str | None = None) -> port.Chunk[port.DatasetFacts]:
        """Return a page of the public datasets that match a search."""
        send = self._datasets.list_datasets
        with self._ask("the datasets", words, send, search=words, **_place(at)) as answer:
            return _chunk(answer, answer.datasets, conversion.dataset_of)

    def dataset_files(self, ref: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of a dataset's files."""
        owner, _, name = ref.partition("/")
        fields = {"owner_slug": owner, "dataset_slug": name, "page_size": _CHUNK, "page_token": at or ""}
        with self._ask("the files", ref, self._datasets.list_dataset_files, **fields) as answer:
            return _chunk(answer, answer.dataset_files, conversion.file_of)

    def download_dataset(self, ref: str, name: str, target: Path) -> str | None:
        """Download a file of a dataset to `target`; return its MD5 in hexadecimal."""
        owner, _, slug = ref.partition("/")
        fields = {"owner_slug": owner, "dataset_slug": slug, "file_name": name}
        return self._save(f"the file {name}", ref, target, self._datasets.download_dataset, **fields)

    def output_files(self, ref: str, at: str | None = None) -> port.Chunk[port.DataFile]:
        """Return a page of the list of files that the newest run of a notebook wrote."""
        owner, _, name = ref.partition("/")
        fields = {"user_name": owner, "kernel_slug": name, "page_size": _CHUNK, "page_token": at or ""}
        with self._ask("the output", ref, self._kernels.list_kernel_files, **fields) as answer:
            return _chunk(answer, answer.files, conversion.output_of)

    def download_output(self, ref: str, name: str, target: Path) -> str | None:
        """Download a file that the newest run of a notebook wrote; return its MD5 in hexadecimal."""
        owner, _, slug = ref.partition("/")
        fields = {"owner_slug": owner, "kernel_slug": slug, "file_path": name}
        return self._save(
            f"the output {name}", ref, target, self._kernels.download_kernel_output, **fields
        )

    def limits(self, slug: str) -> port.Limits:
        """Return how many submissions are left."""
        send = self._competitions.get_submission_limits
        with self._ask("the submission limits", slug, send, competition_name=slug) as answer:
            return conversion.limits_of(answer)

    def submissions(self, slug: str, at: str | None = None) -> port.Chunk[port.SubmissionFacts]:
        """Return a page of our own submissions, newest first."""
        with self._ask(
            "the submissions",
            slug,
            self._competitions.list_submissions,
            competition_name=slug,
            group=SubmissionGroup.SUBMISSION_GROUP_ALL,
            sort_by=SubmissionSortBy.SUBMISSION_SORT_BY_DATE,
            page_size=_CHUNK,
            **_place(at),
        ) as answer:
            return _chunk(answer, answer.submissions, conversion.submission_of)

    def submit(self, slug: str, file: Path, message: str) -> str:
        """Submit a file; return its reference in `submissions`."""
        token = self._upload(slug, file)
        with self._ask(
            "the submission",
            slug,
            self._competitions.create_submission,
            competition_name=slug,
            blob_file_tokens=token,
            submission_description=message,
        ) as answer:
            return str(answer.ref or "")

    def _upload(self, slug: str, file: Path) -> str:
        """Upload a file without submitting it; return its token."""
        facts = file.stat()
        fields = {
            "competition_name": slug,
            "file_name": file.name,
            "content_length": facts.st_size,
            "last_modified_epoch_seconds": int(facts.st_mtime),
        }
        try:
            with self._ask(
                "the upload", slug, self._competitions.start_submission_upload, **fields
            ) as answer:
                token, url = str(answer.token), answer.create_url
        except KaggleBusyError as error:
            error.may_have_succeeded = False
            raise
        if not upload(self._api, file, url):
            raise KaggleBusyError(
                f"{slug}: the upload of {file.name} failed",
                hint="nothing was submitted; try again",
                may_have_succeeded=False,
            )
        return token

    @contextlib.contextmanager
    def _ask(self, what: str, slug: str, send: Callable[..., Any], **fields: Any) -> Iterator[Any]:
        """Make a request and yield the response; errors are translated, also those of the block."""
        with self._explained(what, slug):
            yield _send(send, **fields)

    @contextlib.contextmanager
    def _explained(self, what: str, slug: str = "") -> Iterator[None]:
        """Translate the client's exceptions into our errors."""
        try:
            yield
        except Exception as error:
            known = translate_error(error, what, slug, self._secrets)
            if known is error:
                raise
            raise known from None


def _send(send: Callable[..., Any], **fields: Any) -> Any:
    """Call a method of the client with a request of the class that its signature names."""
    request = inspect.signature(send).parameters["request"].annotation()
    for name, value in fields.items():
        setattr(request, name, value)
    return send(request)


def _place(at: str | None) -> dict[str, Any]:
    """Return the pagination fields of a list that has both page numbers and tokens."""
    return {"page": 1} if at is None else {"page_token": at}


def _chunk(answer: Any, items: Any, make: Callable[[Any], T]) -> port.Chunk[T]:
    """Return a page of items with the token of the next one."""
    found = tuple(make(each) for each in items or () if each is not None)
    return port.Chunk(items=found, following=answer.next_page_token or None)


def _md5_sent(response: requests.Response) -> str | None:
    """Return the MD5 in the headers of a download in hexadecimal, or None."""
    hashes = response.headers.get("x-goog-hash", "").replace(" ", "").split(",")
    named = next((each[4:] for each in hashes if each.startswith("md5=")), None)
    given = named or response.headers.get("Content-MD5")
    if response.headers.get("Content-Encoding") or not given:
        return None
    try:
        return base64.b64decode(given, validate=True).hex()
    except (binascii.Error, ValueError):
        return None

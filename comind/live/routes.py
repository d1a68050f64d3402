"""Define what the routes of all services share: context, responses, file links, search, pagination."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from comind.domain.community import NEVER
from comind.live.fault_injection import FaultInjector, RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import response
from comind.live.plain_files import PlainFiles
from comind.live.uploads import Uploads

_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE = 20, 1000
_DAY = 86_400
_T = TypeVar("_T")


@dataclass(frozen=True)
class FileLink:
    """Reference to a file of a competition, a dataset, a notebook or a submission.

    It is resolved on download, so it gives access to nothing that is not visible at that time.
    """

    source: str
    competition: str
    ref: str = ""
    name: str = ""
    """Empty for a zip archive of all files."""
    version: int = 0


@dataclass(frozen=True)
class FileContent:
    """A file generated for this request."""

    data: bytes
    file_name: str
    media_type: str


@dataclass(frozen=True)
class Catalog:
    """The hosted competitions by id, the faults injected into them, and files uploaded for them."""

    hosted: dict[str, HostedCompetition]
    faults: FaultInjector
    uploads: Uploads
    grade: Callable[[HostedCompetition, int], object]
    """Schedules the grading of a submission."""

    def find(self, competition: str) -> HostedCompetition:
        """Return a competition; `RouteError` 404 if it is not hosted."""
        found = self.hosted.get(competition.removeprefix("/"))
        if found is None:
            raise RouteError(404, "Competition not found")
        return found

    def find_entered(self, competition: str) -> HostedCompetition:
        """Return a competition with downloadable data; `RouteError` 403 until its rules are accepted."""
        found = self.find(competition)
        if not self.faults.conditions(found.id).rules_accepted:
            raise RouteError(
                403, "You must accept this competition's rules before you'll be able to download files."
            )
        return found

    def hosts(self, competition: str | None) -> Collection[HostedCompetition]:
        """Return the competition of this name, or all if it is empty; `RouteError` as in `find`."""
        return [self.find(competition)] if competition else self.hosted.values()


@dataclass(frozen=True)
class RequestContext:
    """The hosted competitions, the authenticated user, and the URL at which the server was reached."""

    catalog: Catalog
    user: str
    base_url: str
    link: Callable[[FileLink], str]
    """Returns the signed URL of a file."""


RouteResponse = dict[str, Any] | FileLink | FileContent
RouteTable = dict[str, Callable[[Any, RequestContext], RouteResponse]]
"""Handler by route: called with the client's request object and the context."""


def page_response(
    method: str,
    field: str,
    items: Sequence[_T],
    request: Any,
    serialize: Callable[[_T], Any],
    **more: Any,
) -> RouteResponse:
    """Return the response to a list: the serialized items of the requested page in `field`."""
    page, token = paginate(items, request)
    return response(method, next_page_token=token, **{field: [serialize(each) for each in page]}, **more)


def matches(search: str | None, text: str) -> bool:
    """Whether a text contains all words of a search, in any case."""
    return all(word in text.lower() for word in (search or "").lower().split())


def paginate(items: Sequence[_T], request: Any) -> tuple[Sequence[_T], str]:
    """Return the requested page, and the token of the next page or "".

    A page token is the offset of the page; a page size of -1 means all items.
    """
    given = getattr(request, "page_size", 0) or _DEFAULT_PAGE_SIZE
    size = len(items) or 1 if given == -1 else max(1, min(given, _MAX_PAGE_SIZE))
    token = getattr(request, "page_token", "") or ""
    page = getattr(request, "page", 1) or 1
    offset = parse_digits(token, at_most=9)
    if token and offset is None:
        raise RouteError(400, "Invalid page token")
    start = (max(1, page) - 1) * size if offset is None else offset
    end = start + size
    return items[start:end], str(end) if end < len(items) else ""


def parse_digits(text: str, *, at_most: int = 18) -> int | None:
    """Return the number that 1 to `at_most` ASCII digits write; None for any other text."""
    valid = text.isdecimal() and text.isascii() and len(text) <= at_most
    return int(text) if valid else None


def hotness(votes: int, time: datetime | None, hosted: HostedCompetition) -> float:
    """Return votes discounted by age in days; Kaggle does not publish its own formula."""
    days = (hosted.world.clock.now() - (time or NEVER)).total_seconds() / _DAY
    return (votes + 1) / (max(0.0, days) + 2)


def resolve_link(catalog: Catalog, link: FileLink, user: str) -> tuple[Path, HostedCompetition]:
    """Return the file behind a link; `RouteError` 404 if it is not visible to the user now."""
    hosted = catalog.find(link.competition)
    if link.source == "submission":
        submission = hosted.world.submission(int(link.ref))
        if submission is None or submission.user != user:
            raise RouteError(404, "Submission not found")
        return hosted.world.submission_path(submission.ref), hosted
    moment = hosted.world.clock.moment
    community = hosted.world.community
    files: PlainFiles | None
    if link.source == "data":
        files = catalog.find_entered(link.competition).files
    elif link.source == "dataset":
        files = community.dataset_files(link.ref, moment)
    else:
        visible = community.version(link.ref, link.version, moment)
        files = community.output_files(link.ref, link.version) if visible else None
    if files is None:
        raise RouteError(404, "File not found")
    if not link.name:
        return hosted.archive(link.source, files), hosted
    path = files.find(link.name)
    if path is None:
        raise RouteError(404, "File not found")
    return path, hosted

"""What each route answers: the world's answers in the client's form, page by page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from comind.live.catalogue import Hosted
from comind.live.faults import Faults
from comind.live.files import PlainFiles

__all__ = [
    "Answer",
    "Asker",
    "Content",
    "Handlers",
    "RouteError",
    "Shown",
    "Ticket",
    "page_of",
    "resolve",
]

_PAGE, _MOST = 20, 1000
_T = TypeVar("_T")


class RouteError(Exception):
    """The answer is an error: a code of HTTP, and a line that says what is wrong.

    `retry_after` is in seconds.
    """

    def __init__(self, code: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


@dataclass(frozen=True)
class Ticket:
    """A file that can be fetched: of a competition, a dataset, a notebook or a submission.

    It is looked up again when it is fetched, so a ticket opens nothing that is not visible then.
    """

    kind: str
    competition: str
    ref: str = ""
    name: str = ""
    """Empty for all files in one archive."""
    version: int = 0


@dataclass(frozen=True)
class Content:
    """An answer that is a file, made for this request."""

    data: bytes
    file_name: str
    media_type: str


@dataclass(frozen=True)
class Asker:
    """Who asks, and under which address the server was reached."""

    user: str
    base_url: str
    link: Callable[[Ticket], str]
    """Makes the address of a file."""


Answer = dict[str, Any] | Ticket | Content
Handlers = dict[str, Callable[[Any, Any, Asker], Answer]]
"""By the route's name: the method that answers it, of what is asked and by whom."""


@dataclass(frozen=True)
class Shown:
    """Everything that a server shows."""

    hosted: dict[str, Hosted]
    faults: Faults

    def find(self, competition: str) -> Hosted:
        """Return a competition by its name."""
        found = self.hosted.get(competition.removeprefix("/"))
        if found is None:
            raise RouteError(404, "Competition not found")
        return found

    def enter(self, competition: str) -> Hosted:
        """Return a competition whose data may be had, by whoever has accepted its rules."""
        found = self.find(competition)
        if not self.faults.of(found.id).rules_accepted:
            raise RouteError(
                403, "You must accept this competition's rules before you'll be able to download files."
            )
        return found


def page_of(items: Sequence[_T], asked: Any) -> tuple[Sequence[_T], str]:
    """Return the items of the page that is asked for, and the token of the next page, if any.

    A token is the number of items before the page.
    """
    given = getattr(asked, "page_size", 0) or _PAGE
    size = len(items) or 1 if given == -1 else max(1, min(given, _MOST))
    token = getattr(asked, "page_token", "") or ""
    page = getattr(asked, "page", 1) or 1
    if token and not (token.isdecimal() and token.isascii() and len(token) < len("1000000000")):
        raise RouteError(400, "Invalid page token")
    start = int(token) if token else (max(1, page) - 1) * size
    end = start + size
    return items[start:end], str(end) if end < len(items) else ""


def resolve(shown: Shown, ticket: Ticket, user: str) -> tuple[Path, Hosted]:
    """Return the file that a ticket is for, where it is visible now."""
    hosted = shown.find(ticket.competition)
    if ticket.kind == "submission":
        submission = hosted.world.submission(int(ticket.ref))
        if submission is None or submission.user != user:
            raise RouteError(404, "Submission not found")
        return hosted.world.file_of(submission.ref), hosted
    moment = hosted.world.clock.moment
    community = hosted.world.community
    files: PlainFiles | None
    if ticket.kind == "data":
        files = shown.enter(ticket.competition).files
    elif ticket.kind == "dataset":
        files = community.dataset_files(ticket.ref, moment)
    else:
        there = community.version(ticket.ref, ticket.version, moment)
        files = community.output_files(ticket.ref, ticket.version) if there else None
    if files is None:
        raise RouteError(404, "File not found")
    if not ticket.name:
        return hosted.archive(ticket.kind, files), hosted
    path = files.find(ticket.name)
    if path is None:
        raise RouteError(404, "File not found")
    return path, hosted

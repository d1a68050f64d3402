"""Validate the lines of a community's files, and convert each into an item."""

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr

from comind.community.items import (
    CommentItem,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
    shared_fields,
)
from comind.community.sanitize import sanitize_line, sanitize_prose
from comind.domain.community import is_reference
from comind.domain.value import Value

_TITLE_LENGTH, _NAME_LENGTH = 300, 100
_BODY_LENGTH, _COMMENT_LENGTH = 50_000, 10_000
_MANY = 1_000_000_000
_LINKS = 200
_MODEL = re.compile(r"[\w.-]{1,100}(?:/[\w.-]{1,100}){1,4}", re.ASCII)


def parse_time(text: Any) -> datetime:
    """Parse an ISO 8601 time with zone, and convert it to UTC.

    Raises:
        ValueError: it is invalid, or has no zone.
    """
    if not isinstance(text, str):
        raise ValueError("is no ISO 8601 time")  # noqa: TRY004 - pydantic reports ValueError only
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no ISO 8601 time") from None
    if time.tzinfo is None:
        raise ValueError("has no zone, such as Z or +01:00")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("is out of range") from None


def _reference(text: str) -> str:
    if not is_reference(text):
        raise ValueError("is not owner/name")
    return text


def _references(listed: Any) -> tuple[str, ...]:
    """Return the valid references; Kaggle's lists also name competitions."""
    given = listed if isinstance(listed, list) else []
    return tuple(ref for ref in given if isinstance(ref, str) and is_reference(ref))[:_LINKS]


def _model_references(listed: Any) -> tuple[str, ...]:
    """Return the valid references of Kaggle Models, `owner/model` with up to three further parts."""
    given = listed if isinstance(listed, list) else []
    return tuple(ref for ref in given if isinstance(ref, str) and _MODEL.fullmatch(ref))[:_LINKS]


def _reference_or_none(given: Any) -> str | None:
    return given if isinstance(given, str) and is_reference(given) else None


def _identity(given: Any) -> Any:
    return str(given) if isinstance(given, int) and abs(given) < _MANY**2 else given


def _nonempty(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _text(given: Any) -> Any:
    return "" if given is None else given


_Time = Annotated[datetime | None, BeforeValidator(lambda v: None if v is None else parse_time(v))]
_Times = Annotated[
    tuple[datetime, ...] | None,
    BeforeValidator(lambda v: [parse_time(each) for each in v] if isinstance(v, list) else v),
]
_Ref = Annotated[StrictStr, AfterValidator(_reference)]
_Refs = Annotated[tuple[str, ...], BeforeValidator(_references)]
_ModelRefs = Annotated[tuple[str, ...], BeforeValidator(_model_references)]
_Text = Annotated[StrictStr, BeforeValidator(_text)]
_Title = Annotated[_Text, AfterValidator(lambda text: sanitize_line(text, _TITLE_LENGTH))]
_Name = Annotated[_Text, AfterValidator(lambda text: sanitize_line(text, _NAME_LENGTH))]
_Id = Annotated[
    StrictStr,
    BeforeValidator(_identity),
    AfterValidator(lambda text: sanitize_line(text, _NAME_LENGTH)),
    AfterValidator(_nonempty),
]
_Count = Annotated[StrictInt, Field(ge=0, le=_MANY)]
_Balance = Annotated[StrictInt, Field(ge=-_MANY, le=_MANY)]


class Line(Value, extra="ignore"):
    """A line of a file; unknown keys are reported, not rejected, as dumps often have more."""

    known: ClassVar[frozenset[str]] = frozenset()
    """Keys that are allowed and ignored."""

    @classmethod
    def unknown_keys(cls, values: dict[str, Any]) -> list[str]:
        """Return the keys that the schema does not know."""
        return [key for key in values if key not in cls.model_fields and key not in cls.known]


class _Observed(Line):
    """A line that may state when its totals were observed; they count from then on."""

    author: _Name = ""
    author_tier: _Name = ""
    updated_at: _Time = None
    votes: _Balance = 0
    vote_times: _Times = None
    observed_at: _Time = None

    def _item_fields(self, kind: type[Value], score: float | None = None) -> dict[str, Any]:
        """Return the fields of an item of this class; observed values become an `Observation`."""
        fields = shared_fields(self, kind)
        if self.observed_at is None:
            return fields
        votes = self.votes if self.vote_times is None else None
        tier = fields.get("author_tier", "")
        seen = Observation(at=self.observed_at, votes=votes, author_tier=tier, public_score=score)
        undated = {"votes": 0, "author_tier": "", "public_score": None}
        return fields | {name: undated[name] for name in fields.keys() & undated} | {"observed": (seen,)}


class NotebookLine(_Observed):
    """A line of notebooks.jsonl."""

    known = frozenset({"competitions"})

    ref: _Ref
    version: _Count = 1
    title: _Title = ""
    created_at: _Time = None
    votes: _Count = 0
    public_score: float | None = None
    language: _Name = "python"
    source: StrictStr | None = None
    path: StrictStr | None = None
    datasets: _Refs = ()
    notebooks: _Refs = ()
    models: _ModelRefs = ()
    forked_from: Annotated[str | None, BeforeValidator(_reference_or_none)] = None

    def item(self, source: str, **given: Any) -> NotebookItem:
        """Return the item with its source code, which the line contains or names by path.

        Values that are given replace those of the line.
        """
        own = {
            "title": self.title or self.ref,
            "author": self.author or self.ref.split("/")[0],
            "language": self.language.lower() or "python",
            "source": source,
        }
        return NotebookItem(**self._item_fields(NotebookItem, self.public_score) | own | given)


class CommentLine(_Observed):
    """A comment of a discussion."""

    id: _Id
    parent: Annotated[str | None, BeforeValidator(_identity)] = None
    posted_at: _Time = None
    body: _Text = ""

    def item(self, **given: Any) -> CommentItem:
        """Return the item, with values that replace the line's; a commenter's tier is not used."""
        own = {
            "parent": sanitize_line(self.parent, _NAME_LENGTH) if self.parent else None,
            "created_at": self.posted_at,
            "body": sanitize_prose(self.body, _COMMENT_LENGTH),
        }
        return CommentItem(**self._item_fields(CommentItem) | own | given)


class DiscussionLine(_Observed):
    """A line of discussions.jsonl; its comments are validated one by one."""

    id: _Id
    title: _Title = ""
    posted_at: _Time = None
    body: _Text = ""
    comments: Annotated[tuple[Any, ...], BeforeValidator(lambda v: v or ())] = ()

    def item(self, comments: tuple[CommentItem, ...], **given: Any) -> DiscussionItem:
        """Return the item with its valid comments, and with values that replace the line's."""
        own = {
            "created_at": self.posted_at,
            "body": sanitize_prose(self.body, _BODY_LENGTH),
            "comments": comments,
        }
        return DiscussionItem(**self._item_fields(DiscussionItem) | own | given)


class DatasetLine(Line):
    """A line of datasets.jsonl."""

    known = frozenset({"observed_at"})

    ref: _Ref
    version: _Count = 1
    title: _Title = ""
    published_at: _Time = None
    path: StrictStr | None = None
    licence: _Name = ""

    def item(self) -> DatasetItem:
        """Return the item; its path is validated when the files are copied."""
        own = {
            "title": self.title or self.ref,
            "created_at": self.published_at,
            "path": PurePosixPath(self.path) if self.path else None,
        }
        return DatasetItem(**self.model_dump(include={"ref", "version", "licence"}) | own)

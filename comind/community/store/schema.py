"""Define the kinds of records and their columns; documented in `docs/community-store.md`.

Every record has `since`, the time from which it counts (null if unknown), `seen_at`, the time of its
observation, and `origin`, its import. A record of a thing has also `hash`, 64 bits of the MD5 of its
content, for deduplication.
"""

from typing import NamedTuple

_TYPES = {
    "created_at": "TIMESTAMP",
    "datasets": "VARCHAR[]",
    "notebooks": "VARCHAR[]",
    "score": "DOUBLE",
    "version": "BIGINT",
    "votes": "BIGINT",
    "votes_dated": "BOOLEAN",
}
"""Types by column name, the same in all kinds; other columns are text."""


class RecordKind(NamedTuple):
    """A kind of record: its content, its identity, and the sort order of its files."""

    names: str
    """Columns but `since`, `seen_at`, `origin` and `hash`, in the order in which they are hashed."""
    identity: tuple[str, ...] = ()
    """Columns that identify the thing described; empty for events, which are never edited."""
    order: tuple[str, ...] = ()
    """Text columns by which files are sorted first."""
    then: tuple[str, ...] = ("since", "hash")
    """Columns that decide between equal ones."""

    @property
    def columns(self) -> dict[str, str]:
        """Type of each column of the content."""
        return {name: _TYPES.get(name, "VARCHAR") for name in self.names.split()}

    @property
    def stored(self) -> dict[str, str]:
        """All columns."""
        times = {"since": "TIMESTAMP", "seen_at": "TIMESTAMP", "origin": "VARCHAR"}
        return self.columns | times | ({"hash": "UBIGINT"} if self.identity else {})


# `form` is html for a body that is HTML; Markdown has none.
_MESSAGE = "author created_at body form votes_dated"

_VERSION_ORDER = ("since", "version", "hash")

RECORD_KINDS = {
    # One version of a notebook, once per competition that it uses.
    "notebooks": RecordKind(
        "competition ref version title author created_at language code datasets notebooks forked_from"
        " votes_dated",
        identity=("competition", "ref", "version"),
        order=("competition", "ref"),
        then=_VERSION_ORDER,
    ),
    "discussions": RecordKind(
        f"competition id title {_MESSAGE}",
        identity=("competition", "id"),
        order=("competition", "id"),
    ),
    "comments": RecordKind(
        f"competition discussion id parent {_MESSAGE}",
        identity=("competition", "discussion", "id"),
        order=("competition", "discussion", "id"),
    ),
    # Without a competition, it is joined through the notebooks that use it.
    "datasets": RecordKind(
        "competition ref version title path licence",
        identity=("competition", "ref", "version"),
        order=("competition", "ref"),
        then=_VERSION_ORDER,
    ),
    # `target` is what was voted for: notebook:REF, discussion:COMPETITION/ID, comment:COMPETITION/ID.
    "votes": RecordKind("target voter", order=("target",), then=("since", "voter")),
    # Observed totals, tiers and scores; a score belongs to one version.
    "observations": RecordKind(
        "target version votes tier score",
        order=("target",),
        then=("since", "version", "votes", "tier", "score"),
    ),
    "tiers": RecordKind("author tier", order=("author",), then=("since", "tier")),
}
"""All kinds, by folder name."""

"""Define the kinds of records and their columns; documented in `docs/community-store.md`.

Every record has `since`, the time from which it counts (null if unknown), `seen_at`, the time of its
observation, `origin`, its import, and `hash`, 64 bits of the MD5 of its content, for deduplication.
"""

from typing import NamedTuple

__all__ = ["RECORD_KINDS", "RecordKind"]


class RecordKind(NamedTuple):
    """A kind of record: its hashed columns, its identity, and the sort order of its files."""

    columns: dict[str, str]
    """All but `since`, `seen_at`, `origin` and `hash`."""
    identity: tuple[str, ...] = ()
    """Columns that identify the thing described; empty for events, which are never edited."""
    order: str = "since, hash"

    @property
    def stored(self) -> dict[str, str]:
        """All columns."""
        return self.columns | {
            "since": "TIMESTAMP",
            "seen_at": "TIMESTAMP",
            "origin": "VARCHAR",
            "hash": "UBIGINT",
        }


_MESSAGE = {
    "author": "VARCHAR",
    "created_at": "TIMESTAMP",
    "body": "VARCHAR",
    "form": "VARCHAR",  # html for a body that is HTML; Markdown has none
    "votes_dated": "BOOLEAN",
}

RECORD_KINDS = {
    # One version of a notebook, once per competition that it uses.
    "notebooks": RecordKind(
        {
            "competition": "VARCHAR",
            "ref": "VARCHAR",
            "version": "BIGINT",
            "title": "VARCHAR",
            "author": "VARCHAR",
            "created_at": "TIMESTAMP",
            "language": "VARCHAR",
            "code": "VARCHAR",
            "datasets": "VARCHAR[]",
            "notebooks": "VARCHAR[]",
            "forked_from": "VARCHAR",
            "votes_dated": "BOOLEAN",
        },
        ("competition", "ref", "version"),
        "competition, ref, since, version, hash",
    ),
    "discussions": RecordKind(
        {
            "competition": "VARCHAR",
            "id": "VARCHAR",
            "title": "VARCHAR",
            **_MESSAGE,
        },
        ("competition", "id"),
        "competition, id, since, hash",
    ),
    "comments": RecordKind(
        {
            "competition": "VARCHAR",
            "discussion": "VARCHAR",
            "id": "VARCHAR",
            "parent": "VARCHAR",
            **_MESSAGE,
        },
        ("competition", "discussion", "id"),
        "competition, discussion, id, since, hash",
    ),
    # Without a competition, it is joined through the notebooks that use it.
    "datasets": RecordKind(
        {
            "competition": "VARCHAR",
            "ref": "VARCHAR",
            "version": "BIGINT",
            "title": "VARCHAR",
            "path": "VARCHAR",
            "licence": "VARCHAR",
        },
        ("competition", "ref", "version"),
        "competition, ref, since, version, hash",
    ),
    # `target` is what was voted for: notebook:REF, discussion:COMPETITION/ID, comment:COMPETITION/ID.
    "votes": RecordKind({"target": "VARCHAR", "voter": "VARCHAR"}, order="target, since, hash"),
    # Observed totals, tiers and scores; a score belongs to one version.
    "observations": RecordKind(
        {
            "target": "VARCHAR",
            "version": "BIGINT",
            "votes": "BIGINT",
            "tier": "VARCHAR",
            "score": "DOUBLE",
        },
        order="target, since, hash",
    ),
    "tiers": RecordKind({"author": "VARCHAR", "tier": "VARCHAR"}, order="author, since, hash"),
}
"""All kinds, by folder name."""

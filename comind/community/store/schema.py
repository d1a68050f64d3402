"""Kinds of records and their columns; `docs/community-store.md` says what they mean.

Every record has `since`, the time since when it counts (none: nobody knows), `seen_at`, when somebody
saw it, `origin`, the import that it came with, and `hash`, 64 bits of the MD5 of its content, by which
the same record is known again.
"""

from typing import NamedTuple

__all__ = ["RECORD_KINDS", "RecordKind"]


class RecordKind(NamedTuple):
    """A kind of record: what is hashed, what names the thing, and how parts are sorted."""

    columns: dict[str, str]
    """All but `since`, `seen_at`, `origin` and `hash`."""
    identity: tuple[str, ...] = ()
    """What two records of the same thing have in common; none for events, which are never edited."""
    order: str = "since, hash"

    @property
    def stored(self) -> dict[str, str]:
        """Return all columns."""
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
    # One version of a notebook, once for each competition that it reads.
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
    # Without a competition it is found by the notebooks that use it.
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
    # Totals, tiers and scores, as somebody saw them; a score belongs to one version.
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
"""All kinds, by the names of their folders."""

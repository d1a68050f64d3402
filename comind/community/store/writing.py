"""Deduplicate new records and write them; a later import never rewrites the past."""

from pathlib import Path

from comind.community.store.engine import Engine
from comind.community.store.manifest import Dropped, Manifest
from comind.community.store.schema import RECORD_KINDS, RecordKind

_CONFLICT = "conflicts with known content, and the change has no date; the known content is kept"


def part_path(root: Path, kind: str, origin: str) -> Path:
    """Return the path of an import's records of a kind."""
    return root / kind / f"{origin}.parquet"


def create_views(engine: Engine, root: Path, manifest: Manifest, prefix: str = "") -> None:
    """Create a view per kind of all records in a store, named `prefix` and kind."""
    for kind, record_kind in RECORD_KINDS.items():
        parts = [part_path(root, kind, each.id) for each in manifest.imports if each.taken.get(kind)]
        engine.view(prefix + kind, parts, record_kind.stored)


def write_new_records(engine: Engine, kind: str, path: Path, origin: str) -> tuple[int, list[Dropped]]:
    """Write what `new_<kind>` has and `known_<kind>` lacks; returns the row count and what was dropped.

    A record that changes a known thing counts from its own later time on, or from when the change was
    observed; if neither is later than what is known, it is dropped.
    """
    record_kind = RECORD_KINDS[kind]
    engine.set_variables(origin=origin)
    engine.define("fresh", _fresh(kind, record_kind))
    [known] = engine.count("known_" + kind, "true")
    if not (record_kind.identity and known):
        source, conflicts = "fresh", 0
    else:
        engine.define("settled", _settled(kind, record_kind))
        source, [conflicts] = "settled", engine.count("settled", "NOT taken")
        engine.define("taken", "SELECT * EXCLUDE (taken) FROM settled WHERE taken")
        source = "taken"
    staged = path.with_name(f".{path.name}.new")
    staged.parent.mkdir(parents=True, exist_ok=True)
    count = engine.write(source, staged, record_kind.order)
    if count:
        staged.replace(path)
    else:
        staged.unlink()
    return count, [Dropped(what=kind, reason=_CONFLICT, count=conflicts)] if conflicts else []


def _fresh(kind: str, record_kind: RecordKind) -> str:
    """Return the query for records whose content is not known.

    The same content again counts only if it is later than when it was last seen: a text that was
    restored, or a version that became current again.
    """
    hashed = list(record_kind.columns) + ([] if record_kind.identity else ["since"])
    content = ", ".join(f"coalesce({column}::VARCHAR, '')" for column in hashed)
    columns = ", ".join([*record_kind.columns, "since", "seen_at"])
    later = "AND (n.since IS NULL OR n.since <= coalesce(k.seen_at, k.since))"
    once = "QUALIFY row_number() OVER (PARTITION BY hash, since ORDER BY seen_at) = 1"
    return f"""
        SELECT {columns}, getvariable('origin') AS origin, hash
        FROM (SELECT *, md5_number_lower(concat_ws(chr(31), {content})) AS hash FROM new_{kind}) n
        WHERE NOT EXISTS (
            SELECT 1 FROM known_{kind} k WHERE k.hash = n.hash {later if record_kind.identity else ""}
        )
        {once if record_kind.identity else ""}
    """  # noqa: S608 - our own names


def _settled(kind: str, record_kind: RecordKind) -> str:
    """Return the query that dates records which change known things."""
    names = ", ".join(record_kind.identity)
    return f"""
        SELECT n.* REPLACE (
                CASE WHEN k.seen IS NULL OR n.since > k.seen THEN n.since ELSE n.seen_at END AS since
            ),
            k.known IS NULL OR coalesce(n.since > k.seen OR n.seen_at > k.seen, false) AS taken
        FROM fresh n LEFT JOIN (
            SELECT {names}, true AS known,
                coalesce(max(coalesce(seen_at, since)), TIMESTAMP '0001-01-01') AS seen
            FROM known_{kind} GROUP BY ALL
        ) k USING ({names})
    """  # noqa: S608 - our own names

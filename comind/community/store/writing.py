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
    columns = [*record_kind.columns, "since", "seen_at"]
    conflicts = 0
    if record_kind.identity:
        conflicts = _define_fresh_things(engine, kind, record_kind, columns)
    else:
        engine.define("fresh", _fresh_events(kind, record_kind, columns))
    staged = path.with_name(f".{path.name}.new")
    staged.parent.mkdir(parents=True, exist_ok=True)
    order = (*record_kind.order, *record_kind.then)
    # A voter keeps its type: numbers are read in half the time of text.
    given = {"origin": "getvariable('origin')::VARCHAR AS origin", "voter": "voter"}
    selected = [given.get(name, f"{name}::{of} AS {name}") for name, of in record_kind.stored.items()]
    # Texts are small by zstd; names and times of events are read in a quarter less time without it.
    compression = "zstd" if record_kind.identity else "lz4_raw"
    count = engine.write("fresh", staged, columns=selected, order=order, compression=compression)
    if count:
        staged.replace(path)
    else:
        staged.unlink()
    return count, [Dropped(what=kind, reason=_CONFLICT, count=conflicts)] if conflicts else []


def _fresh_events(kind: str, record_kind: RecordKind, columns: list[str]) -> str:
    """Return the query for events that are not known."""
    types = {name: record_kind.stored[name] for name in (*record_kind.columns, "since")}
    same = " AND ".join(f"k.{n}::{of} IS NOT DISTINCT FROM n.{n}::{of}" for n, of in types.items())
    return f"""
        SELECT {", ".join(columns)} FROM new_{kind} n
        WHERE NOT EXISTS (SELECT 1 FROM known_{kind} k WHERE {same})
    """  # noqa: S608 - our own names


def _define_fresh_things(engine: Engine, kind: str, record_kind: RecordKind, columns: list[str]) -> int:
    """Define the view `fresh` of things whose content is not known; returns how many are in conflict.

    The same content again counts only if it is later than when it was last seen: a text that was
    restored, or a version that became current again.
    """
    content = ", ".join(f"coalesce({column}::VARCHAR, '')" for column in record_kind.columns)
    engine.store(
        "contents",
        f"""
        SELECT {", ".join(columns)}, hash
        FROM (SELECT *, md5_number_lower(concat_ws(chr(31), {content})) AS hash FROM new_{kind}) n
        WHERE NOT EXISTS (
            SELECT 1 FROM known_{kind} k
            WHERE k.hash = n.hash AND (n.since IS NULL OR n.since <= coalesce(k.seen_at, k.since))
        )
        """,  # noqa: S608 - our own names
    )
    engine.define("repeated", "SELECT hash FROM contents GROUP BY hash, since HAVING count(*) > 1")
    [repeated] = engine.count("repeated", "true")
    once = "QUALIFY row_number() OVER (PARTITION BY hash, since ORDER BY seen_at) = 1"
    engine.define("distinct_contents", f"FROM contents {once if repeated else ''}")
    if not any(engine.count(f"known_{kind}", "true")):
        engine.define("fresh", "FROM distinct_contents")
        return 0
    engine.define("settled", _settled(kind, record_kind))
    engine.define("fresh", "SELECT * EXCLUDE (taken) FROM settled WHERE taken")
    return sum(engine.count("settled", "NOT taken"))


def _settled(kind: str, record_kind: RecordKind) -> str:
    """Return the query that dates records which change known things."""
    names = ", ".join(record_kind.identity)
    return f"""
        SELECT n.* REPLACE (
                CASE WHEN k.seen IS NULL OR n.since > k.seen THEN n.since ELSE n.seen_at END AS since
            ),
            k.known IS NULL OR coalesce(n.since > k.seen OR n.seen_at > k.seen, false) AS taken
        FROM distinct_contents n LEFT JOIN (
            SELECT {names}, true AS known,
                coalesce(max(coalesce(seen_at, since)), TIMESTAMP '0001-01-01') AS seen
            FROM known_{kind} GROUP BY ALL
        ) k USING ({names})
    """  # noqa: S608 - our own names

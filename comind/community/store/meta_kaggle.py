"""Import of Meta Kaggle: tables of tens of gigabytes become records, streaming, one table after another.

First every table is read once, from CSV into typed columns beside the store; a table that was read is
not read again after a crash. Then the records are made of these by joins, which go to disk where they
need to.
"""

import csv
import hashlib
from datetime import UTC
from pathlib import Path

from pydantic import ValidationError

from comind.community.store.engine import Engine
from comind.community.store.importing import ImportSource, StagedImport
from comind.community.store.manifest import Dropped
from comind.community.store.meta_kaggle_tables import TABLES, Table, column_types, select_list
from comind.community.store.queries import TIERS
from comind.domain.value import Value
from comind.errors import CommunityError
from comind.system.files import hash_file, write_atomically

__all__ = ["dump_source"]

_KINDS = ("notebooks", "discussions", "comments", "datasets", "votes", "observations", "tiers")
_REASONS = {
    "invalid encoding": "is not UTF-8",
    "missing columns": "has too few columns",
    "too many columns": "has too many columns",
}


def dump_source(folder: Path) -> ImportSource:
    """Return a folder of Meta Kaggle's CSV files as something to import.

    Raises:
        CommunityError: a table that is needed, or a column that is needed, is missing.
    """
    if not folder.is_dir():
        raise CommunityError(
            f"{folder}: there is no such folder", hint="unpack Meta Kaggle's archive there"
        )
    found = {name: path for name in TABLES if (path := folder / f"{name}.csv").is_file()}
    missing = [name for name, table in TABLES.items() if table.needed and name not in found]
    if missing:
        raise CommunityError(
            f"{folder}: has no {missing[0]}.csv",
            hint=f"needed are {', '.join(f'{n}.csv' for n, t in TABLES.items() if t.needed)}",
        )
    headers = {name: _header(name, path) for name, path in found.items()}
    hashes = {name: hash_file(path) for name, path in found.items()}
    file_hashes = "".join(f"{name} {digest}\n" for name, digest in hashes.items())

    def stage(engine: Engine, staging: Path) -> StagedImport:
        dropped: list[Dropped] = []
        for name, table in TABLES.items():
            if name in found:
                dropped += _read(engine, name, found[name], headers[name], staging)
            else:
                engine.view(name, [], column_types(table))
                dropped.append(Dropped(what=f"{name}.csv", reason=f"is not there: no {table.without}"))
        engine.let(tiers=list(TIERS), votes_dated="KernelVotes" in found)
        engine.let(messages_dated="ForumMessageVotes" in found, by_team="Teams" in found)
        engine.run("dump")
        [latest] = engine.rows("dump_latest")
        engine.let(seen_at=latest["latest"])
        for name, reason, unused in _UNUSED:
            [count] = engine.count(name, unused)
            if count:
                dropped.append(Dropped(what=f"{name}.csv", reason=reason, count=count))
        seen = latest["latest"]
        return StagedImport(_KINDS, tuple(dropped), None if seen is None else seen.replace(tzinfo=UTC))

    return ImportSource("meta-kaggle", hashlib.sha256(file_hashes.encode()).hexdigest(), stage)


_UNUSED = (
    (
        "ForumMessageVotes",
        "is for no message in a forum of a competition",
        "ForumMessageId NOT IN (SELECT Id FROM ForumMessages SEMI JOIN topics ON topic = ForumTopicId)",
    ),
    (
        "ForumMessages",
        "is in no forum of a competition",
        "ForumTopicId NOT IN (SELECT topic FROM topics)",
    ),
    ("ForumTopics", "is in no forum of a competition", "Id NOT IN (SELECT topic FROM topics)"),
    (
        "KernelVersionCompetitionSources",
        "its competition is not there",
        "SourceCompetitionId NOT IN (SELECT Id FROM Competitions)",
    ),
    (
        "KernelVersionCompetitionSources",
        "its version is not there",
        "KernelVersionId NOT IN (SELECT Id FROM KernelVersions)",
    ),
    (
        "KernelVersions",
        "its notebook is not there",
        "ScriptId NOT IN (SELECT kernel FROM kernel_refs)",
    ),
    (
        "KernelVersions",
        "reads no competition",
        "Id NOT IN (SELECT KernelVersionId FROM KernelVersionCompetitionSources)",
    ),
    (
        "KernelVotes",
        "what was voted for is not there",
        "KernelVersionId NOT IN (SELECT version_id FROM version_refs)",
    ),
    ("Kernels", "its author or name cannot be told", "Id NOT IN (SELECT kernel FROM kernel_refs)"),
    (
        "Submissions",
        "has no public score",
        "coalesce(PublicScoreFullPrecision, PublicScoreLeaderboardDisplay) IS NULL",
    ),
    ("UserAchievements", "its user is not there", "UserId NOT IN (SELECT Id FROM Users)"),
)
"""Rows that are in no record: table, reason, and which."""


def _header(name: str, path: Path) -> list[str]:
    """Return the names of a table's columns.

    Raises:
        CommunityError: one that is needed is not among them.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            columns = next(csv.reader(file), [])
    except (OSError, csv.Error):
        raise CommunityError(f"{path}: cannot be read as CSV") from None
    table = TABLES[name]
    for column in table.columns:
        if column not in columns and column not in table.optional:
            raise CommunityError(
                f"{path}: has no column {column}", hint=f"its columns are {', '.join(columns[:20])}"
            )
    return columns


class _Read(Value):
    """What became of one table; there when it is read."""

    dropped: tuple[Dropped, ...]


def _read(
    engine: Engine, name: str, path: Path, header: list[str], staging: Path
) -> tuple[Dropped, ...]:
    """Read a table, or take what was read before; it is a view of its name then."""
    table = TABLES[name]
    staged, note = staging / f"{name}.parquet", staging / f"{name}.json"
    try:
        dropped = _Read.model_validate_json(note.read_bytes()).dropped
    except (OSError, ValidationError):
        dropped = _converted(engine, name, path, header, staged)
        write_atomically(note, _Read(dropped=dropped).model_dump_json())
    engine.view(f"all_{name}", [staged], column_types(table))
    engine.define(name, f"SELECT * FROM all_{name} WHERE {_usable(table)}")  # noqa: S608 - our names
    return dropped


def _converted(
    engine: Engine, name: str, path: Path, header: list[str], staged: Path
) -> tuple[Dropped, ...]:
    table = TABLES[name]
    rows = f"SELECT {select_list(table, header)} FROM read_rows"  # noqa: S608 - our own names
    for strict in (True, False):
        engine.csv("read_rows", path, header, strict=strict)
        engine.define("typed_rows", rows)
        try:
            engine.write("typed_rows", staged)
            break
        except CommunityError:
            if not strict:
                raise
            engine.rejected()
    file = f"{name}.csv"
    dropped = [
        Dropped(what=file, reason=_REASONS.get(reason, reason), count=count)
        for reason, count in sorted(engine.rejected().items())
    ]
    engine.view("all_rows", [staged], column_types(table))
    # A row that lacks several of its keys is counted for the first.
    lacking = [
        " AND ".join([*(f'"{key}" IS NOT NULL' for key in table.keys[:number]), f'"{column}" IS NULL'])
        for number, column in enumerate(table.keys)
    ]
    for column, count in zip(table.keys, engine.count("all_rows", *lacking), strict=True):
        if count:
            reason = f"{column} is missing or is no {table.columns[column]}"
            dropped.append(Dropped(what=file, reason=reason, count=count))
    return tuple(dropped)


def _usable(table: Table) -> str:
    return " AND ".join(f'"{column}" IS NOT NULL' for column in table.keys)

"""Import Meta Kaggle: stream tables of tens of gigabytes into records.

Each table is first converted from CSV into typed Parquet columns beside the store, once, so that an
interrupted import resumes. Joins, which spill to disk, then make the records.

Kaggle writes nullable numbers with a decimal point, and times as `MM/DD/YYYY HH:MM:SS` in UTC or as a
date alone. An event dated by day counts from the end of that day on.
"""

import csv
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from comind.community.store.engine import Engine
from comind.community.store.importing import ImportResult, ImportSource, StagedImport, import_into
from comind.community.store.manifest import (
    Dropped,
    Manifest,
    is_community_store,
    read_manifest,
    write_manifest,
)
from comind.community.store.queries import TIERS
from comind.domain.value import Value
from comind.errors import CommunityError
from comind.system.files import hash_file, write_atomically

_KINDS = ("notebooks", "discussions", "comments", "datasets", "votes", "observations", "tiers")
_REASONS = {
    "invalid encoding": "is not UTF-8",
    "missing columns": "has too few columns",
    "too many columns": "has too many columns",
}


class _Table(NamedTuple):
    """A table of the dump; columns that are not listed are ignored."""

    keys: tuple[str, ...]
    """Columns that must not be null; other rows are dropped."""
    others: tuple[str, ...] = ()
    """Nullable columns."""
    optional: tuple[str, ...] = ()
    """Columns that older or newer dumps lack."""
    needed: bool = False
    """Whether the import fails without the table."""
    without: str = ""
    """What the store lacks without the table."""

    @property
    def columns(self) -> dict[str, str]:
        """Type of each column, derived from its name: `id`, `time`, `number` or `text`."""
        return {column: _kind(column) for column in (*self.keys, *self.others, *self.optional)}


def _kind(column: str) -> str:
    return next((kind for kind, names in _NAMES.items() if names.fullmatch(column)), "text")


_NAMES = {
    "id": re.compile(r"\w*Id|VersionNumber|(Performance)?Tier"),
    "time": re.compile(r"\w*Date"),
    "number": re.compile(r"PublicScore\w+"),
}
"""Types by column name, the same in all tables; other columns are text."""

_TABLES = {
    "Competitions": _Table(("Id", "Slug"), others=("ForumId",), needed=True),
    "Users": _Table(("Id", "UserName"), others=("PerformanceTier",), needed=True),
    "Kernels": _Table(
        ("Id", "AuthorUserId", "CurrentUrlSlug"),
        optional=("ForkParentKernelVersionId", "MadePublicDate"),
        needed=True,
    ),
    "KernelVersions": _Table(
        ("Id", "ScriptId", "CreationDate"),
        others=("VersionNumber", "Title"),
        optional=("ScriptLanguageId",),
        needed=True,
    ),
    "KernelVersionCompetitionSources": _Table(("KernelVersionId", "SourceCompetitionId"), needed=True),
    "KernelVotes": _Table(("UserId", "KernelVersionId", "VoteDate"), without="votes for notebooks"),
    "KernelLanguages": _Table(("Id",), others=("Name",), without="languages of notebooks"),
    "KernelVersionDatasetSources": _Table(
        ("KernelVersionId", "SourceDatasetVersionId"), without="datasets that notebooks use"
    ),
    "KernelVersionKernelSources": _Table(
        ("KernelVersionId", "SourceKernelVersionId"), without="notebooks that notebooks use"
    ),
    "UserAchievements": _Table(("UserId", "Tier", "TierAchievementDate"), without="tiers by date"),
    "Submissions": _Table(
        ("SourceKernelVersionId", "SubmissionDate"),
        optional=("TeamId", "ScoreDate", "PublicScoreFullPrecision", "PublicScoreLeaderboardDisplay"),
        without="public scores",
    ),
    "Teams": _Table(("Id", "CompetitionId"), without="whose score it is"),
    "ForumTopics": _Table(
        ("Id", "ForumId", "CreationDate"),
        others=("Title",),
        optional=("FirstForumMessageId",),
        without="discussions",
    ),
    "ForumMessages": _Table(
        ("Id", "ForumTopicId", "PostDate"),
        others=("PostUserId", "Message"),
        optional=("ReplyToForumMessageId", "RawMarkdown"),
        without="comments",
    ),
    "ForumMessageVotes": _Table(
        ("ForumMessageId", "FromUserId", "VoteDate"), without="votes for discussions and comments"
    ),
    "Datasets": _Table(
        ("Id",), optional=("OwnerUserId", "OwnerOrganizationId", "CreatorUserId"), without="datasets"
    ),
    "DatasetVersions": _Table(
        ("Id", "DatasetId", "VersionNumber", "CreationDate", "Slug"),
        others=("Title",),
        optional=("LicenseName",),
        without="versions of datasets",
    ),
    "Organizations": _Table(("Id", "Slug"), without="names of organizations that own datasets"),
}
"""Tables by file name, without `.csv`."""

_TYPES = {"id": "BIGINT", "time": "TIMESTAMP", "number": "DOUBLE", "text": "VARCHAR"}
_DAY = "try_strptime({0}, '%m/%d/%Y') + INTERVAL 1 DAY"
_SECOND = "try_strptime({0}, '%m/%d/%Y %H:%M:%S')"
_TIME = (
    f"coalesce({_SECOND}, {_DAY},"
    " try_strptime({0}, '%Y-%m-%d') + INTERVAL 1 DAY,"
    " try_cast({0} AS TIMESTAMP))"
)
_NUMBER = "try_cast({0} AS DOUBLE)"
# Non-finite numbers, and times outside Python's range, become null.
_READ = {
    "id": "coalesce(try_cast({0} AS BIGINT), try_cast(try_cast({0} AS DOUBLE) AS BIGINT))",
    # Nearly all times are of two forms, each parsed once; the others may be of any form and year.
    "time": (
        f"coalesce(CASE WHEN {{0}} LIKE '__/__/2___' THEN {_DAY}"
        f" WHEN {{0}} LIKE '__/__/2___ __:__:__' THEN {_SECOND} END,"
        f" list_filter([{_TIME}],"
        " lambda time: time BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31')[1])"
    ),
    "number": f"CASE WHEN isfinite({_NUMBER}) THEN {_NUMBER} END",
    "text": "{0}",
}

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
        "KernelVersions",
        "has no number, so only its votes count, for its notebook",
        "VersionNumber IS NULL AND Id IN (SELECT KernelVersionId FROM KernelVersionCompetitionSources)",
    ),
    (
        "KernelVotes",
        "what was voted for is not there",
        "KernelVersionId NOT IN (SELECT version_id FROM version_refs)",
    ),
    ("Kernels", "its author or name is unknown", "Id NOT IN (SELECT kernel FROM kernel_refs)"),
    (
        "Submissions",
        "has no public score",
        "coalesce(PublicScoreFullPrecision, PublicScoreLeaderboardDisplay) IS NULL",
    ),
    (
        "Submissions",
        "its version has no number",
        "SourceKernelVersionId IN (SELECT version_id FROM version_refs WHERE version IS NULL)",
    ),
    ("UserAchievements", "its user is not there", "UserId NOT IN (SELECT Id FROM Users)"),
)
"""Rows that end in no record: table, reason, condition."""


def ingest_dump(root: Path, folder: Path) -> ImportResult:
    """Import Meta Kaggle's tables, of all competitions; otherwise like `ingest_folder`."""
    return import_into(root, dump_source(folder))


def set_code_folder(root: Path, folder: Path) -> None:
    """Set the folder of Meta Kaggle Code, which is read in place, a file at a time.

    Raises:
        CommunityError: the folder is missing, or is no copy of Meta Kaggle Code.
    """
    try:
        valid = any(each.is_dir() and each.name.isdigit() for each in folder.iterdir())
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise CommunityError(f"{folder}: {reason}", hint="name the folder of Meta Kaggle Code") from None
    if not valid:
        raise CommunityError(
            f"{folder}: is no copy of Meta Kaggle Code",
            hint="it has folders of four digits, such as 0001/234/1234567.py",
        )
    manifest = read_manifest(root) if is_community_store(root) else Manifest()
    root.mkdir(parents=True, exist_ok=True)
    write_manifest(root, manifest.model_copy(update={"code": str(folder.absolute())}))


def dump_source(folder: Path) -> ImportSource:
    """Return a folder of Meta Kaggle's CSV files as a source of an import.

    Raises:
        CommunityError: a required table or column is missing.
    """
    if not folder.is_dir():
        raise CommunityError(
            f"{folder}: there is no such folder", hint="unpack Meta Kaggle's archive there"
        )
    found = {name: path for name in _TABLES if (path := folder / f"{name}.csv").is_file()}
    missing = [name for name, table in _TABLES.items() if table.needed and name not in found]
    if missing:
        raise CommunityError(
            f"{folder}: has no {missing[0]}.csv",
            hint=f"needed are {', '.join(f'{n}.csv' for n, t in _TABLES.items() if t.needed)}",
        )
    headers = {name: _header(name, path) for name, path in found.items()}
    hashes = {name: hash_file(path) for name, path in found.items()}
    file_hashes = "".join(f"{name} {digest}\n" for name, digest in hashes.items())

    def stage(engine: Engine, staging: Path) -> StagedImport:
        dropped: list[Dropped] = []
        for name, table in _TABLES.items():
            if name in found:
                dropped += _read(engine, name, found[name], headers[name], staging)
            else:
                engine.view(name, [], _column_types(table))
                dropped.append(Dropped(what=f"{name}.csv", reason=f"is not there: no {table.without}"))
        engine.set_variables(tiers=list(TIERS), votes_dated="KernelVotes" in found)
        engine.set_variables(messages_dated="ForumMessageVotes" in found, by_team="Teams" in found)
        engine.run("dump")
        now = datetime.now(UTC).replace(tzinfo=None)
        [latest] = engine.rows("dump_latest", now=now)
        engine.set_variables(seen_at=latest["latest"])
        for name, reason, unused in _UNUSED:
            [count] = engine.count(name, unused)
            if count:
                dropped.append(Dropped(what=f"{name}.csv", reason=reason, count=count))
        seen = latest["latest"]
        return StagedImport(_KINDS, tuple(dropped), None if seen is None else seen.replace(tzinfo=UTC))

    return ImportSource("meta-kaggle", hashlib.sha256(file_hashes.encode()).hexdigest(), stage)


def _header(name: str, path: Path) -> list[str]:
    """Return the column names of a table.

    Raises:
        CommunityError: a required column is missing.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            columns = next(csv.reader(file), [])
    except (OSError, csv.Error):
        raise CommunityError(f"{path}: cannot be read as CSV") from None
    table = _TABLES[name]
    for column in table.columns:
        if column not in columns and column not in table.optional:
            raise CommunityError(
                f"{path}: has no column {column}", hint=f"its columns are {', '.join(columns[:20])}"
            )
    return columns


class _Read(Value):
    """Marker of a converted table, with the rows it dropped."""

    dropped: tuple[Dropped, ...]


def _read(
    engine: Engine, name: str, path: Path, header: list[str], staging: Path
) -> tuple[Dropped, ...]:
    """Create the view of a table, converting it unless an earlier run did."""
    table = _TABLES[name]
    staged, note = staging / f"{name}.parquet", staging / f"{name}.json"
    try:
        dropped = _Read.model_validate_json(note.read_bytes()).dropped
    except (OSError, ValidationError):
        dropped = _convert(engine, name, path, header, staged)
        write_atomically(note, _Read(dropped=dropped).model_dump_json())
    engine.view(f"all_{name}", [staged], _column_types(table))
    has_keys = " AND ".join(f'"{column}" IS NOT NULL' for column in table.keys)
    engine.define(name, f"SELECT * FROM all_{name} WHERE {has_keys}")  # noqa: S608 - our own names
    return dropped


def _convert(
    engine: Engine, name: str, path: Path, header: list[str], staged: Path
) -> tuple[Dropped, ...]:
    table = _TABLES[name]
    rows = f"SELECT {_select_list(table, header)} FROM read_rows"  # noqa: S608 - our own names
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
    engine.view("all_rows", [staged], _column_types(table))
    # A row that lacks several keys counts for the first.
    lacking = [
        " AND ".join([*(f'"{key}" IS NOT NULL' for key in table.keys[:number]), f'"{column}" IS NULL'])
        for number, column in enumerate(table.keys)
    ]
    for column, count in zip(table.keys, engine.count("all_rows", *lacking), strict=True):
        if count:
            reason = f"{column} is missing or is no {table.columns[column]}"
            dropped.append(Dropped(what=file, reason=reason, count=count))
    return tuple(dropped)


def _select_list(table: _Table, there: list[str]) -> str:
    """Return the SQL that casts a table's text columns; a missing column is null."""
    parts = []
    for column, kind in table.columns.items():
        name = f'"{column}"'
        read = _READ[kind].format(name) if column in there else f"NULL::{_TYPES[kind]}"
        parts.append(f"{read} AS {name}")
    return ", ".join(parts)


def _column_types(table: _Table) -> dict[str, str]:
    """Return the SQL type of each column."""
    return {column: _TYPES[kind] for column, kind in table.columns.items()}

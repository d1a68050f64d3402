"""Import community folders, and listings, which have no code."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from comind.community.items import CommunityItems, Remark
from comind.community.jsonl import read_community_folder
from comind.community.lines import NotebookLine
from comind.community.store.engine import Engine
from comind.community.store.importing import ImportResult, ImportSource, StagedImport, import_into
from comind.community.store.records import RecordCollector, timestamp_literal
from comind.community.store.schema import RECORD_KINDS
from comind.errors import CommunityError, SubmissionError
from comind.system.files import hash_file, hash_tree, read_untrusted

__all__ = ["folder_source", "ingest_folder", "ingest_listing"]

_LISTING_BYTES = 1 << 30
_NO_CODE = "has no code, so it can be counted and not read"


def ingest_folder(root: Path, folder: Path, competition: str) -> ImportResult:
    """Import a competition's community folder into the store in `root`, which is created if missing.

    A folder that is refreshed from time to time, with `observed_at`, may be imported each time: new
    records are added, and as-of queries of earlier moments keep their answers.

    Raises:
        CommunityError: the folder is invalid, or another import is running.
        DiskError: the disk is full.
    """
    return import_into(root, folder_source(folder, competition, root))


def ingest_listing(root: Path, file: Path, competition: str) -> ImportResult:
    """Import a listing of notebooks, a JSON list without code; otherwise like `ingest_folder`."""
    return import_into(root, _listing_source(file, competition, root))


def folder_source(folder: Path, competition: str, root: Path) -> ImportSource:
    """Return a community folder as a source of an import into the store in `root`.

    Raises:
        CommunityError: the folder, or a file as a whole, is invalid.
    """
    items = read_community_folder(folder)
    digest = hashlib.sha256(f"folder {competition} {hash_tree(folder)}".encode()).hexdigest()

    def stage(engine: Engine, staging: Path) -> StagedImport:
        reader = RecordCollector(competition, root, folder)
        reader.add(items)
        return _staged(engine, staging, reader)

    return ImportSource("folder", digest, stage, competition)


def _listing_source(file: Path, competition: str, root: Path) -> ImportSource:
    """Return a listing of notebooks as a source of an import into the store in `root`.

    Raises:
        CommunityError: the file is not a list of notebooks.
    """
    items = _listed(file)
    digest = hashlib.sha256(f"listing {competition} {hash_file(file)}".encode()).hexdigest()

    def stage(engine: Engine, staging: Path) -> StagedImport:
        reader = RecordCollector(competition, root, file.parent)
        reader.add(items)
        if items.notebooks:
            reader.drop("notebooks.code", _NO_CODE, len(items.notebooks))
        return _staged(engine, staging, reader)

    return ImportSource("listing", digest, stage, competition)


def _staged(engine: Engine, staging: Path, reader: RecordCollector) -> StagedImport:
    for kind, record_kind in RECORD_KINDS.items():
        path = staging / f"{kind}.jsonl"
        rows = reader.rows[kind].values()
        path.write_text("".join(json.dumps(row, default=timestamp_literal) + "\n" for row in rows))
        columns = record_kind.columns | {"since": "TIMESTAMP", "seen_at": "TIMESTAMP"}
        engine.json(f"new_{kind}", path, columns)
    return StagedImport(tuple(RECORD_KINDS), tuple(reader.dropped), reader.observed_at)


def _listed(file: Path) -> CommunityItems:
    try:
        entries = TypeAdapter(list[dict[str, Any]]).validate_json(
            read_untrusted(file.parent, file.name, limit=_LISTING_BYTES)
        )
    except (SubmissionError, OSError, ValueError):
        raise CommunityError(
            f"{file}: is no list of notebooks", hint="a JSON list of objects with ref and last_run_time"
        ) from None
    notebooks, remarks = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            line = NotebookLine.model_validate(dict(_line_fields(entry)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
            remarks.append(Remark(file=file.name, line=number, reason=reason))
        else:
            notebooks.append(line.item(""))
    return CommunityItems(notebooks=tuple(notebooks), remarks=tuple(remarks))


def _line_fields(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a listing's entry under the names of a line; it does not name the version."""
    names = {
        "ref": "ref",
        "title": "title",
        "author": "author",
        "last_run_time": "created_at",
        "total_votes": "votes",
        "language": "language",
        "observed_at": "observed_at",
    }
    yield "version", 0
    for key, name in names.items():
        if entry.get(key) is not None:
            yield name, entry[key]

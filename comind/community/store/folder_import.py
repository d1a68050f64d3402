"""Import community folders, and listings, which have no code."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from comind.community.items import CommunityItems, Remark
from comind.community.jsonl import read_community_folder
from comind.community.lines import NotebookLine
from comind.community.store.engine import Engine
from comind.community.store.importing import ImportResult, ImportSource, StagedImport, import_into
from comind.community.store.records import RecordCollector
from comind.community.store.schema import RECORD_KINDS
from comind.errors import CommunityError, SubmissionError
from comind.system.files import hash_file, hash_tree, read_untrusted

_LISTING_BYTES = 1 << 30
_NO_CODE = "a listing has none, so its notebooks are taken and counted, and never read"


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
    items = _listed(file)
    return import_into(root, _source("listing", items, hash_file(file), competition, root, file.parent))


def folder_source(folder: Path, competition: str, root: Path) -> ImportSource:
    """Return a community folder as a source of an import into the store in `root`.

    Raises:
        CommunityError: the folder, or a file as a whole, is invalid.
    """
    items = read_community_folder(folder)
    return _source("folder", items, hash_tree(folder), competition, root, folder)


def _source(
    kind: str, items: CommunityItems, content_hash: str, competition: str, root: Path, folder: Path
) -> ImportSource:
    def stage(engine: Engine, staging: Path) -> StagedImport:
        collector = RecordCollector(competition, root, folder)
        collector.add(items)
        if kind == "listing" and items.notebooks:
            collector.drop("source code", _NO_CODE, len(items.notebooks))
        for name, record_kind in RECORD_KINDS.items():
            path = staging / f"{name}.jsonl"
            collector.write(name, path)
            columns = record_kind.columns | {"since": "TIMESTAMP", "seen_at": "TIMESTAMP"}
            engine.json(f"new_{name}", path, columns)
        return StagedImport(tuple(RECORD_KINDS), tuple(collector.dropped), collector.observed_at)

    fingerprint = hashlib.sha256(f"{kind} {competition} {content_hash}".encode()).hexdigest()
    return ImportSource(kind, fingerprint, stage, competition)


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
    renamed = {"last_run_time": "created_at", "total_votes": "votes"}
    yield "version", 0
    for key in ("ref", "title", "author", "last_run_time", "total_votes", "language", "observed_at"):
        if entry.get(key) is not None:
            yield renamed.get(key, key), entry[key]

"""Import sources into a store: idempotent by fingerprint, resumable after a kill, one at a time.

An import stages its input beside the store, writes one Parquet file per kind of record, and is committed
when `store.json` lists it. A file that exists is complete, so a resumed import writes nothing twice.
"""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout
from pydantic import ValidationError

from comind.community.store.engine import Engine
from comind.community.store.manifest import (
    Dropped,
    Import,
    Manifest,
    is_community_store,
    read_manifest,
    write_manifest,
)
from comind.community.store.schema import RECORD_KINDS
from comind.community.store.writing import create_views, part_path, write_new_records
from comind.domain.value import Value
from comind.errors import CommunityError
from comind.system.files import write_atomically

_MEGABYTES = 1024
_ID_LENGTH = 8


class ImportResult(NamedTuple):
    """An import, and whether the store already had it."""

    record: Import
    known: bool


class StagedImport(NamedTuple):
    """The kinds of records that a source has staged as views `new_<kind>`, and those that it dropped."""

    kinds: tuple[str, ...]
    dropped: tuple[Dropped, ...] = ()
    observed_at: datetime | None = None


class ImportSource(NamedTuple):
    """Content to import."""

    kind: str
    fingerprint: str
    stage: Callable[[Engine, Path], StagedImport]
    """Stages the records, given an engine and a folder, which a killed import may have partly filled."""
    competition: str | None = None


class _Written(Value):
    """Marker of a written file."""

    count: int
    dropped: tuple[Dropped, ...]


def import_into(root: Path, source: ImportSource, *, megabytes: int = _MEGABYTES) -> ImportResult:
    """Import the new records of a source into the store in `root`, which is created if missing.

    The engine uses at most `megabytes` of memory, and spills the rest to disk.

    Raises:
        CommunityError: the source cannot be read, or another import is running.
        DiskError: the disk is full.
    """
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root.with_name(f".{root.name}.lock"), timeout=0)
    try:
        with lock:
            return _import(root, source, megabytes)
    except Timeout:
        raise CommunityError(f"{root}: another import into it is running") from None


def _import(root: Path, source: ImportSource, megabytes: int) -> ImportResult:
    manifest = read_manifest(root) if is_community_store(root) else Manifest()
    known = manifest.find(source.fingerprint)
    if known is not None:
        return ImportResult(known, known=True)
    origin = f"{len(manifest.imports) + 1:04d}-{source.kind}-{source.fingerprint[:_ID_LENGTH]}"
    staging = root.with_name(f".{root.name}-{source.fingerprint[:_ID_LENGTH]}")
    staging.mkdir(exist_ok=True)
    with Engine(staging, megabytes=megabytes) as engine:
        create_views(engine, root, manifest, "known_")
        staged = source.stage(engine, staging)
        taken: dict[str, int] = {}
        dropped = list(staged.dropped)
        for kind in staged.kinds:
            written = _write(engine, kind, root, staging, origin)
            dropped += written.dropped
            if written.count:
                taken[kind] = written.count
    record = Import(
        id=origin,
        kind=source.kind,
        fingerprint=source.fingerprint,
        competition=source.competition,
        observed_at=staged.observed_at,
        taken={kind: taken[kind] for kind in RECORD_KINDS if kind in taken},
        dropped=tuple(dropped),
    )
    write_manifest(root, manifest.model_copy(update={"imports": (*manifest.imports, record)}))
    shutil.rmtree(staging, ignore_errors=True)
    return ImportResult(record, known=False)


def _write(engine: Engine, kind: str, root: Path, staging: Path, origin: str) -> _Written:
    note = staging / f"written-{kind}.json"
    part = part_path(root, kind, origin)
    try:
        written = _Written.model_validate_json(note.read_bytes())
    except (OSError, ValidationError):
        pass
    else:
        if part.is_file() or not written.count:
            return written
    count, dropped = write_new_records(engine, kind, part, origin)
    written = _Written(count=count, dropped=tuple(dropped))
    write_atomically(note, written.model_dump_json())
    return written

"""Find copies of a competition's answers among its public files, in zip and gzip files too."""

import gzip
import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

from comind.live.plain_files import PlainFiles
from comind.system.files import hash_file

_CHUNK = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""Errors of archives that are damaged, encrypted or of an unknown kind."""


def answer_copies(files: PlainFiles, answers: Path) -> Iterator[str]:
    """Yield the names of public files with the content of `answers`; none without that file.

    Read are files and members of zip files of the same size, and of a gzip file no more than that.
    Other archives, and other spellings of the same table, are not recognised.
    """
    if not answers.is_file():
        return
    size, digest = answers.stat().st_size, hash_file(answers)
    for name, path in files.items():
        if path.suffix == ".zip":
            yield from (f"{name}: {member}" for member in _members(path, size, digest))
        elif path.suffix == ".gz":
            if _is_gzip_of(path, size, digest):
                yield name
        elif path.stat().st_size == size and hash_file(path) == digest:
            yield name


def _members(path: Path, size: int, digest: str) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.file_size == size and _hash(archive.open(member), size) == digest:
                    yield member.filename
    except _UNREADABLE:
        return


def _is_gzip_of(path: Path, size: int, digest: str) -> bool:
    try:
        return _hash(gzip.open(path), size) == digest
    except _UNREADABLE:
        return False


def _hash(stream: IO[bytes] | gzip.GzipFile, size: int) -> str:
    """Return the SHA-256 of a stream, as a hexadecimal string; empty if it is not `size` bytes long."""
    found, digest = 0, hashlib.sha256()
    with closing(stream):
        while found <= size and (chunk := stream.read(_CHUNK)):
            found += len(chunk)
            digest.update(chunk)
    return digest.hexdigest() if found == size else ""

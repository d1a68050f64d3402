"""Keep contents by hash on a node, and build read-only folders from them.

    objects/ab/cdef...   a content, checked when it was written
    trees/HASH/          the folder of a manifest, of hard links to objects

The least recently used folders and their contents are removed when the cache exceeds its limit.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from comind.errors import SandboxError
from comind.nodes.manifest import FileEntry, Manifest
from comind.system.files import write_atomically

Fetch = Callable[[list[str]], Iterator[bytes]]
"""Yields, in chunks of any size, the contents of these hashes one after the other."""

_MOST_OBJECTS = 1_000  # of one request
_REQUEST_BYTES = 256 << 20
_LIMIT_BYTES = 100 << 30
_USED_SECONDS = 24 * 3600.0  # a folder that was used so recently is not removed


class TransferError(Exception):
    """A transfer was cut off or has another content; it can be tried again."""


class ObjectCache:
    """Contents and folders by hash; several processes may share one."""

    def __init__(self, root: Path, *, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._objects = root / "objects"
        self._trees = root / "trees"
        self._limit = limit_bytes
        for folder in (self._objects, self._trees):
            folder.mkdir(parents=True, exist_ok=True)

    def manifest(self, sha256: str, fetch: Fetch) -> Manifest:
        """Return the manifest of this hash, fetched where it is missing.

        Raises:
            TransferError: the transfer failed.
        """
        path = self._path(sha256)
        if not path.is_file():
            content = b"".join(fetch([sha256]))
            if hashlib.sha256(content).hexdigest() != sha256:
                raise TransferError("a manifest arrived damaged")
            write_atomically(path, content)
        return Manifest.model_validate_json(path.read_bytes())

    def tree(self, sha256: str, fetch: Fetch) -> tuple[Path, int]:
        """Return the folder of a manifest and the bytes fetched for it; `TransferError` as above."""
        manifest, folder = self.manifest(sha256, fetch), self._trees / sha256
        if folder.is_dir():
            os.utime(folder)
            return folder, 0
        fetched = self._fetch_missing(manifest.files, fetch)
        with tempfile.TemporaryDirectory(dir=self._trees, prefix=".new-") as staged:
            built = Path(staged) / "tree"
            self._build(manifest, built)
            with contextlib.suppress(OSError):  # another process was faster
                built.rename(folder)
        self._evict()
        return folder, fetched

    def _fetch_missing(self, entries: Iterable[FileEntry], fetch: Fetch) -> int:
        """Fetch the contents that are missing; return their bytes.

        Raises:
            TransferError: the transfer failed; what arrived before is kept.
            SandboxError: the disk is too full.
        """
        missing = {entry.sha256: entry.size for entry in entries if not self._has(entry)}
        self._require_room(sum(missing.values()))
        for batch in _batches(missing):
            reader = _Reader(fetch(list(batch)))
            for sha256, size in batch.items():
                self._store(sha256, size, reader)
        return sum(missing.values())

    def _build(self, manifest: Manifest, folder: Path) -> None:
        """Create `folder` with the files of a manifest, as hard links to objects."""
        folder.mkdir(parents=True)
        for entry in manifest.files:
            target = folder / entry.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(self._path(entry.sha256))

    def _has(self, entry: FileEntry) -> bool:
        try:
            return self._path(entry.sha256).stat().st_size == entry.size
        except OSError:
            return False

    def _path(self, sha256: str) -> Path:
        return self._objects / sha256[:2] / sha256[2:]

    def _store(self, sha256: str, size: int, reader: "_Reader") -> None:
        path, digest = self._path(sha256), hashlib.sha256()
        path.parent.mkdir(exist_ok=True)
        staged = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
        try:
            with staged.open("wb") as file:
                for chunk in reader.take(size):
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != sha256:
                raise TransferError("a file arrived damaged")
            staged.chmod(0o444)
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)

    def _require_room(self, size: int) -> None:
        free = shutil.disk_usage(self._objects).free
        if size >= free:
            raise SandboxError(
                f"{size / (1 << 20):.0f} MiB of inputs are missing, {free / (1 << 20):.0f} MiB are free",
                hint=f"free disk space on the node, such as in {self._objects.parent}",
            )

    def _evict(self) -> None:
        """Remove folders of long ago, least recently used first, and contents that no folder has."""
        sizes = {path: path.stat() for path in self._objects.glob("*/[!.]*")}
        total = sum(facts.st_size for facts in sizes.values())
        if total <= self._limit:
            return
        before = time.time() - _USED_SECONDS
        for folder in sorted(self._trees.glob("[!.]*"), key=lambda path: path.stat().st_mtime):
            if folder.stat().st_mtime < before and total > self._limit:
                shutil.rmtree(folder, ignore_errors=True)
                total -= self._drop_unused(before)

    def _drop_unused(self, before: float) -> int:
        dropped = 0
        for path in self._objects.glob("*/[!.]*"):
            facts = path.stat()
            if facts.st_nlink == 1 and facts.st_mtime < before:
                path.unlink(missing_ok=True)
                dropped += facts.st_size
        return dropped


def _batches(sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    batch: dict[str, int] = {}
    for sha256, size in sizes.items():
        if batch and (len(batch) == _MOST_OBJECTS or sum(batch.values()) + size > _REQUEST_BYTES):
            yield batch
            batch = {}
        batch[sha256] = size
    if batch:
        yield batch


class _Reader:
    """Cuts a stream of chunks into contents of known sizes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def take(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes; TransferError if the stream ends before."""
        while size > 0:
            chunk = self._rest or next(self._chunks, b"")
            if not chunk:
                raise TransferError("the transfer was cut off")
            self._rest = chunk[size:]
            size -= len(chunk[:size])
            yield chunk[: len(chunk) - len(self._rest)]

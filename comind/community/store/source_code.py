"""Store and load the source code of notebooks, in the store or from Meta Kaggle Code."""

import hashlib
from pathlib import Path

from comind.community.sanitize import decode_text, notebook_to_script, sanitize_program
from comind.errors import SubmissionError
from comind.system.files import read_untrusted, write_atomically

__all__ = ["SourceCodeStore"]

_KEPT, _DUMPED = "kept:", "meta:"
_SUFFIXES = (".ipynb", ".py", ".r", ".R", ".rmd", ".Rmd", ".irnb", ".jl", ".sql", ".sqlite")
_BYTES = 64 << 20


def _dump_path(version_id: int) -> str:
    """Return the path of a version in Meta Kaggle Code without suffix: millions, thousands, id."""
    return f"{version_id // 1_000_000:04d}/{version_id // 1000 % 1000:03d}/{version_id}"


class SourceCodeStore:
    """Load source code by the `code` of a record."""

    def __init__(self, root: Path, dump: Path | None) -> None:
        self._kept = root / "code"
        self._dump = dump

    def add(self, source: str) -> str:
        """Store source code, content-addressed; returns its `code`."""
        name = hashlib.sha256(source.encode()).hexdigest()
        path = self._kept / name[:2] / f"{name}.txt"
        if not path.exists():
            write_atomically(path, source)
        return _KEPT + name

    def read(self, code: str) -> str | None:
        """Return sanitized source code; None if it is not available."""
        if code.startswith(_KEPT):
            name = code.removeprefix(_KEPT)
            try:
                return (self._kept / name[:2] / f"{name}.txt").read_text()
            except OSError:
                return None
        if self._dump is None or not code.startswith(_DUMPED):
            return None
        return self._dumped(self._dump, _dump_path(int(code.removeprefix(_DUMPED))))

    def _dumped(self, dump: Path, name: str) -> str | None:
        for suffix in _SUFFIXES:
            path = dump / (name + suffix)
            if not path.is_file():
                continue
            try:
                text = decode_text(read_untrusted(dump, name + suffix, limit=_BYTES))
                return sanitize_program(
                    notebook_to_script(text) if suffix in (".ipynb", ".irnb") else text
                )
            except (SubmissionError, OSError, ValueError):
                return None
        return None

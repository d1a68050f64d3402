"""Store and load the source code of notebooks, in the store or from Meta Kaggle Code."""

import hashlib
from pathlib import Path

from comind.community.notebook_source import load_source
from comind.system.files import write_atomically

_KEPT, _DUMPED = "kept:", "meta:"
_SUFFIXES = (".ipynb", ".py", ".r", ".R", ".rmd", ".Rmd", ".irnb", ".jl", ".sql", ".sqlite")


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
        name = _dump_path(int(code.removeprefix(_DUMPED)))
        suffix = next((each for each in _SUFFIXES if (self._dump / (name + each)).is_file()), None)
        if suffix is None:
            return None
        try:
            return load_source(self._dump, name + suffix)
        except (OSError, ValueError):
            return None

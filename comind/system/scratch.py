"""Temporary folders that are never left behind, however we end.

All of them lie in one folder of this process, which a keeper removes when the process is gone; nobody
else can look into it. Their paths are short enough for Unix sockets, which end at 107 bytes.
"""

import os
import tempfile
import threading
from pathlib import Path

from comind.system.supervised import SupervisedProcess, start_supervised
from comind.system.supervisor import remove_tree

__all__ = ["ScratchFolder", "scratch_folder"]

_lock = threading.Lock()
_bases: dict[int, tuple[Path, SupervisedProcess]] = {}  # by process: a fork has one of its own


class ScratchFolder:
    """A new, private folder; removed at the end of the block, or with the process."""

    def __init__(self, prefix: str) -> None:
        """Make it; the prefix says whose it is."""
        self.path = scratch_folder(prefix)

    def __enter__(self) -> Path:
        """Return its path."""
        return self.path

    def __exit__(self, *_: object) -> None:
        """Remove it, whatever it holds."""
        remove_tree(str(self.path))


def scratch_folder(prefix: str) -> Path:
    """Return a new, private folder that is removed when this process has ended, if not before."""
    with _lock:
        base, supervisor = _bases.get(os.getpid(), (None, None))
        if base is None or supervisor is None or not supervisor.alive():
            # The keeper comes next: killed in between, we leave an empty folder and no more.
            base = Path(tempfile.mkdtemp(prefix="comind-"))
            supervisor = start_supervised(
                ["/bin/sleep", "infinity"], env={}, cwd=Path("/"), scratch=base, grace=0.0
            )
            _bases[os.getpid()] = (base, supervisor)
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=base))

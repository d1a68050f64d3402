"""Download files: resumed after broken connections, checked, in their place only once complete."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_ATTEMPTS = 2  # at a file whose check fails


def download(
    part: Path,
    whole: Path,
    send: Callable[[Path], T],
    check: Callable[[Path, T], str],
    broken: type[Exception],
) -> str:
    """Download to `part`, which becomes `whole`; return what is wrong with it, empty for nothing.

    Args:
        part: what an earlier call left is continued.
        whole: a file that is there is kept, and nothing is downloaded.
        send: downloads to a path, continuing what is there; what it returns is passed to `check`.
        check: returns what is wrong with a download, empty if nothing is.
        broken: raised by `send` for a broken connection; it is sent again as long as the file grows.
    """
    if whole.is_file():
        return ""
    wrong = ""
    for _ in range(_ATTEMPTS):
        wrong = check(part, _resume(send, part, broken))
        if not wrong:
            part.rename(whole)
            return ""
        part.unlink(missing_ok=True)
    return wrong


def _resume(send: Callable[[Path], T], part: Path, broken: type[Exception]) -> T:
    while True:
        before = size_of(part)
        try:
            return send(part)
        except broken:
            if size_of(part) <= before:
                raise


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0

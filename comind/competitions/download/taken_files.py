"""Take the files of a download into a folder of ours, so that the user's own are never changed."""

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comind.competitions.download.archives import (
    PART_NAME,
    copy_file,
    describe_left_out,
    is_litter,
    link_or_copy,
    unpack,
)
from comind.competitions.download.findings import Finding
from comind.errors import CompetitionError
from comind.system.files import clone_file, is_of_tools
from comind.system.progress import counted

_NOT_DATA = ("private", "leaderboard", "community", "competition.yaml")
_MOST_OF_FREE = 0.5
"""Share of the free disk space that copies may take."""


def take_files(data: Path, files: Path) -> list[Finding]:
    """Copy the files of a download below the folder `files`, and unpack archives.

    Versioning makes files of ours read-only, so they are no links to the user's, unless copies would
    take more than half of the free disk space; a finding says so. Files that a killed run has left there
    are complete, and stay.
    """
    files.mkdir(exist_ok=True)
    finished = {path for path in files.rglob("*") if path.is_file()}
    size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    present = sum(path.stat().st_size for path in finished)
    fits = size - present <= _MOST_OF_FREE * shutil.disk_usage(files).free
    clone = _can_clone(files)
    place = partial(copy_file, clone=clone) if fits or clone else link_or_copy
    left_out: list[str] = []
    take = partial(unpack, public=files, finished=finished, place=place, left_out=left_out)
    if data.is_file():
        take(data, data.name.lstrip("."))
    else:
        _take_folder(data, take, left_out)
    for part in files.rglob(PART_NAME):
        part.unlink()
    lines = [describe_left_out(left_out)] if left_out else []
    if place is link_or_copy:
        gibibytes = f"{size / (1 << 30):.1f} GiB"
        lines.append(
            f"hard links to the download, as a copy takes {gibibytes}: versioning makes them read-only"
        )
    return [Finding(topic="files", text=line) for line in lines]


def _can_clone(folder: Path) -> bool:
    """Return whether copies within the folder's file system can share their blocks."""
    with tempfile.NamedTemporaryFile(dir=folder) as old, tempfile.NamedTemporaryFile(dir=folder) as new:
        return clone_file(Path(old.name), Path(new.name))


def _take_folder(data: Path, take: Callable[[Path, str], object], left_out: list[str]) -> None:
    """Take the files of a folder, and unpack archives."""
    paths = sorted(data.rglob("*"))
    for path in counted(paths, "files taken", len(paths)):
        relative = path.relative_to(data)
        if relative.parts[0] in _NOT_DATA:
            continue
        if is_of_tools(relative):
            left_out += [str(relative)] if path.is_file() and not is_litter(relative) else []
        elif path.is_symlink():
            raise CompetitionError(f"{relative} is a symbolic link", hint="put the file itself there")
        elif path.is_file():
            take(path, relative.as_posix())

"""Fetch files of public datasets, and the submissions that public notebooks wrote, up to a size.

datasets/<owner>/<name>/<version>/            the files of a dataset's version, by their own names
outputs/<owner>/<name>/<version>/             the submission file of a notebook's version
.staging/                                     downloads that are not complete

An empty folder is of an item that has no such files, or whose files came and were refused.
"""

import contextlib
import shutil
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from comind.competitions.download.archives import (
    check_free_space,
    extract_each,
    link_or_copy,
    safe_name,
)
from comind.domain.community import OUTPUTS_AT, is_reference, submission_among
from comind.errors import CompetitionError, DiskError, KaggleRefusedError, KaggleUnknownError
from comind.kaggle.downloads import CorruptDownloadError, download, key_of
from comind.kaggle.port import Chunk, DataFile, Kaggle
from comind.kaggle.rate_limit import paginate
from comind.system.downloads import size_of
from comind.system.files import DISK_FULL, is_of_tools

_MEGABYTE = 1_000_000
_CHUNKS = 12  # pages of a list of files, which hold twenty and more
_MOST_FILES = 200  # of one dataset; one with more has none here

Ask = Callable[[str | None], Chunk[DataFile]]
Send = Callable[[str, Path], str | None]
Listed = list[DataFile] | None
"""The files to fetch; None: the list does not allow for it."""


class CommunityFiles:
    """Files of a community folder; what is fetched together has at most `megabytes`."""

    def __init__(self, kaggle: Kaggle, folder: Path, megabytes: float) -> None:
        self._kaggle = kaggle
        self._folder = folder
        self._staging = folder / ".staging"
        self._bytes_left = megabytes * _MEGABYTE

    def refused_dataset(self, ref: str, version: int) -> bool:
        """Return whether the files of a dataset's version came before, and were refused."""
        folder = self._folder / _dataset_place(ref, version)
        return folder.is_dir() and not any(folder.iterdir())

    def knows_output(self, ref: str, version: int) -> bool:
        """Return whether the submission of a notebook's version was fetched or refused before."""
        return (self._folder / _output_place(ref, version)).is_dir()

    def dataset(self, ref: str, version: int) -> str:
        """Return the folder of a dataset's files in the community folder; fetch missing ones.

        Empty if Kaggle does not give them, there are too many, or they are too large.
        """
        ask, send = partial(self._kaggle.dataset_files, ref), partial(self._kaggle.download_dataset, ref)
        return self._fetch(_dataset_place(ref, version), ref, partial(_all_files, ask), send)

    def output(self, ref: str, version: int) -> str:
        """Return the folder of the submission that a notebook wrote, as `dataset`."""
        ask, send = partial(self._kaggle.output_files, ref), partial(self._kaggle.download_output, ref)
        return self._fetch(_output_place(ref, version), ref, partial(_submission_file, ask), send)

    def close(self) -> None:
        """Remove the staging folder."""
        shutil.rmtree(self._staging, ignore_errors=True)

    def _fetch(self, place: str, ref: str, choose: Callable[[], Listed], send: Send) -> str:
        """Fetch the chosen files to a place; a failure that is of this item alone gives none."""
        if not is_reference(ref):
            return ""
        target, before = self._folder / place, self._bytes_left
        try:
            if target.is_dir():
                return place if any(target.iterdir()) else ""
            listed = choose()
            if listed is None or not self._fit(listed):
                return ""
            staged = self._staged(place, listed, send)
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.rename(target)  # empty where there are none, so that they are not asked for again
        except (KaggleRefusedError, KaggleUnknownError, CorruptDownloadError, DiskError):
            return ""
        except (CompetitionError, OSError) as error:
            full = isinstance(error, OSError) and error.errno in DISK_FULL
            if self._bytes_left < before and not full:
                _remember_refusal(target)
            return ""
        return place if listed else ""

    def _fit(self, listed: Sequence[DataFile]) -> bool:
        """Return whether the files are within the limit, as listed; an unknown size is not."""
        known = all(file.size > 0 for file in listed)
        return known and sum(file.size for file in listed) <= self._bytes_left

    def _staged(self, place: str, listed: list[DataFile], send: Send) -> Path:
        """Return a folder with these files."""
        names = [safe_name(file.name) for file in listed]
        if len(set(names)) < len(names):
            raise CompetitionError(f"{place}: two files have the same name")
        staged = self._staging / "new"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        check_free_space(self._staging, sum(file.size for file in listed), f"{place}: its files")
        for file, name in zip(listed, names, strict=True):
            key, what = key_of(file, of=place), f"{place}: {file.name}"
            counted = partial(self._counted, partial(send, file.name))
            whole = download(self._staging, key, counted, what=what, size=file.size)
            self._put(whole, name, staged / name)
        return staged

    def _counted(self, send: Callable[[Path], str | None], target: Path) -> str | None:
        """Download to a file; what comes counts, even if it is of no use."""
        before = size_of(target)
        try:
            return send(target)
        finally:
            self._bytes_left -= max(0, size_of(target) - before)

    def _put(self, whole: Path, name: PurePosixPath, target: Path) -> None:
        """Bring a download to its place; Kaggle's own zip of the file is unpacked.

        Raises:
            CompetitionError: more came than the limit allows, or the zip holds more, or is corrupt.
        """
        size = _size_in_own_zip(whole, name)
        self._bytes_left -= max(0, (size or 0) - size_of(whole))
        if self._bytes_left < 0:
            raise CompetitionError(f"{name}: it is larger than its list says")
        if size is None:
            link_or_copy(whole, target)
            return
        (self._staging / "unpacked").unlink(missing_ok=True)  # of a killed call
        for _, unpacked in extract_each(whole, self._staging / "unpacked"):
            target.parent.mkdir(parents=True, exist_ok=True)
            unpacked.rename(target)


def _dataset_place(ref: str, version: int) -> str:
    return f"datasets/{ref}/{version}"


def _output_place(ref: str, version: int) -> str:
    return f"{OUTPUTS_AT}/{ref}/{version}"


def _all_files(ask: Ask) -> Listed:
    """Return a dataset's files, without those that git, DVC or a shell could act on; None: too many."""
    files, cut = _read_list(ask)
    if cut or len(files) > _MOST_FILES:
        return None
    return [file for file in files if not is_of_tools(PurePosixPath(file.name))]


def _submission_file(ask: Ask) -> Listed:
    """Return the submission among a notebook's files; None if it may be beyond the pages read."""
    files, cut = _read_list(ask)
    name = submission_among(file.name for file in files)
    if name is None:
        return None if cut else []
    return [next(file for file in files if file.name == name)]


def _read_list(ask: Ask) -> tuple[list[DataFile], bool]:
    """Return the files of the first pages of a list, and whether there are more."""
    following: str | None = None

    def asked(at: str | None) -> Chunk[DataFile]:
        nonlocal following
        chunk = ask(at)
        following = chunk.following
        return chunk

    files = list(paginate(asked, chunks=_CHUNKS))
    return files, following is not None


def _size_in_own_zip(whole: Path, name: PurePosixPath) -> int | None:
    """Return the size of the file in Kaggle's own zip of it, as its header states; None: it is none."""
    try:
        with zipfile.ZipFile(whole) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return None
    own = len(members) == 1 and members[0].filename in (str(name), name.name)
    return members[0].file_size if own else None


def _remember_refusal(target: Path) -> None:
    with contextlib.suppress(OSError):
        target.mkdir(parents=True)

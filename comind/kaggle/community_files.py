"""Fetch files of public datasets, and the submissions that public notebooks wrote, up to a size.

datasets/<owner>/<name>/<version>/            the files of a dataset's version
outputs/<owner>/<name>/<version>/             the submission files of a notebook's version
.staging/                                     downloads that are not complete
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comind.competitions.download.archives import check_free_space, safe_name, unpack
from comind.domain.community import OUTPUTS_AT, is_submission
from comind.errors import CompetitionError, KaggleRefusedError, KaggleUnknownError
from comind.kaggle.downloads import download, key_of
from comind.kaggle.port import Chunk, DataFile, Kaggle
from comind.kaggle.rate_limit import paginate

_MEGABYTE = 1_000_000
_CHUNKS = 12  # pages of a list of files, which hold twenty and more
_MOST_FILES = 200  # of one dataset; one with more has none here

Ask = Callable[[str | None], Chunk[DataFile]]
Send = Callable[[str, Path], str | None]


class CommunityFiles:
    """Files of a community folder; what is fetched together has at most `megabytes`."""

    def __init__(self, kaggle: Kaggle, folder: Path, megabytes: float) -> None:
        self._kaggle = kaggle
        self._folder = folder
        self._staging = folder / ".staging"
        self._bytes_left = megabytes * _MEGABYTE

    def dataset(self, ref: str, version: int) -> str:
        """Return the folder of a dataset's files in the community folder; fetch missing ones.

        Empty if Kaggle does not give them, there are too many, or they are too large.
        """
        ask, send = partial(self._kaggle.dataset_files, ref), partial(self._kaggle.download_dataset, ref)
        return self._fetch(f"datasets/{ref}/{version}", ref, ask, send)

    def output(self, ref: str, version: int) -> str:
        """Return the folder of the submissions that a notebook wrote, as `dataset`."""
        ask, send = partial(self._kaggle.output_files, ref), partial(self._kaggle.download_output, ref)
        return self._fetch(f"{OUTPUTS_AT}/{ref}/{version}", ref, ask, send, is_submission)

    def close(self) -> None:
        """Remove the staging folder."""
        shutil.rmtree(self._staging, ignore_errors=True)

    def _fetch(
        self, path: str, ref: str, ask: Ask, send: Send, wanted: Callable[[str], bool] = bool
    ) -> str:
        target = self._folder / path
        if target.is_dir():
            return path if any(target.iterdir()) else ""
        try:
            listed = [file for file in paginate(ask, chunks=_CHUNKS) if wanted(file.name)]
            if len(listed) > _MOST_FILES or sum(file.size for file in listed) > self._bytes_left:
                return ""
            staged = self._staged(ref, listed, send)
        except (KaggleRefusedError, KaggleUnknownError, CompetitionError):
            return ""
        size = sum(file.stat().st_size for file in staged.rglob("*") if file.is_file())
        if size > self._bytes_left:  # an archive holds more than its list says
            return ""
        self._bytes_left -= size
        target.parent.mkdir(parents=True, exist_ok=True)
        staged.rename(target)  # empty where there are none, so that they are not asked for again
        return path if listed else ""

    def _staged(self, ref: str, listed: list[DataFile], send: Send) -> Path:
        """Return a folder with these files; archives are unpacked as those of a competition."""
        for file in listed:
            safe_name(file.name)
        staged = self._staging / "new"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        check_free_space(self._staging, sum(file.size for file in listed), f"{ref}: its files")
        for file in listed:
            key = f"{ref.replace('/', '-')}-{key_of(file)}"
            what = f"{ref}: {file.name}"
            whole = download(self._staging, key, partial(send, file.name), what=what, size=file.size)
            unpack(whole, file.name, staged)
        return staged

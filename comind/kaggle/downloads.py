"""Download files to a staging folder: resumed after broken connections, verified, reused once complete.

<key>.part     a partial download
<key>.file     a complete one
"""

import hashlib
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comind.errors import KaggleBusyError
from comind.kaggle.port import DataFile
from comind.system import downloads


class CorruptDownloadError(KaggleBusyError):
    """What comes for one file is corrupt each time; others may be sound."""


def key_of(*files: DataFile, of: str = "") -> str:
    """Return the file name of a download in staging; `of` is the item that files belong to, if any."""
    text = "\n".join([*filter(None, [of]), *(file.model_dump_json() for file in files)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def download(
    staging: Path, key: str, send: Callable[[Path], str | None], *, what: str, size: int | None
) -> Path:
    """Return a complete, verified download; one of an earlier call is reused.

    Args:
        staging: the folder of downloads.
        key: the name of the file in it.
        send: downloads to a path, continuing what is there; returns the MD5 if it is sent.
        what: competition, dataset or notebook, and name of the file, for an error.
        size: uncompressed, in bytes; None: a zip of unknown size.

    Raises:
        CorruptDownloadError: the download is corrupt.
        KaggleError: `send` fails.
    """
    whole, part = staging / f"{key}.file", staging / f"{key}.part"
    wrong = downloads.download(part, whole, send, partial(_verify, size=size), KaggleBusyError)
    if wrong:
        raise CorruptDownloadError(
            f"{what}: the download is corrupt ({wrong})", hint="run this again later"
        )
    return whole


def _verify(path: Path, md5: str | None, *, size: int | None) -> str:
    """Return what is wrong with a download, which may be a zip of the file; empty if nothing is."""
    if md5 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "md5").hexdigest()
        return "" if found == md5 else "checksum mismatch"
    if size is None and not zipfile.is_zipfile(path):
        return "not a complete zip"
    came = path.stat().st_size
    if size and came != size and not zipfile.is_zipfile(path):
        return f"{came} bytes of {size}"
    return ""

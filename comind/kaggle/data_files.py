"""The data files of a competition: what is new is fetched, checked, and put in place in one step.

public/                 made from the data files; replaced as a whole
.staging/<key>.part     a file on its way, gone on with after a failure
.staging/<key>.file     a file that came whole
.staging/new/           the next public/
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from comind.errors import KaggleBusyError, KaggleError
from comind.kaggle.archives import check_room, link_or_copy, members_of, place, safe_name
from comind.kaggle.port import DataFile, Kaggle, Received
from comind.kaggle.record import FetchRecord

__all__ = ["DataFolder", "told_changes"]

_ONE_BY_ONE = 20
"""So many files are asked for one by one; of more, all are asked for in one zip."""
_TRIES = 2
"""So often a file is asked for that does not come whole."""
_SHOWN = 3


class DataFolder:
    """`public/` of a competition's folder, and what is on its way there."""

    def __init__(self, kaggle: Kaggle, slug: str, folder: Path) -> None:
        """Take the competition's folder, which may not be there yet."""
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._staging = folder / ".staging"

    @property
    def next_public(self) -> Path:
        """Where the files lie before they are put in place."""
        return self._staging / "new"

    def recover(self) -> None:
        """Put back the public/ that a kill caught on its way out."""
        public, old = self._folder / "public", self._staging / "old"
        if old.is_dir() and not public.exists():
            old.rename(public)

    def is_current(self, listed: Sequence[DataFile], record: FetchRecord | None) -> bool:
        """Whether what is there was made from these very files."""
        if record is None or tuple(listed) != record.files:
            return False
        made = [name for names in record.made.values() for name in names]
        return all((self._folder / "public" / name).is_file() for name in made)

    def gather(
        self, listed: Sequence[DataFile], record: FetchRecord | None
    ) -> dict[str, tuple[str, ...]]:
        """Make the next public/ from the listed files; return what each of them became.

        What did not change is taken from the public/ that is there, nothing comes twice.

        Raises:
            KaggleError: a file cannot be had, is not whole, or is none that can be trusted.
            DiskError: there is no room.
        """
        for file in listed:
            safe_name(file.name)
        shutil.rmtree(self.next_public, ignore_errors=True)
        self.next_public.mkdir(parents=True)
        made = self._carry_over(listed, record)
        missing = [file for file in listed if file.name not in made]
        check_room(self._staging, sum(file.size for file in missing), f"{self._slug}: its data")
        if len(missing) > _ONE_BY_ONE or _was_cut(record):
            made |= self._unpack_all(listed, made)
        else:
            for file in missing:
                made[file.name] = place(self._fetched(file), file.name, self.next_public)
        return made

    def put_in_place(self) -> None:
        """Replace public/ by the next one; `recover` mends what a kill leaves between the two."""
        public, old = self._folder / "public", self._staging / "old"
        shutil.rmtree(old, ignore_errors=True)
        if public.exists():
            public.rename(old)
        self.next_public.rename(public)

    def clean_up(self) -> None:
        """Take away what was on its way; all of it has arrived."""
        shutil.rmtree(self._staging, ignore_errors=True)

    def _carry_over(
        self, listed: Sequence[DataFile], record: FetchRecord | None
    ) -> dict[str, tuple[str, ...]]:
        made: dict[str, tuple[str, ...]] = {}
        if record is None:
            return made
        public = self._folder / "public"
        known = {file.name: file for file in record.files}
        for file in listed:
            names = record.made.get(file.name, ())
            if known.get(file.name) != file or not names:
                continue
            if all((public / name).is_file() for name in names):
                for name in names:
                    link_or_copy(public / name, self.next_public / name)
                made[file.name] = names
        return made

    def _unpack_all(
        self, listed: Sequence[DataFile], carried: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        """Fetch all files in one zip, and place those that are not there; a long list may be cut."""
        key = hashlib.sha256("\n".join(map(_identity, listed)).encode()).hexdigest()[:16]
        bundle = self._whole(None, f"all-{key}", None)
        made: dict[str, tuple[str, ...]] = {}
        for name, file in members_of(bundle, self._staging / "member"):
            if name not in carried:
                made[name] = place(file, name, self.next_public)
        missing = sorted({file.name for file in listed} - set(made) - set(carried))
        if missing:
            raise KaggleError(
                f"{self._slug}: the zip of all files lacks {len(missing)} of them, such as {missing[0]}",
                hint="run this again later; the data may be changing just now",
            )
        return made

    def _fetched(self, file: DataFile) -> Path:
        key = hashlib.sha256(_identity(file).encode()).hexdigest()[:16]
        return self._whole(file.name, key, file.size)

    def _whole(self, name: str | None, key: str, size: int | None) -> Path:
        """Return a file that came whole, today or before; what came is checked."""
        whole, part = self._staging / f"{key}.file", self._staging / f"{key}.part"
        if whole.is_file():
            return whole
        wrong = ""
        for _ in range(_TRIES):
            received = self._downloaded(name, part)
            wrong = _what_is_wrong(part, received.md5, size)
            if not wrong:
                part.rename(whole)
                return whole
            part.unlink(missing_ok=True)
        raise KaggleBusyError(
            f"{self._slug}: {name or 'the zip of all files'} did not come whole ({wrong})",
            hint="run this again later",
        )

    def _downloaded(self, name: str | None, part: Path) -> Received:
        """Download a file; a line that breaks is no reason to end while more of it comes each time."""
        while True:
            before = _size(part)
            try:
                return self._kaggle.download(self._slug, name, part)
            except KaggleBusyError:
                if _size(part) <= before:
                    raise


def told_changes(listed: Sequence[DataFile], record: FetchRecord | None) -> str:
    """Return a line on what Kaggle changed in the data since they were fetched; nothing for nothing."""
    if record is None or tuple(listed) == record.files:
        return ""
    now, before = ({file.name: file for file in files} for files in (listed, record.files))
    kinds = {
        "changed": [name for name in now if name in before and now[name] != before[name]],
        "new": [name for name in now if name not in before],
        "gone": [name for name in before if name not in now],
    }
    told = [f"{_named(names)} {kind}" for kind, names in kinds.items() if names]
    since = f"since {record.fetched_at:%Y-%m-%d %H:%M} UTC"
    return f"the data was released anew {since}: {', '.join(told)}" if told else ""


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _was_cut(record: FetchRecord | None) -> bool:
    """Whether more files came than the list had room for; only the zip of all files has them."""
    return record is not None and bool(set(record.made) - {file.name for file in record.files})


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _identity(file: DataFile) -> str:
    return file.model_dump_json()


def _what_is_wrong(path: Path, md5: str | None, size: int | None) -> str:
    """Return what is wrong with a file that came; the list's size is of what is in it, zipped or not.

    Without a size it is the zip of all files.
    """
    import zipfile

    if md5 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "md5").hexdigest()
        return "" if found == md5 else "its checksum is another"
    if size is None and not zipfile.is_zipfile(path):
        return "it is no whole zip"
    came = path.stat().st_size
    if size and came != size and not zipfile.is_zipfile(path):
        return f"{came} bytes of {size}"
    return ""

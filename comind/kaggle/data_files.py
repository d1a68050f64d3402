"""Download new data files of a competition, verify them, and replace `public/` atomically.

public/                 unpacked data files
.staging/<key>.part     a partial download, resumed after a failure
.staging/<key>.file     a complete download
.staging/new/           the next public/
fetched.json            what was fetched, written last
"""

import filecmp
import shutil
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from comind.competitions.download.archives import (
    check_free_space,
    extract_each,
    link_or_copy,
    safe_name,
    unpack,
)
from comind.domain.value import Value
from comind.errors import KaggleError
from comind.kaggle.downloads import download, key_of
from comind.kaggle.port import CompetitionFacts, DataFile, Kaggle
from comind.system.files import write_atomically

_ONE_BY_ONE = 20  # new files that are downloaded separately; more come in one zip of all files
_SHOWN = 3
_RECORD = "fetched.json"


class FetchRecord(Value):
    """Record of a fetch, so that the next fetch is incremental."""

    facts: CompetitionFacts
    fetched_at: datetime
    files: tuple[DataFile, ...] = ()
    """The list of data files that `public/` was made from."""
    released: tuple[DataFile, ...] = ()
    """That list when the content of `public/` last changed; empty in old records, for `files`."""
    made: dict[str, tuple[str, ...]] = {}
    """By data file: the files below `public/` that it became."""
    pages_sha256: str = ""
    rules_sha256: str = ""
    described_sha256: str = ""
    """Of `competition.yaml` as written by us; with another hash it is the user's."""

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the record of a folder, or None where there is none that is valid."""
        try:
            return cls.model_validate_json((folder / _RECORD).read_bytes())
        except (OSError, ValidationError):
            return None

    @property
    def release(self) -> tuple[DataFile, ...]:
        """The list of files that stands for the data's content, which other dates do not change."""
        return self.released or self.files

    def write(self, folder: Path) -> None:
        """Write the record to a folder atomically."""
        write_atomically(folder / _RECORD, self.model_dump_json(indent=1) + "\n")


class DataFolder:
    """`public/` of a competition's folder, and the staging of the next one."""

    def __init__(self, kaggle: Kaggle, slug: str, folder: Path) -> None:
        """Use the competition's folder, which need not exist yet."""
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._staging = folder / ".staging"
        self.left_out: list[str] = []
        """Names of files that `gather` did not take, for their names."""

    @property
    def next_public(self) -> Path:
        """Staging folder of the next `public/`."""
        return self._staging / "new"

    def recover(self) -> None:
        """Restore the old `public/` after a crash in `put_in_place`."""
        public, old = self._folder / "public", self._staging / "old"
        if old.is_dir() and not public.exists():
            old.rename(public)

    def is_current(self, listed: Sequence[DataFile], record: FetchRecord | None) -> bool:
        """Return whether `public/` was made from exactly these files."""
        if record is None or tuple(listed) != record.files:
            return False
        made = [name for names in record.made.values() for name in names]
        return all((self._folder / "public" / name).is_file() for name in made)

    def gather(
        self, listed: Sequence[DataFile], record: FetchRecord | None
    ) -> dict[str, tuple[str, ...]]:
        """Build the next `public/` from the listed files; return the files that each became.

        Unchanged ones are linked from the present `public/`.

        Raises:
            KaggleError: a download fails or is corrupt, or a name leads out of the folder.
            DiskError: there is not enough disk space.
        """
        for file in listed:
            safe_name(file.name)
        shutil.rmtree(self.next_public, ignore_errors=True)
        self.next_public.mkdir(parents=True)
        made = self._carry_over(listed, record)
        missing = [file for file in listed if file.name not in made]
        check_free_space(self._staging, sum(file.size for file in missing), f"{self._slug}: its data")
        if len(missing) > _ONE_BY_ONE or _was_cut(record):
            made |= self._unpack_all(listed, made)
        else:
            for file in missing:
                whole = self._download(file.name, key_of(file), file.size)
                made[file.name] = unpack(whole, file.name, self.next_public, left_out=self.left_out)
        return made

    def has_same_content(self) -> bool:
        """Return whether the next `public/` has the files of the present one, descriptions aside."""
        now, new = self._folder / "public", self.next_public
        names = _names(new)
        return names == _names(now) and all(_same(now / name, new / name) for name in names)

    def put_in_place(self) -> None:
        """Replace `public/` by the next one; `recover` completes a replacement that was interrupted."""
        public, old = self._folder / "public", self._staging / "old"
        shutil.rmtree(old, ignore_errors=True)
        if public.exists():
            public.rename(old)
        self.next_public.rename(public)

    def clean_up(self) -> None:
        """Remove the staging folder."""
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
        """Download all files in one zip, and unpack those that are missing, listed or not."""
        bundle = self._download(None, f"all-{key_of(*listed)}", None)
        made: dict[str, tuple[str, ...]] = {}
        for name, file in extract_each(bundle, self._staging / "member"):
            if name not in carried:
                made[name] = unpack(file, name, self.next_public, left_out=self.left_out)
        missing = sorted({file.name for file in listed} - set(made) - set(carried))
        if missing:
            raise KaggleError(
                f"{self._slug}: the zip of all files lacks {len(missing)} of them, such as {missing[0]}",
                hint="run this again later; the data may be changing",
            )
        return made

    def _download(self, name: str | None, key: str, size: int | None) -> Path:
        """Return a complete, verified download; one of an earlier run is reused."""
        what = f"{self._slug}: {name or 'the zip of all files'}"
        send = partial(self._kaggle.download, self._slug, name)
        return download(self._staging, key, send, what=what, size=size)


def describe_changes(listed: Sequence[DataFile], record: FetchRecord | None) -> str:
    """Return a line on the data files that changed since they were fetched; empty for none."""
    if record is None or tuple(listed) == record.files:
        return ""
    now, before = ({file.name: file for file in files} for files in (listed, record.files))
    kinds = {
        "changed": [name for name in now if name in before and now[name] != before[name]],
        "new": [name for name in now if name not in before],
        "gone": [name for name in before if name not in now],
    }
    changes = [f"{_first_of(names)} {kind}" for kind, names in kinds.items() if names]
    since = f"since {record.fetched_at:%Y-%m-%d %H:%M} UTC"
    return f"the data was released anew {since}: {', '.join(changes)}" if changes else ""


def _first_of(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _was_cut(record: FetchRecord | None) -> bool:
    """Return whether the list of files was truncated; only the zip of all files has the others."""
    return record is not None and bool(set(record.made) - {file.name for file in record.files})


def _names(folder: Path) -> set[Path]:
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return files - {Path("description.md")}


def _same(one: Path, other: Path) -> bool:
    return one.samefile(other) or filecmp.cmp(one, other, shallow=False)

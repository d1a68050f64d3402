"""Open a submission in any format that Kaggle takes or tools write, as a CSV file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.competitions.download.archives import unpack
from comind.competitions.download.table_formats import convert_tables
from comind.errors import CompetitionError, SubmissionError
from comind.system.temporary_folders import scratch_folder
from comind.tables.table_files import tables_of

_MAGIC = (b"PK\x03\x04", b"\x1f\x8b")
_FORMATS = (
    "a submission is .csv, .tsv, .parquet, .feather or .jsonl, also as .gz, or a zip with one of these"
)


@contextmanager
def submission_as_csv(path: Path) -> Iterator[Path]:
    """Yield a CSV file with a submission's rows: itself, or a copy that is removed afterwards.

    Raises:
        SubmissionError: the file is of another format or corrupt, or has several tables; also errors
            inside the context, with the submission's own path.
        DiskError: there is not enough disk space to unpack it.
    """
    if not path.is_file() or (path.suffix.lower() == ".csv" and not _is_packed(path)):
        yield path
        return
    name = f"submission{''.join(path.suffixes[-2:])}"
    with scratch_folder("submission") as folder:
        try:
            yield _converted(path, folder, name)
        except (CompetitionError, SubmissionError) as error:
            line = str(error).split(": ", 1)[1] if str(error).startswith(f"{folder}/") else str(error)
            line = line.removeprefix(f"{path}: ").removeprefix(f"{name}: ")
            raise SubmissionError(f"{path}: {line}", hint=error.hint) from None


def _is_packed(path: Path) -> bool:
    """Return whether a file is a zip or gzip, whatever its name."""
    with path.open("rb") as file:
        return file.read(4).startswith(_MAGIC)


def _converted(path: Path, folder: Path, name: str) -> Path:
    """Unpack and convert a submission under a name in a folder; return its one table."""
    unpack(path, name, folder)
    convert_tables(folder)
    tables = list(tables_of(folder))
    if not tables:
        raise SubmissionError(f"{path}: has no table", hint=_FORMATS)
    if len(tables) > 1:
        names = " and ".join(str(table.relative_to(folder)) for table in tables[:2])
        raise SubmissionError(f"{path}: has {len(tables)} tables, such as {names}", hint=_FORMATS)
    return tables[0]

"""Take in the public data of a prepared competition: its three tables under their usual names.

Files are unpacked and converted like those of any download. Where the labelled rows are no table, the
catalog says what to make them of (`train_tables`).
"""

import re
import shutil
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pandas as pd

from comind.competitions.download.archives import link_or_copy
from comind.competitions.download.description_page import read_description
from comind.competitions.download.file_tables import FILE_COLUMN, add_file_column
from comind.competitions.download.table_formats import convert_tables
from comind.competitions.download.taken_files import take_files
from comind.errors import CompetitionError
from comind.mlebench.catalog import BenchmarkCompetition, TrainTable
from comind.mlebench.train_tables import FORMS
from comind.system.files import DISK_FULL, write_atomically
from comind.tables.csv_tables import read_header, read_table, row_keys, write_table
from comind.tables.table_files import write_rows

_LABELS = ("train.csv", "train_labels.csv", "labels.csv", "train_ground_truth.csv")
_TRAIN, _TEST, _SAMPLE = "train.csv", "test.csv", "sample_submission.csv"
_JOINTS = r"[|-]"
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error)
"""What readers of JSON, arrays, images and BSON raise for files of another form."""
_REASON = 200
_TOOLS = ("7z", "7zz", "7za", "bsdtar")


def take_in(prepared: Path, public: Path, entry: BenchmarkCompetition) -> None:
    """Copy the public data of a prepared competition into the new folder `public`, with its tables.

    Raises:
        CompetitionError: there is no table of labels or no sample submission, or a file is broken.
    """
    try:
        _take_in(prepared, public, entry)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:_REASON]
        raise CompetitionError(
            f"{prepared}: its labels or its test rows are not as mlebench prepares them ({reason})",
            hint=f"prepare it again with: mlebench prepare -c {entry.id}",
        ) from None


def _take_in(prepared: Path, public: Path, entry: BenchmarkCompetition) -> None:
    form = entry.train or TrainTable()
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=public.parent) as unpacked:
        take_files(_source(prepared, Path(unpacked), form), public)
    if text := read_description(public):
        write_atomically(public / "description.md", text + "\n")
    asked, test = form.sample or entry.sample, form.test or _TEST
    convert_tables(
        public, {asked, test, form.file, form.of, *_LABELS}
    )  # there may be thousands of others
    source = _found(public, (form.file,) if form.file else _LABELS)
    if source is None and form.form == "table" and "{" not in form.file:
        raise CompetitionError(
            f"{prepared}: has no table of labels ({form.file or ', '.join(_LABELS)})",
            hint="prepare it again with: mlebench prepare -c " + entry.id,
        )
    sample = _found(public, (asked,))
    if sample is None:
        raise CompetitionError(f"{prepared}: has no {asked}")
    ids = _write_sample(public, sample, form, entry)
    if form.form == "table" and source is not None and not (form.columns or form.codes):
        source.replace(public / _TRAIN)
    else:
        blocks = FORMS[form.form](public, source or Path(form.file), form)
        write_blocks(public / ".train.csv", (_renamed(block, form, entry) for block in blocks))
        (public / ".train.csv").replace(public / _TRAIN)
    _write_test(public, form, ids)
    if not {FILE_COLUMN} & {*read_header(public / _TRAIN)}:
        known = next((name for name in ids if name in read_header(public / _TRAIN)), "")
        if known:
            add_file_column(public, {_TRAIN: known, _TEST: ids[0]})


def write_blocks(path: Path, blocks: Iterable[pd.DataFrame]) -> None:
    """Write tables of equal columns, one after the other, as one CSV file."""
    blocks = iter(blocks)
    first = next(blocks, None)
    if first is None:
        raise CompetitionError(f"{path.parent}: there are no labelled rows")
    rows = (row for block in chain([first], blocks) for row in block.itertuples(index=False, name=None))
    write_rows(path, [str(name) for name in first.columns], rows)


def _source(prepared: Path, place: Path, form: TrainTable) -> Path:
    """Return the folder, or links to its files where some archives are not to be unpacked.

    Those of 7z are left out, except for tables, which a program of the system unpacks; and those whose
    files lie beside them.
    """
    packed = [path for path in prepared.rglob("*.7z") if path.is_file()]
    twice = [path for path in prepared.glob("*.zip") if _lies_beside(path)]
    if not packed and not twice:
        return prepared
    for path in prepared.rglob("*"):
        if path.is_file() and path not in (*packed, *twice):
            link_or_copy(path, place / path.relative_to(prepared))
    tool = next(filter(None, map(shutil.which, _TOOLS)), _TOOLS[0])
    for path in packed:
        if path.stem in (form.file, form.test, form.sample) and not (place / path.stem).exists():
            options = ["-xf", f"{path}", "-C", f"{place}"]
            options = options if "bsdtar" in tool else ["x", "-y", f"-o{place}", f"{path}"]
            try:
                subprocess.run([tool, *options], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                hint = f"install {' or '.join(_TOOLS[::3])}, or unpack it beside itself"
                raise CompetitionError(f"{path}: cannot be unpacked here", hint=hint) from None
    return place


def _lies_beside(path: Path) -> bool:
    """Return whether the files of an archive are there already; those of a broken one are not."""
    try:
        with zipfile.ZipFile(path) as archive:
            return all((path.parent / name).is_file() for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _found(public: Path, names: Iterable[str]) -> Path | None:
    """Return the first of these files, as it is called once it is converted."""
    for name in filter(None, names):
        for path in (public / name, (public / name).with_suffix(".csv")):
            if path.is_file():
                return path
    return None


def _write_sample(
    public: Path, sample: Path, form: TrainTable, entry: BenchmarkCompetition
) -> list[str]:
    """Write the sample submission with the columns that are asked for; return those of its ids."""
    table = read_table(sample, CompetitionError)
    test = _found(public, (form.test or _TEST,))
    shown = read_header(test) if test else []
    ids = [*(name for name in entry.unscored if name in shown), *entry.ids]
    scored = [*entry.target_columns(table.columns), *entry.unscored]
    asked = [name for name in table.columns if name in {*ids, *scored}]
    missing = [name for name in ids if name not in asked]
    if missing:
        raise CompetitionError(f"{sample.name}: has no column {missing[0]!r}")
    if sample not in (public / _SAMPLE, test):
        sample.unlink()
    write_table(table[asked], public / _SAMPLE)
    return ids


def _renamed(block: pd.DataFrame, form: TrainTable, entry: BenchmarkCompetition) -> pd.DataFrame:
    """Return rows with the columns that the catalog names, and labels by their values in submissions."""
    made = {}
    for new, source in form.columns.items():
        made[new] = _joined(block, source)
    folders = {*re.findall(r"{(\w+)}", form.file)} - {*entry.ids}
    gone = {*made, *form.columns.values(), *folders} & {*block.columns}
    others = block.drop(columns=[*gone])
    table = pd.DataFrame(made, index=block.index).join(others)
    for name in entry.target_columns(()):
        if form.codes and name in table.columns:
            table[name] = table[name].map(lambda cell: form.codes.get(cell, form.codes.get("*", cell)))
    return table


def _joined(table: pd.DataFrame, source: str) -> "pd.Series[str]":
    """Return a column, or several joined: `a|b` by `_`, `a-b` by `-`."""
    first, *others = re.split(_JOINTS, source)
    joint = "-" if "-" in source else "_"
    return table[first].str.cat(table[others], sep=joint) if others else table[first]


def _write_test(public: Path, form: TrainTable, ids: list[str]) -> None:
    """Write test.csv with the rows of the sample submission, in its order or in that of the test table.

    A test table of other rows, such as the first visit of each patient, is kept as test_rows.csv.
    """
    sample = read_table(public / _SAMPLE, CompetitionError)
    rows = sample[ids]
    path = _found(public, (form.test or _TEST,))
    if path is not None:
        table = read_table(path, CompetitionError)
        for new in ids:
            source = form.columns.get(new, new)
            if new not in table.columns and {*re.split(_JOINTS, source)} <= {*table.columns}:
                table.insert(0, new, _joined(table, source))
        targets = {*sample.columns} - {*ids}
        keys = [row_keys(each, ids) for each in (table, sample)] if {*ids} <= {*table.columns} else []
        if keys and not targets & {*table.columns} and sorted(keys[0]) == sorted(keys[1]):
            known = read_header(public / _TRAIN)
            rows = table[[name for name in table.columns if name in known or name in ids]]
            path.unlink()
        else:
            path.rename(public / "test_rows.csv")
    write_table(rows, public / _TEST)

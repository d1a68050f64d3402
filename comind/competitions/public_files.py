"""List a competition's public files, and the files that cells name by their whole path."""

from pathlib import Path, PurePosixPath

import pandas as pd


def list_files(public: Path) -> set[str]:
    """Return the names of all files below `public`, relative to it."""
    return {path.relative_to(public).as_posix() for path in public.rglob("*") if path.is_file()}


def files_by_cell(files: set[str], cells: "pd.Series[str]") -> dict[str, str]:
    """Return the file that a cell names, by cell, among `files` relative to the public folder."""
    endings = tuple({name[-2:] for name in files})  # few of a million numbers end like a file
    likely = cells[cells.str.endswith(endings)].unique().tolist() if endings else []
    found = {cell: PurePosixPath(cell).as_posix() for cell in likely}
    return {cell: name for cell, name in found.items() if name in files}

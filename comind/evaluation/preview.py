"""Describe a split's public files in few words."""

from collections import Counter
from pathlib import Path

import pandas as pd

from comind.domain.problem import Problem, Task
from comind.evaluation.shape import shape_of
from comind.evaluation.splits.folder import SplitFolder

__all__ = ["describe_problem", "preview_of"]

_ROWS_READ = 2_000
_COLUMNS_SHOWN = 40
_EXAMPLES = 3
_EXAMPLE_LENGTH = 24
_DESCRIPTION_LENGTH = 12_000


def describe_problem(folder: SplitFolder) -> Problem:
    """Return what solvers may know of the competition that `folder` is a split of."""
    split = folder.read()
    described = folder.public / "description.md"
    text = described.read_text(errors="replace") if described.is_file() else ""
    return Problem(
        **split.model_dump(include=set(Task.model_fields)),
        description=text[:_DESCRIPTION_LENGTH],
        shape=shape_of(folder.public, split),
        preview=preview_of(folder.public),
    )


def preview_of(public: Path) -> str:
    """Return names, sizes, columns and a few values of the files in a public folder, for a prompt."""
    parts = []
    for path in sorted(public.iterdir()):
        if path.is_dir():
            endings = Counter(file.suffix or "no ending" for file in path.rglob("*") if file.is_file())
            kinds = ", ".join(f"{count} x {ending}" for ending, count in endings.most_common(5))
            parts.append(f"{path.name}/: {kinds}")
        elif path.name != "description.md":
            parts.append(_preview_file(path))
    return "\n".join(parts)


def _preview_file(path: Path) -> str:
    if path.suffix == ".csv":
        try:
            return _preview_table(path)
        except ValueError:  # a side file may be anything
            pass
    return f"{path.name}: {path.stat().st_size} bytes"


def _preview_table(path: Path) -> str:
    with path.open("rb") as file:
        rows = sum(1 for _ in file) - 1
    table = pd.read_csv(path, nrows=_ROWS_READ)
    if path.name not in ("train.csv", "test.csv"):
        columns = ", ".join(map(str, table.columns[:_COLUMNS_SHOWN]))
        return f"{path.name}: about {rows} rows, columns {columns}"
    lines = [f"{path.name}: about {rows} rows, {table.shape[1]} columns"]
    lines += [_preview_column(table[name]) for name in table.columns[:_COLUMNS_SHOWN]]
    if table.shape[1] > _COLUMNS_SHOWN:
        lines.append(f"  ... and {table.shape[1] - _COLUMNS_SHOWN} more columns")
    return "\n".join(lines)


def _preview_column(column: "pd.Series") -> str:
    examples = ", ".join(str(v)[:_EXAMPLE_LENGTH] for v in column.dropna().unique()[:_EXAMPLES])
    missing = column.isna().mean()
    gaps = f", {missing:.0%} missing" if missing else ""
    return f"  {column.name}: {column.dtype}, {column.nunique()} distinct{gaps}, e.g. {examples}"

"""Find labels in the names and folders of files, as in `train/cats/7.png` and `7_cat.png`.

Files of held-out rows get names without them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from comind.competitions.row_files import part_of
from comind.splits.label_search import Found, LabelSearch, cells_of
from comind.splits.tables_in_files import shown_name

_TIMES = 4  # that a name is changed: a label may be in several of its parts
_AS_OFTEN = 0.5
_OTHER = {"first": "after", "after": "first", "before": "last", "last": "before"}


def names_without_labels(search: LabelSearch, files: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return new names of held-out rows' files that show labels, and a line for each such place."""
    now = {name: name for name in sorted(files)}
    lines: list[str] = []
    for _ in range(_TIMES):
        new: dict[str, str] = {}
        taken = set(now.values())
        test = own_and_test(now.values())[1]
        for names in _alike(now.values()):
            own = own_and_test(name for name in names if name not in new)[0]
            shown = held_out_files(search, own, table_of_names, len(own) or 1, test)
            if shown is None or not shown[1]:
                continue
            found, gone = shown
            place = "names" if found.column.startswith("name") else "folders"
            example = f"{shown_name(gone[0])}: {len(gone):,} are renamed"
            lines.append(f"{place} of files show {found.label!r}, as {example}")
            for name in gone:
                new[name] = _free(_renamed(PurePosixPath(name), found.column), taken)
                taken.add(new[name])
        if not new:
            break
        now = {name: new.get(current, current) for name, current in now.items()}
    return {name: new for name, new in now.items() if name != new}, lines


def _alike(names: Iterable[str]) -> list[list[str]]:
    """Return the files of equal depth and suffix, also those in one folder at the top."""
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for name in names:
        path = PurePosixPath(name)
        kind = len(path.parts), path.suffix.lower()
        groups[kind].append(name)
        groups[*kind, path.parts[0]].append(name)
    return list(groups.values())


TableOf = Callable[[Sequence[str]], pd.DataFrame]
"""Returns a row for each file, of its names and maybe of what it holds."""


def held_out_files(
    search: LabelSearch, names: Sequence[str], table_of: TableOf, most: int, test: Sequence[str] = ()
) -> tuple[Found, list[str]] | None:
    """Return a column that shows a label, and the files of held-out rows.

    It is looked for in `most` of the files, and is none where `test`, files of test rows, have it, too.
    """
    table = table_of(names[:: -(-len(names) // most) or 1])
    found = search.find(table, ordered=False)
    if found is None or found.of_test or found.column.partition("\0")[0] == "file":
        return None
    if test and _is_in_test(found, table, table_of(test)):
        return None
    try:
        held_out = found.held_out(table_of_names(names))
    except KeyError:  # files are joined to rows by what they hold
        held_out = found.held_out(table_of(names))
    return found, [names[row] for row in np.flatnonzero(held_out).tolist()]


def own_and_test(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that may be of labelled rows, and those in folders of test."""
    parts: tuple[list[str], list[str]] = [], []
    for name in names:
        parts[part_of(name) == "test"].append(name)
    return parts


def table_of_names(names: Sequence[str]) -> pd.DataFrame:
    """Return a row for each file, with its folders and its name."""
    paths = [PurePosixPath(shown_name(name)) for name in names]
    deepest = max((len(path.parts) for path in paths), default=1) - 1
    columns: dict[str, list[str]] = {}
    for level in range(deepest):
        columns[f"folder {level}"] = [
            path.parts[level] if level < len(path.parts) - 1 else "" for path in paths
        ]
    columns |= {"name": [path.stem for path in paths], "file": list(map(str, paths))}
    return pd.DataFrame(columns, dtype=str)


def _is_in_test(found: Found, table: pd.DataFrame, test: pd.DataFrame) -> bool:
    """Return whether files of test rows have such values in this column."""
    if found.column.partition("\0")[0] not in test.columns:
        return False
    values = set(cells_of(table, found.column))
    return bool(cells_of(test, found.column).isin(values).mean() >= _AS_OFTEN)


def _renamed(path: PurePosixPath, column: str) -> PurePosixPath:
    """Return a path without the part that shows the label."""
    if column.startswith("folder"):
        level = int(column.split("\0", maxsplit=1)[0].removeprefix("folder "))
        return PurePosixPath(*(part for place, part in enumerate(path.parts) if place != level))
    name, _, part = column.partition("\0")
    stem = without_part(pd.Series([path.stem], name=name), column).iloc[0] if part else "file"
    return path.with_name((stem or "file") + path.suffix)


def without_part(cells: pd.Series, column: str) -> pd.Series:
    """Return the rest of cells without a part, such as `7` of `7_cat` without the last."""
    name, _, part = column.partition("\0")
    return cells_of(cells.to_frame(name), f"{name}\0{_OTHER[part]}").set_axis(cells.index)


def _free(path: PurePosixPath, taken: set[str]) -> str:
    """Return the path, or one with a number that no other file has."""
    found, number = path, 2
    while str(found) in taken:
        found = path.with_stem(f"{path.stem}_{number}")
        number += 1
    return str(found)

"""Join side tables: other CSV files that describe what the columns of test.csv name.

A table with one row per key adds its columns; of one with several, such as the earlier loans of a
customer, statistics per key are added. Where several columns name its rows, such as both of a pair, each
gets them.
"""

from pathlib import Path

import pandas as pd

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

COMPETITION_TABLES = ("train", "validation", "test", "sample_submission")
MAX_BYTES = 300_000_000  # larger side tables are ignored
MIN_KNOWN = 0.5  # minimum share of rows whose key a side table has
MAX_COLUMNS = 40  # columns that one side table adds, before statistics
STATISTICS = ("mean", "min", "max", "sum", "std")
FREQUENT = 5  # values of a text column that are counted per key


def join_side_tables(task: Task, tables: Tables) -> Tables:
    """Return the tables with columns from side tables that have a key in common with them."""
    parts = list(tables)
    labels = {*task.label_columns, *task.target_columns}
    for path in sorted(Path(task.folder).glob("*.csv")):
        if path.stem in COMPETITION_TABLES or path.stat().st_size > MAX_BYTES:
            continue
        try:
            columns = [name for name in map(str, pd.read_csv(path, nrows=0)) if name not in labels]
            shared = [name for name in columns if all(name in part for part in parts)]
            text = {name: str for name in shared if parts[0][name].dtype.kind not in "iufb"}  # `007`
            side = pd.read_csv(path, usecols=columns, dtype=text) if shared else pd.DataFrame()
            parts = parts if shared or not columns else join_named_rows(path, columns, parts)
        except ValueError:  # no table: empty, binary or ragged
            continue
        key = common_key(side, parts, shared)
        added = [name for name in columns if name not in shared][:MAX_COLUMNS]
        if not key:
            continue
        repeated = side.duplicated(key).any()
        found = key_statistics(side, key, added) if repeated else side[[*key, *added]]
        found = found.rename(columns={name: f"{path.stem}_{name}" for name in found if name not in key})
        parts = [part.merge(found, how="left", on=key).set_index(part.index) for part in parts]
    return Tables(*parts)


def join_named_rows(path: Path, columns: list[str], parts: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Add a side table's columns for each column that names its rows: words, or numbers called alike."""
    key = columns[0]
    keys = pd.read_csv(path, usecols=[key], dtype=str)[key]
    texts = [part.select_dtypes(exclude="float").astype(str) for part in parts]
    alike = [
        name
        for name in map(str, parts[0])
        if all(name in each for each in texts)
        and (parts[0][name].dtype.kind not in "iub" or key.lower() in name.lower())
        and min(each[name].isin(keys).mean() for each in texts) >= MIN_KNOWN
    ]
    if not alike or not keys.is_unique:
        return parts
    side = pd.read_csv(path, usecols=columns[: MAX_COLUMNS + 1]).drop(columns=key).set_index(keys)
    for name in alike:
        found = side.add_prefix(f"{name}_{path.stem}_")
        parts = [
            part.join(found.reindex(each[name]).set_axis(part.index))
            for part, each in zip(parts, texts, strict=True)
        ]
    return parts


def common_key(side: pd.DataFrame, parts: list[pd.DataFrame], shared: list[str]) -> list[str]:
    """Return the shared columns that most rows have in common with a side table; empty if none do.

    All shared columns are tried together, then each alone; numbers with fractions are no keys.
    """
    usable = [
        name for name in shared if all(part[name].dtype == side[name].dtype != float for part in parts)
    ]
    together = [usable] if len(usable) > 1 else []
    for key in [*together, *([name] for name in usable)]:
        rows = pd.MultiIndex.from_frame(side[key])
        known = [pd.MultiIndex.from_frame(part[key]).isin(rows).mean() for part in parts]
        if min(known) >= MIN_KNOWN and len(rows.unique()) > 1:
            return key
    return []


def key_statistics(side: pd.DataFrame, key: list[str], added: list[str]) -> pd.DataFrame:
    """Return the number of rows of each key, statistics of numbers, and counts of frequent texts."""
    by_key = [side[name] for name in key]
    counts = {"rows": side.groupby(by_key).size()}
    for name in added:
        if side[name].dtype.kind in "iufb":
            numbers = side[name].astype(float).groupby(by_key)
            counts |= {f"{name}_{statistic}": numbers.agg(statistic) for statistic in STATISTICS}
            continue
        for value in side[name].value_counts().index[:FREQUENT]:
            counts[f"{name}_{value}"] = (side[name] == value).groupby(by_key).sum()
    return pd.DataFrame(counts).reset_index()

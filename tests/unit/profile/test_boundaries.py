"""Numbers that decide what the profile says of columns, parts and files, each at its boundary."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.competitions.row_files import FileIndex
from comind.profile.column_statistics import (
    ColumnStats,
    _add_value_counts,
    _counted,
    compute_statistics,
    similar,
)
from comind.profile.duckdb_tables import ColumnType, Database
from comind.profile.formatting import file_size, lines, number, share
from comind.profile.overlaps import Overlaps, Partition, _may_be_group_key, find_overlaps
from comind.profile.problem_description import _is_text, _name_most_files, _pixel_rows
from comind.profile.side_files import group_files, match_rows_to_files
from tests.unit.profile.public import facts, write_parts


def _stats(**changes: Any) -> ColumnStats:
    """Return a column of 1,000 integers with 100 values, as far as nothing else is said."""
    values: dict[str, Any] = {
        "name": "x",
        "key": "c0",
        "type": ColumnType.INTEGER,
        "rows": 1_000,
        "present": 1_000,
        "low": 0,
        "high": 100,
        "distinct": 100,
        "exact": True,
        "quantiles": (0, 25, 50, 75, 100),
        "frequent": (("7", 100),),
        "median_rows": 10,
        "max_rows": 10,
        "min_rows": 10,
        "first": "a",
    }
    return ColumnStats(**values | changes)


def _text(**changes: Any) -> ColumnStats:
    return _stats(type=ColumnType.TEXT, low="a", high="b", **changes)


def _line(stats: ColumnStats, other: ColumnStats | None = None, form: str = "full") -> str:
    others = {"test": other} if other else {}
    return lines("column_lines", form=form, groups=[((stats,), others)])[0]


@pytest.mark.parametrize(("distinct", "listed"), [(12, True), (13, False)])
def test_twelve_values_are_listed(distinct: int, *, listed: bool) -> None:
    """Columns with at most twelve values are described by shares, others by quantiles."""
    text = _line(_stats(distinct=distinct))
    assert ("12 values: 7 10 %" in text) == listed
    assert ("| 0 25 50 75 100 |" in text) == (not listed)


@pytest.mark.parametrize(("rows", "said"), [(200, True), (199, False)])
def test_a_frequent_number_has_a_fifth_of_the_rows(rows: int, *, said: bool) -> None:
    """The most frequent value of a column of numbers is named if a fifth of the rows have it."""
    assert ("7 in 20 %" in _line(_stats(frequent=(("7", rows),), max_rows=rows))) == said


@pytest.mark.parametrize(("rows", "text"), [(5, "a 90 %, b 0.5 %"), (4, "a 90 %, 1 rarer")])
def test_a_rare_value_has_less_than_five_in_a_thousand_rows(rows: int, text: str) -> None:
    """Values with less than 0.5 % of the rows are counted, not named."""
    assert text in _line(_text(distinct=2, frequent=(("a", 900), ("b", rows))))


def test_how_many_values_are_named() -> None:
    """Six of few values are named, three of many, 20 labels; up to 20 values the others are counted."""
    frequent = tuple((f"v{at}", 400) for at in range(20))
    text = _line(_text(distinct=12, frequent=frequent))
    assert (text.count(" 40 %"), "6 rarer" in text) == (6, True)
    text = _line(_text(distinct=20, frequent=frequent))
    assert (text.count(" 40 %"), "17 rarer" in text, "rows a value" in text) == (3, True, False)
    text = _line(_text(distinct=21, frequent=frequent))
    assert (text.count(" 40 %"), "rarer" in text, "rows a value" in text) == (3, False, True)
    text = _line(_text(distinct=21, frequent=frequent, min_rows=9), form="label")
    assert (text.count(" 40 %"), "median 10" in text) == (20, True)
    text = _line(_text(distinct=20, frequent=frequent, min_rows=9), form="label")
    assert "median 10" not in text


@pytest.mark.parametrize(("distinct", "classes"), [(20, True), (21, False)])
def test_twenty_numbers_may_be_classes(distinct: int, *, classes: bool) -> None:
    """A label that is a number has classes if it has at most twenty values."""
    text = _line(_stats(distinct=distinct, min_rows=9), form="label")
    assert ("20 classes" in text) == classes
    assert ("mean 0" in text) == (not classes)


@pytest.mark.parametrize(("length", "said"), [(21, True), (20, False)])
def test_text_of_more_than_twenty_characters_is_shown(length: int, *, said: bool) -> None:
    """The length and an example are shown if cells have more than twenty characters."""
    assert ("such as a" in _line(_text(quantiles=(1, 2, 3, 4, length)))) == said


@pytest.mark.parametrize(("missing", "said"), [(151, True), (150, False)])
def test_missing_cells_differ_by_five_points(missing: int, *, said: bool) -> None:
    """Missing cells of another part are told if their share differs by more than five points."""
    text = _line(_stats(present=900), _stats(present=1_000 - missing))
    assert ("test 151 missing (15 %)" in text) == said


@pytest.mark.parametrize(("rows", "said"), [(351, True), (350, False)])
def test_shares_differ_by_five_points(rows: int, *, said: bool) -> None:
    """The share of a value in another part is told if it differs by more than five points."""
    ours = _text(distinct=2, frequent=(("a", 300), ("b", 500)))
    theirs = _text(distinct=3, frequent=(("a", rows), ("b", 500)))
    assert ("test a 35 %" in _line(ours, theirs)) == said
    assert "test" not in _line(
        _text(distinct=13, frequent=(("a", 900),)), _text(distinct=13, frequent=(("a", 1),))
    )


@pytest.mark.parametrize(("distinct", "compared"), [(12, True), (13, False)])
def test_shares_of_twelve_values_are_compared(distinct: int, *, compared: bool) -> None:
    """The shares of more than twelve values are not compared between parts."""
    ours = _text(distinct=distinct, frequent=(("a", 900),))
    theirs = _text(distinct=distinct, frequent=(("a", 700),))
    assert bool(ours.differences(theirs).shares) == compared


@pytest.mark.parametrize(("moved", "said"), [(11, True), (10, False)])
def test_medians_differ_by_a_tenth(moved: int, *, said: bool) -> None:
    """A median is told if it is farther away than a tenth of the range from 1 to 99 %."""
    text = _line(_stats(), _stats(quantiles=(0, 25, 50 + moved, 75, 100)))
    assert ("test median 61" in text) == said


@pytest.mark.parametrize(("high", "said"), [(151, True), (150, False)])
def test_ranges_differ_by_a_half(high: int, *, said: bool) -> None:
    """A range is told if it exceeds that of train by more than half of it."""
    assert ("test from 0 to 151" in _line(_stats(), _stats(high=high))) == said


def test_four_columns_are_alike() -> None:
    """Columns whose names differ in digits are a group from four on."""
    columns = [_stats(name=f"x{at}", key=f"c{at}") for at in range(4)]
    assert [len(group) for group in similar(columns)] == [4]
    assert [len(group) for group in similar(columns[:3])] == [1, 1, 1]


@pytest.mark.parametrize(("columns", "counted"), [(301, 300), (999, 300), (1_000, 50)])
def test_values_of_300_columns_are_counted(columns: int, counted: int) -> None:
    """Values of the first 300 columns are counted, of the first 50 of a table with a thousand."""
    assert (
        len(_counted([_stats(name="x" * at, key=f"c{at}") for at in range(1, columns + 1)])) == counted
    )


@pytest.mark.parametrize(
    ("kind", "distinct", "rows", "counted"),
    [
        (ColumnType.NUMBER, 100, 100_001, True),
        (ColumnType.NUMBER, 101, 100_000, True),
        (ColumnType.NUMBER, 101, 100_001, False),
        (ColumnType.INTEGER, 3_000_000, 4_000_000, True),
        (ColumnType.INTEGER, 3_000_001, 4_000_000, False),
    ],
)
def test_continuous_numbers_are_not_counted(
    tmp_path: Path, kind: ColumnType, distinct: int, rows: int, *, counted: bool
) -> None:
    """Of 100,000 rows, floats have their values counted if 100 differ; nothing with three million."""
    with closing(Database(tmp_path)) as database:
        [stats] = _part(database, tmp_path, "train", x=[1.5, 2.5]).stats.values()
        table = database.load(tmp_path / "train.csv")
        stats = replace(stats, type=kind, distinct=distinct, rows=rows, exact=False)
        assert _add_value_counts(database, table, stats).exact == counted


class _Queries(Database):
    """A database that counts its queries."""

    asked = 0

    def query(self, query: str) -> list[tuple[Any, ...]]:
        self.asked += 1
        return super().query(query)


@pytest.mark.parametrize(("columns", "queries"), [(100, 2), (101, 4)])
def test_a_hundred_columns_are_asked_for_at_once(tmp_path: Path, columns: int, queries: int) -> None:
    """Two queries answer for a hundred columns."""
    pd.DataFrame({f"x{at}": [1, 2] for at in range(columns)}).to_csv(tmp_path / "a.csv", index=False)
    with closing(_Queries(tmp_path)) as database:
        table = database.load(tmp_path / "a.csv")
        database.asked = 0
        compute_statistics(database, table)
    assert database.asked == queries


@pytest.mark.parametrize(("rows", "queries"), [(1 << 18, 3), ((1 << 18) - 5_000, 2)])
def test_quantiles_of_sixteen_million_values_are_asked_for_at_once(
    tmp_path: Path, rows: int, queries: int
) -> None:
    """Of 65 columns of 2^18 rows, 2^24 values are held in memory, and the last column's after them."""
    pd.DataFrame({f"x{at}": [1, 2] for at in range(65)}).to_csv(tmp_path / "a.csv", index=False)
    with closing(_Queries(tmp_path)) as database:
        table = replace(database.load(tmp_path / "a.csv"), rows=rows)
        database.asked = 0
        compute_statistics(database, table)
    assert database.asked == queries


def test_the_twenty_most_frequent_values_are_known(tmp_path: Path) -> None:
    """Of more values the most frequent are kept."""
    with closing(Database(tmp_path)) as database:
        values = [f"v{at}" for at in range(21)]
        part = _part(database, tmp_path, "train", x=[*values, *values[:20]])
    assert {value for value, _ in part.stats["x"].frequent} == {*values[:20]}


@pytest.mark.parametrize(("first", "numeric"), [(500, 1_500), (499, 0)])
def test_numbers_in_text_are_half_of_the_first_thousand(
    tmp_path: Path, first: int, numeric: int
) -> None:
    """Text cells that are numbers are counted if half of the first thousand are."""
    cells = [*["a"] * (1_000 - first), *["1"] * first, "a", *["1"] * (1_500 - first)]
    with closing(Database(tmp_path)) as database:
        assert _part(database, tmp_path, "train", x=cells).stats["x"].numeric == numeric


@pytest.mark.parametrize(
    ("kind", "present", "median", "may"),
    [
        (ColumnType.TEXT, 22, 1, True),
        (ColumnType.TEXT, 21, 1, False),
        (ColumnType.INTEGER, 40, 2, True),
        (ColumnType.INTEGER, 39, 2, False),
        (ColumnType.INTEGER, 40, 1, False),
    ],
)
def test_groups_have_more_than_one_row(
    kind: ColumnType, present: int, median: int, *, may: bool
) -> None:
    """Text may name groups if values have 1.1 rows on average, integers if they have two."""
    stats = _stats(type=kind, rows=300, present=present, distinct=20, median_rows=median)
    assert _may_be_group_key(stats) == may


def _part(database: Database, folder: Path, name: str, **columns: Any) -> Partition:
    pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    table = database.load(folder / f"{name}.csv")
    return Partition(name, table, {each.name: each for each in compute_statistics(database, table)})


@pytest.mark.parametrize(("new", "nearly"), [(1, True), (2, False)])
def test_nearly_all_is_95_per_cent(tmp_path: Path, new: int, *, nearly: bool) -> None:
    """A column is one of those with nearly all values in train if 95 % of the rows of each part have."""
    with closing(Database(tmp_path)) as database:
        train = _part(database, tmp_path, "train", x=["a", "b"] * 10)
        test = _part(database, tmp_path, "test", x=["a"] * (20 - new) + ["c"] * new)
        found = find_overlaps(database, train, [test], [], [])
    assert (found.nearly == [("x", False)]) == nearly
    assert (len(found.partly) == 1) == (not nearly)


def test_twelve_names_and_fifteen_lines_are_shown() -> None:
    """Of more columns the rest is counted."""
    columns = [(f"x{at}", False) for at in range(16)]
    found = Overlaps(partly=[(each, {"test": (1, 2)}) for each in columns], whole=columns[:13])
    text = "\n".join(lines("overlaps", found=found))
    assert (text.count(": test 50 %"), "... and 1 more columns" in text) == (15, True)
    assert text.endswith("x10, x11 and 1 more")


def test_four_folders_are_told_one_by_one(tmp_path: Path) -> None:
    """Files in more than four sibling folders are one group."""
    for folder in range(4):
        (tmp_path / f"f{folder}").mkdir()
        (tmp_path / f"f{folder}" / "a.png").touch()
    assert len(group_files(tmp_path, ())) == 4
    (tmp_path / "f4").mkdir()
    (tmp_path / "f4" / "a.png").touch()
    assert [group.name for group in group_files(tmp_path, ())] == ["*/*.png"]


@pytest.mark.parametrize(("named", "said"), [(2, True), (1, False)])
def test_a_column_names_more_than_a_hundredth_of_the_files(
    tmp_path: Path, named: int, *, said: bool
) -> None:
    """A column that names fewer files of a group is not told."""
    (tmp_path / "images").mkdir()
    for at in range(100):
        (tmp_path / "images" / f"p{at}.png").touch()
    groups = group_files(tmp_path, ())
    with closing(Database(tmp_path)) as database:
        train = _part(database, tmp_path, "train", x=[*(f"p{at}" for at in range(named)), *"qrs"])
        assert bool(match_rows_to_files(database, groups, [train], ["x"])) == said


def test_twelve_groups_of_three_tables_are_described(tmp_path: Path) -> None:
    """Of groups of more than three tables, and of those after the twelfth, no columns are described."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]})
    for at in range(13):
        (tmp_path / f"t{at:02d}.csv").write_text("a\n1\n2\n")
    text = facts(tmp_path)
    assert text.count("csv: 2 rows, 1 columns") == 12
    assert "  it, whole:" in text
    for folder, count in (("three", 3), ("four", 4)):
        (tmp_path / folder).mkdir()
        for at in range(count):
            (tmp_path / folder / f"u{at}.csv").write_text("a\n1\n2\n")
    assert "four/*.csv: 4 files, 24 bytes" in facts(tmp_path)


@pytest.mark.parametrize(
    ("spaces", "others", "text"),
    [(3, 2, True), (3, 3, False), (2, 0, False), (12, 3, True), (11, 3, False)],
)
def test_rows_of_text_have_sentences(spaces: int, others: int, *, text: bool) -> None:
    """Text has three spaces, and twelve where there are more than two other columns."""
    cells = [f"w{row}" + " w" * spaces for row in range(10)]
    features = pd.DataFrame({"t": cells, **{f"x{at}": np.arange(10) for at in range(others)}})
    assert _is_text(features) == text


def test_half_of_the_texts_differ() -> None:
    """Columns of which half of the cells are repeated are no sentences."""
    assert _is_text(pd.DataFrame({"t": [f"a b c d {row % 6}" for row in range(10)]}))
    assert not _is_text(pd.DataFrame({"t": [f"a b c d {row % 5}" for row in range(10)]}))


@pytest.mark.parametrize(("rows", "named"), [(6, True), (5, False)])
def test_most_rows_name_an_image(rows: int, *, named: bool) -> None:
    """Files are those of rows if more than half of the test rows name one."""
    images = FileIndex(f"images/p{row}.png" for row in range(10))
    cells = [f"p{row}" if row < rows else f"q{row}" for row in range(10)]
    assert _name_most_files(pd.DataFrame({"x": cells}), images) == named
    pixels = [f"p{row}_1_1" if row < rows else f"q{row}_1_1" for row in range(10)]
    assert _pixel_rows(pd.DataFrame({"x": pixels}), images) == named


def test_numbers_have_four_digits() -> None:
    """Numbers have four significant digits, shares two, sizes two."""
    assert [number(value) for value in (1 / 3, 123456.7, 1e12, 12.0)] == [
        "0.3333",
        "123457",
        "1e+12",
        "12",
    ]
    shares = [share(part, 10_000) for part in (0, 9, 10, 999, 1000, 9_989, 9_991, 10_000)]
    assert shares == ["0 %", "under 0.1 %", "0.1 %", "10.0 %", "10 %", "99.9 %", "over 99.9 %", "100 %"]
    assert [file_size(value) for value in (999, 1_000, 9_940, 10_000)] == [
        "999 bytes",
        "1.0 kB",
        "9.9 kB",
        "10 kB",
    ]

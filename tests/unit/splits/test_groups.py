"""Groups of rows by each rule, and the last rows of each group."""

import json
import tracemalloc

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.grouping import row_groups
from comind.splits.rule import Rule


def _table(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype=str)


_CASES: dict[str, tuple[SplitRule, pd.DataFrame, list[set[int]]]] = {
    "one part": (
        SplitRule(kind="group", column="id", by="parts", parts=(1,)),
        _table(id=["p12_s1", "p12-s2", "p7_s1", "scan"]),
        [{0, 1}, {2}, {3}],
    ),
    "two parts": (
        SplitRule(kind="group", column="id", by="parts", parts=(2, 3)),
        _table(id=["a/1/2/0.png", "b/1/2/1.png", "b/1/3/1.png"]),
        [{0, 1}, {2}],
    ),
    "weeks from Monday": (
        SplitRule(kind="group", column="t", by="week"),
        _table(t=["2024-12-29", "2024-12-30 23:59", "2025-01-05", "2025-01-06"]),
        [{0}, {1, 2}, {3}],
    ),
    "text before a separator": (
        SplitRule(kind="group", column="id", by="prefix", separator="_"),
        _table(id=["3fa_9_1", "3fa_9_2", "3fa_8_1", "scan", "7b_1"]),
        [{0, 1}, {2}, {3}, {4}],
    ),
    "blocks": (
        SplitRule(kind="group", by="place", columns=("x", "y"), sizes=(1.0, 0.5)),
        _table(x=["0.1", "0.9", "0.1", "-0.1", ""], y=["0.1", "0.4", "0.6", "0.1", "0.1"]),
        [{0, 1}, {2}, {3}, {4}],
    ),
    "equal rows": (
        SplitRule(kind="group", by="twins", columns=("a", "b")),
        _table(a=["1", "1", "1", "2"], b=["x", "x", "y", "x"]),
        [{0, 1}, {2}, {3}],
    ),
    "nearly equal rows, in chains": (
        SplitRule(kind="group", by="twins", columns=("a", "b"), sizes=(0.1, 10.0)),
        _table(a=["1", "1.09", "1.18", "1.09", ""], b=["5", "6", "7", "60", "5"]),
        [{0, 1, 2}, {3}, {4}],
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_rows_are_grouped(name: str) -> None:
    """Tokens of ids, spatial blocks and duplicates are groups; rows without coordinates are single."""
    rule, table, expected = _CASES[name]
    numbers, _ = pd.factorize(row_groups(table, rule))
    found = [set((numbers == number).nonzero()[0].tolist()) for number in range(max(numbers) + 1)]
    assert found == expected


def test_many_equal_rows_are_one_place() -> None:
    """Many equal rows take little memory; all their pairs would take gigabytes."""
    rule = SplitRule(kind="group", by="twins", columns=("x", "y"), sizes=(0.1, 0.1))
    cells = ["0"] * 20_000 + ["0.05", "7", ""]
    tracemalloc.start()
    try:
        groups = row_groups(_table(x=cells, y=cells), rule)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert groups.nunique() == 3
    assert (groups.iloc[:20_001] == groups.iloc[0]).all()
    assert most < 100e6


@given(
    places=st.lists(st.integers(0, 200), min_size=10, max_size=60),
    seed=st.integers(0, 3),
    kind=st.sampled_from(["place", "twins"]),
)
def test_groups_are_whole_and_the_same_among_the_rows_held_back(
    places: list[int], seed: int, kind: str
) -> None:
    """Groups are held out whole, and a subset of rows has the same groups as in the full table."""
    cells = [str(place / 10) for place in places]
    table = _table(x=cells, y=cells)
    rule = SplitRule(kind="group", by=kind, columns=("x", "y"), sizes=(0.3, 0.3))
    groups = row_groups(table, rule)
    if groups.nunique() < 2:
        return
    rows = Rule.of(rule).choose(table, seed).rows
    kept = groups.drop(index=rows)
    assert not set(groups.iloc[rows]) & set(kept)
    alone = row_groups(table.iloc[rows].reset_index(drop=True), rule)
    assert pd.factorize(alone)[0].tolist() == pd.factorize(groups.iloc[rows])[0].tolist()


def test_the_last_days_of_each_month_are_held_back() -> None:
    """With `within: month`, the last days of each month are held out."""
    days = [f"2024-{month:02d}-{day:02d} 12:00" for month in (1, 2, 3) for day in range(1, 17)]
    rule = SplitRule(kind="time", column="t", within="month", horizon_days=3)
    held_out = Rule.of(rule).choose(_table(t=days), 0).rows
    assert [days[row][:10] for row in held_out] == [
        f"2024-{month:02d}-{day}" for month in (1, 2, 3) for day in (14, 15, 16)
    ]


def test_the_last_rows_of_each_group_are_held_back() -> None:
    """With a column, the last quarter of each group is held out; none of a single time."""
    table = _table(
        who=["a"] * 8 + ["b"] * 4 + ["c", "d", "d"] + ["e"] * 12,
        t=[str(row) for row in (*range(8), *range(4), 0, 5, 5, *range(12))],
    )
    held_out = Rule.of(SplitRule(kind="time", column="t", within="who")).choose(table, 0).rows
    assert held_out == [6, 7, 11, 24, 25, 26]


def test_long_tails_are_taken_of_some_groups_only() -> None:
    """If the last rows of all groups are too many, those of some groups are chosen by the seed."""
    table = _table(who=[f"w{row // 4}" for row in range(400)], t=[str(row % 4) for row in range(400)])
    rule = SplitRule(kind="time", column="t", within="who", horizon_days=3)
    first, second = (Rule.of(rule).choose(table, seed).rows for seed in (0, 1))
    assert first != second
    assert 100 <= len(first) <= 102
    assert all((row - 1) in first or row % 4 == 1 for row in first)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "group", "by": "parts", "column": "id"}, "'by: parts' requires 'parts'"),
        ({"kind": "group", "by": "prefix", "column": "id"}, "requires either 'separator' or 'width'"),
        (
            {"kind": "group", "column": "id", "separator": "_"},
            "'separator' requires 'by'",
        ),
        ({"kind": "group", "by": "place", "columns": ["x"]}, "requires two columns and two sizes"),
        ({"kind": "group", "by": "twins"}, "'by: twins' requires 'columns'"),
        ({"kind": "group", "column": "a", "columns": ["x"]}, "'columns' requires 'by'"),
        ({"kind": "group", "column": "a", "within": "month"}, "'within' requires a time split"),
        (
            {"kind": "group", "by": "twins", "columns": ["x"], "sizes": [1, 2]},
            "'sizes' requires one",
        ),
        ({"kind": "group"}, "a group split requires 'column'"),
        (
            {"kind": "group", "by": "twins", "columns": ["x"], "column": "y"},
            "'by: twins' uses 'columns'; 'column' is not allowed",
        ),
    ],
)
def test_rules_that_make_no_sense_are_refused(values: dict[str, object], said: str) -> None:
    """A rule with missing or superfluous fields is invalid."""
    with pytest.raises((ValidationError, CompetitionError), match=said):
        Rule.of(SplitRule.model_validate(values))


def test_a_plain_rule_is_written_as_ever() -> None:
    """Newer fields are serialized only if set, as keys of splits depend on it."""
    plain = {"kind": "time", "column": "t", "by": None, "horizon_days": 3, "fraction": None}
    assert json.loads(SplitRule(kind="time", column="t", horizon_days=3).model_dump_json()) == plain
    rule = SplitRule(kind="group", by="place", columns=("x", "y"), sizes=(1.0, 2.0))
    assert SplitRule.model_validate_json(rule.model_dump_json()) == rule


def test_numbers_have_no_months() -> None:
    """A calendar period requires dates, and the error says so."""
    rule = SplitRule(kind="time", column="t", within="month")
    with pytest.raises(CompetitionError, match="holds numbers, which have no month"):
        Rule.of(rule).choose(_table(t=[str(row) for row in range(40)]), 0)

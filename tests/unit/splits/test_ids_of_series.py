"""Ids that name groups and times: series with dates, and prefixes of a fixed width."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.grading.score_breakdown import blocks_of
from comind.splits.grouping import row_groups
from comind.splits.groupings.prefix import separating_width
from comind.splits.groupings.series import series_names, series_times
from comind.splits.pooled_rows import PooledRows
from comind.splits.rule import ByGroup, ByTime, Rule
from comind.splits.split_files import make_split
from tests.unit.splits.plans import plan_of
from tests.unit.splits.planted import planted_world

_LAST_OF_EACH = SplitRule(kind="time", column="id", by="series", within="id", horizon_days=2)


@pytest.mark.parametrize(
    ("cell", "series", "time"),
    [
        ("Oslo_2020-01-07", "Oslo_", "2020-01-07"),
        ("New York-2020-01-07", "New York-", "2020-01-07"),
        ("20200107_Oslo", "_Oslo", "2020-01-07"),
        ("2020_01_07 12:30", "", "2020-01-07 12:30"),
        ("item_3_d_1913", "item_3_d_", "1913"),
        ("ID_-0.510_29.290_2019_00", "ID_-0.510_29.290_", "201900"),
        ("img/a_0012.png", "img/a_", "0012"),
        ("AB0001", "AB", "0001"),
        ("3 left", " left", "3"),
        ("Oslo_20201399", "Oslo_", "20201399"),
        ("Oslo", "Oslo", ""),
        ("", "", ""),
    ],
)
def test_an_id_is_a_series_and_a_time(cell: str, series: str, time: str) -> None:
    """The date of an id, or else its number, is the time, and the rest the series."""
    ids = pd.Series([cell])
    assert (series_names(ids).tolist(), series_times(ids).tolist()) == ([series], [time])


def _ids(days: int = 8) -> pd.DataFrame:
    cells = [f"{city}_2020-01-{day:02d}" for city in ("Oslo", "New York") for day in range(1, days + 1)]
    return pd.DataFrame({"id": cells})


def test_the_last_days_of_each_series_are_held_back() -> None:
    """With `by: series`, times and groups come from the ids alone, and folds follow the times."""
    table = _ids()
    held_out = Rule.of(_LAST_OF_EACH).choose(table, 0).rows
    assert [table["id"][row] for row in held_out] == [
        f"{city}_2020-01-0{day}" for city in ("Oslo", "New York") for day in (7, 8)
    ]
    rule = ByTime.of(_LAST_OF_EACH)
    periods = rule.periods(table, rule.times(table))
    assert periods is not None
    assert periods.unique().tolist() == ["Oslo_", "New York_"]
    assert (
        Rule.of(_LAST_OF_EACH).fold_numbers(table, 0, folds=4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3] * 2
    )


def test_times_of_a_column_may_be_ordered_within_parts_of_ids() -> None:
    """`by: parts` says which parts of the column `within` name the series."""
    table = _ids().assign(t=[str(row % 8) for row in range(16)])
    table["id"] = [f"{'ab'[row // 8]}_x{row}" for row in range(16)]
    rule = SplitRule(kind="time", column="t", within="id", by="parts", parts=(1,), horizon_days=1)
    assert Rule.of(rule).choose(table, 0).rows == [7, 15]
    assert ByTime.of(rule).within_name == "id (part 1 of it)"


@pytest.mark.parametrize("columns", ["shop, date", ""])
def test_months_in_ids_of_days_are_no_groups(tmp_path: Path, columns: str) -> None:
    """Where test rows begin with a month, the months in ids such as `s1_2020-01-05` give no warning."""
    days = pd.date_range("2020-01-01", periods=150).strftime("%Y-%m-%d").to_numpy()
    shop, date = np.repeat([f"s{number}" for number in range(8)], 150), np.tile(days, 8)
    table = pd.DataFrame({"id": [f"{a}_{b}" for a, b in zip(shop, date, strict=True)]})
    for name, cells in (("shop", shop), ("date", date)):
        if name in columns:
            table[name] = cells
    table["target"] = np.random.default_rng(0).normal(size=len(table)).round(3)
    plan = plan_of(tmp_path, table, date >= "2020-05-01")
    rule = plan.rule
    assert (rule.kind, rule.column, rule.within) == ("time", "date" if columns else "id", None)
    assert plan.quality.warnings == ()


def test_new_users_in_later_rows_are_warned_of(tmp_path: Path) -> None:
    """Users that come and go at any time are no periods: if all of test's are new, the split says so."""
    rng = np.random.default_rng(0)
    day = rng.permutation(2000)
    test = day >= 1500
    user = np.where(test, rng.integers(50, 70, 2000), rng.integers(0, 50, 2000))
    when = (pd.Timestamp("2020-01-01") + pd.to_timedelta(day, "D")).strftime("%Y-%m-%d")
    table = pd.DataFrame({"id": range(2000), "user": user, "when": when, "target": day / 7})
    plan = plan_of(tmp_path, table, test)
    assert plan.rule.kind == "time"
    assert "of groups of one user" in plan.quality.warnings[0]


def test_scores_of_series_have_blocks_of_time(tmp_path: Path) -> None:
    """The validation rows of a split by times in ids are broken down by these times."""
    world = planted_world("last of each group in ids", 0)
    folder = make_split(load_competition(world.build(tmp_path)), tmp_path / "splits", seed=0)
    split = folder.read().model_copy(update={"train_id_columns": ("id",), "id_columns": ("row",)})
    validation = pd.read_csv(folder.public / "validation.csv", dtype=str).rename(columns={"id": "row"})
    blocks = blocks_of(split, validation)
    assert blocks is not None
    assert len(blocks.names) > 1


def _codes(kind: str, rng: np.random.Generator) -> list[str]:
    groups = rng.permutation(900)[:60] + 100
    member = rng.integers(0, 60, 1500)
    if kind == "groups":
        return [f"{groups[each]}{row:04d}" for row, each in enumerate(member)]
    return [f"{row:07d}" for row in range(1500)]


@pytest.mark.parametrize(
    ("kind", "test_rows", "width"),
    [
        ("groups", "groups", 3),
        ("groups", "random", None),
        ("count", "last", None),
        ("count", "some", None),
    ],
)
def test_one_width_is_chosen_by_evidence(kind: str, test_rows: str, width: int | None) -> None:
    """The least width that separates test rows is taken, and none of ids that count the rows."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": _codes(kind, rng)})
    in_order = np.arange(len(table))
    test = {
        "groups": table["id"].str[:3].astype(int) % 4 == 0,
        "random": rng.random(len(table)) < 0.3,
        "last": in_order >= 1000,
        "some": (in_order >= 600) & (in_order < 1000),
    }[test_rows]
    pool = PooledRows(table[~test].reset_index(drop=True), table[test].reset_index(drop=True), ("id",))
    assert separating_width(pool, "id") == width


def test_first_characters_are_groups() -> None:
    """With `width`, groups are the first characters of the ids."""
    rule = SplitRule(kind="group", column="id", by="prefix", width=2)
    groups = row_groups(pd.DataFrame({"id": ["AB01", "AB02", "AC01", "A"]}), rule)
    assert groups.tolist() == ["AB", "AB", "AC", "A"]
    assert ByGroup.of(rule).groups == "groups of one id (its first 2 characters)"

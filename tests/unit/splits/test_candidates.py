"""The rule search with missing cells, few values and misleading column names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.splits.pooled_rows import PooledRows
from tests.unit.splits.plans import plan_of

_ROWS = 1_000


def _table(rng: np.random.Generator, rows: int = _ROWS) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "target": rng.normal(size=rows).round(3)})


@pytest.mark.parametrize("odd", ["", "unknown"])
@pytest.mark.parametrize("where", ["everywhere", "in one row"])
def test_a_time_that_is_missing_is_no_error(tmp_path: Path, odd: str, where: str) -> None:
    """A column of times with an empty or invalid cell gives no dates, and no error."""
    rng = np.random.default_rng(0)
    table = _table(rng)
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 300, _ROWS), "D")
    cells = pd.Series(moments).dt.strftime("%Y-%m-%d %H:%M:%S")
    test = rng.random(_ROWS) < 0.3
    gone = rng.random(_ROWS) < 0.05 if where == "everywhere" else np.arange(_ROWS) == test.argmax()
    table["updated"] = cells.where(~gone, odd)
    plan = plan_of(tmp_path, table, test)
    assert plan.rule.kind == "random"
    assert plan.rows


@pytest.mark.parametrize("more", [{}, {"side": ["l", "r"]}], ids=["one value", "two values"])
def test_few_large_sets_of_equal_rows_are_no_twins(tmp_path: Path, more: dict[str, list[str]]) -> None:
    """Rows that are equal in a few classes only are not kept together."""
    rng = np.random.default_rng(0)
    test = rng.random(_ROWS) < 0.3
    table = _table(rng).assign(camera=np.where(test, "B", "A"))
    for name, cells in more.items():
        table[name] = rng.choice(cells, _ROWS)
    plan = plan_of(tmp_path, table, test)
    assert plan.rule.kind == "random"
    assert len(plan.rows) <= _ROWS // 4


@pytest.mark.parametrize("name", ["month", "batch"])
def test_a_column_called_as_a_stretch_of_the_calendar_is_not_named(tmp_path: Path, name: str) -> None:
    """`within` never names a column that is called like a calendar period."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 720, 3 * _ROWS)
    table = _table(rng, len(day)).assign(day_num=day, **{name: day // 30})
    plan = plan_of(tmp_path, table, day % 30 >= 20)
    assert plan.rule.within == (name if name == "batch" else None)
    assert plan.rows


@pytest.mark.parametrize("parted", [0.0, 0.1])
def test_near_twins_are_kept_together_where_test_rows_have_none(tmp_path: Path, parted: float) -> None:
    """Duplicates are no rule if many test rows have theirs in train."""
    rng = np.random.default_rng(0)
    pair = np.repeat(np.arange(_ROWS), 2)
    table = _table(rng, len(pair))
    for name in ("m_1", "m_2", "m_3", "m_4"):
        near = rng.normal(size=_ROWS)[pair] + rng.normal(scale=1e-5, size=len(pair))
        table[name] = near.round(7)
    alone = rng.random(_ROWS) < parted
    first = np.arange(len(pair)) % 2 == 0
    test = (rng.random(_ROWS) < 0.3)[pair] & (first | ~alone[pair])
    plan = plan_of(tmp_path, table, test)
    assert plan.rule.by == (None if parted else "twins")


def test_rows_that_are_looked_at_are_the_same_everywhere() -> None:
    """The sample of large tables depends on no library's random numbers."""
    table = pd.DataFrame({"x": [str(row) for row in range(40)]}, dtype=str)
    pool = PooledRows(table, table, ())
    assert pool.sample(pool.train, 5).tolist() == [2, 4, 6, 32, 33]
    assert pool.sample(pool.train, 40) is pool.train
    assert set(pool.sample(pool.train, 3)) < set(pool.sample(pool.train, 5))

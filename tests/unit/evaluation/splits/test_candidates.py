"""What the test rows may have been set apart by, where cells are missing, equal or oddly named."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from comind.evaluation.folder import load_competition
from comind.evaluation.splits.plan import SplitPlan

_ROWS = 1_000


def _plan(root: Path, table: pd.DataFrame, test: Any) -> SplitPlan:
    """Return the plan of a competition without a split, whose test rows are these."""
    public = root / "world" / "public"
    public.mkdir(parents=True)
    asked = table[test].drop(columns="target")
    table[~test].to_csv(public / "train.csv", index=False)
    asked.to_csv(public / "test.csv", index=False)
    asked[["id"]].assign(target=0.0).to_csv(public / "sample_submission.csv", index=False)
    (public / "description.md").write_text("# World\n")
    described = {
        "id": "world",
        "title": "World",
        "metric": "rmse",
        "id_columns": ["id"],
        "label_columns": ["target"],
        "target_columns": ["target"],
    }
    (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))
    return SplitPlan(load_competition(public.parent), seed=0)


def _table(rng: np.random.Generator, rows: int = _ROWS) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "target": rng.normal(size=rows).round(3)})


@pytest.mark.parametrize("odd", ["", "unknown"])
@pytest.mark.parametrize("where", ["everywhere", "in one row"])
def test_a_time_that_is_missing_is_no_error(tmp_path: Path, odd: str, where: str) -> None:
    """A column of times with an empty or odd cell names no days; there is a split all the same."""
    rng = np.random.default_rng(0)
    table = _table(rng)
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 300, _ROWS), "D")
    cells = pd.Series(moments).dt.strftime("%Y-%m-%d %H:%M:%S")
    test = rng.random(_ROWS) < 0.3
    gone = rng.random(_ROWS) < 0.05 if where == "everywhere" else np.arange(_ROWS) == test.argmax()
    table["updated"] = cells.where(~gone, odd)
    plan = _plan(tmp_path, table, test)
    assert plan.rule_with_reason[0].kind == "random"
    assert plan.validation_rows()


@pytest.mark.parametrize("more", [{}, {"side": ["l", "r"]}], ids=["one value", "two values"])
def test_few_large_sets_of_equal_rows_are_no_twins(tmp_path: Path, more: dict[str, list[str]]) -> None:
    """Rows that are equal in a few classes only are as little to be kept together as any class is."""
    rng = np.random.default_rng(0)
    test = rng.random(_ROWS) < 0.3
    table = _table(rng).assign(camera=np.where(test, "B", "A"))
    for name, cells in more.items():
        table[name] = rng.choice(cells, _ROWS)
    plan = _plan(tmp_path, table, test)
    assert plan.rule_with_reason[0].kind == "random"
    assert len(plan.validation_rows()) <= _ROWS // 4


@pytest.mark.parametrize("name", ["month", "batch"])
def test_a_column_called_as_a_stretch_of_the_calendar_is_not_named(tmp_path: Path, name: str) -> None:
    """A rule by time can name any column for its groups but those whose name means the calendar."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 720, 3 * _ROWS)
    table = _table(rng, len(day)).assign(day_num=day, **{name: day // 30})
    plan = _plan(tmp_path, table, day % 30 >= 20)
    assert plan.rule_with_reason[0].within == (name if name == "batch" else None)
    assert plan.validation_rows()

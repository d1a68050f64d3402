"""Of large tables a sample is searched for the rule, and the split says so."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.splits.split_plan import plan_split, sampled_rows, split_keys

_ROWS, _GROUP = 900, 15


@pytest.fixture
def competition(tmp_path: Path) -> Competition:
    """Return a competition whose test rows are of other customers than train rows."""
    random = np.random.default_rng(0)
    (tmp_path / "public").mkdir()
    for name, first in (("train", 0), ("test", _ROWS)):
        rows = np.arange(first, first + _ROWS)
        columns = {"id": rows, "customer": rows // _GROUP, "x": random.normal(size=_ROWS)}
        if name == "train":
            columns["y"] = random.normal(size=_ROWS)
        frame = pd.DataFrame(columns).sample(frac=1, random_state=0)
        frame.assign(customer="c" + frame["customer"].astype(str)).to_csv(
            tmp_path / "public" / f"{name}.csv", index=False
        )
        if name == "test":
            sample = frame[["id"]].assign(y=0)
            sample.to_csv(tmp_path / "public" / "sample_submission.csv", index=False)
    values = {"id": "customers", "title": "customers", "metric": "rmse", "folder": tmp_path}
    columns_of = {"id_columns": ["id"], "label_columns": ["y"], "target_columns": ["y"]}
    return Competition.model_validate({**values, **columns_of})


def test_a_sample_finds_the_rule_of_all_rows(competition: Competition) -> None:
    """The rule is the same; rows are held out of all; reason and key say that rows were sampled."""
    data = CompetitionData.read(competition)
    whole = plan_split(data, seed=0)
    assert (whole.rule.kind, whole.rule.column) == ("group", "customer")
    assert "compared by" not in whole.reason
    plan = plan_split(data, seed=0, most=300)
    assert plan.rule == whole.rule
    assert plan.reason.endswith("of 900 test rows")
    assert plan.rows == whole.rows
    assert plan.quality.warnings == ()
    assert plan.key != whole.key
    assert whole.key in split_keys(data, 0, most=300)


@pytest.mark.parametrize("rows", [1, 299, 300, 301, 1_000, 100_000])
def test_a_sample_has_about_the_wanted_number_of_rows(rows: int) -> None:
    """All rows of a small table, else 300 up to a few, in order and from everywhere."""
    found = sampled_rows(rows, 300)
    assert (np.diff(found) > 0).all()
    assert len(found) == rows if rows <= 300 else abs(len(found) - 300) <= 3
    if rows > 300:
        assert np.diff(found).max() <= 3 * rows / 300 + 1

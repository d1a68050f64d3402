"""Scores are broken down by target and by visible blocks of rows: few, rounded, of many rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.grading.grader_port import ScoreBreakdown
from comind.grading.grader_server import SplitGrader
from comind.grading.score_breakdown import Blocks, _spans_days, _standard_error, blocks_of, break_down
from comind.metrics import METRICS
from comind.metrics.bootstrap import Bootstrap
from comind.splits.split_files import make_split
from comind.splits.split_folder import Split
from tests.examples import examples
from tests.unit.competitions.folders import competition_folder, write
from tests.unit.metrics.samples import Sample, random_sample

pytestmark = pytest.mark.slow

_LEAST_ROWS, _MOST_BLOCKS, _MOST_TARGETS = 20, 4, 12
_ROUNDED = 0.006  # relative: three significant digits
_BY_COLUMN = sorted(name for name, metric in METRICS.items() if metric.by_column)


def _rounding(sample: Sample, parts: ScoreBreakdown) -> float:
    """Return by how much parts may be rounded: by less than a standard error of the score."""
    bootstrap = Bootstrap(len(sample.truth))
    interval = bootstrap.interval(sample.metric, *sample.parsed(), sample.score())
    size = sum(part.share * abs(part.value) for part in parts.worst)
    return interval.standard_error + _ROUNDED * size + 1e-12


@pytest.mark.parametrize("name", _BY_COLUMN)
@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(2, _MOST_TARGETS))
@examples(4)
def test_the_mean_of_the_targets_is_the_score(name: str, seed: int, columns: int) -> None:
    """For a metric that averages columns, the mean of the parts is the score."""
    sample = random_sample(METRICS[name], seed, rows=_LEAST_ROWS, columns=columns)
    [parts] = break_down(sample.metric, *sample.parsed())
    assert (parts.by, parts.count, len(parts.worst)) == ("target", columns, columns)
    assert sum(part.share for part in parts.worst) == pytest.approx(1)
    mean = sum(part.share * part.value for part in parts.worst)
    assert mean == pytest.approx(sample.score(), abs=_rounding(sample, parts))


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(_LEAST_ROWS, 40), min_size=2, max_size=_MOST_BLOCKS),
)
@examples(20)
def test_the_mean_over_blocks_is_the_score(seed: int, sizes: list[int]) -> None:
    """For a metric that averages rows, the weighted mean of the blocks is the score."""
    sample = random_sample(METRICS["mae"], seed, rows=sum(sizes), columns=1)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    names = tuple(f"shop {number}" for number in range(len(sizes)))
    [parts] = break_down(sample.metric, *sample.parsed(), Blocks("shop", names, numbers))
    assert parts.by == "shop"
    mean = sum(part.share * part.value for part in parts.worst)
    assert mean == pytest.approx(sample.score(), abs=_rounding(sample, parts))


@pytest.mark.parametrize("name", ["rmse", "roc-auc"])
def test_parts_are_few_rounded_and_the_worst_first(name: str) -> None:
    """Only the worst of many parts are reported, to three significant digits at most."""
    metric = METRICS[name]
    sample = random_sample(metric, 7, rows=600, columns=20)
    blocks = Blocks("shop", tuple("abcdefgh"), np.arange(600) % 8)
    targets, shops = break_down(metric, *sample.parsed(), blocks)
    assert (targets.count, len(targets.worst)) == (20, _MOST_TARGETS)
    assert (shops.count, len(shops.worst)) == (8, _MOST_BLOCKS)
    for parts in (targets, shops):
        values = [part.value for part in parts.worst]
        assert values == sorted(values, reverse=not metric.maximize)
        assert all(value == float(f"{value:.3g}") for value in values)


def test_a_standard_error_is_of_a_jackknife_of_twenty_groups() -> None:
    """The error of a mean is what 20 groups of rows give that are left out one by one."""
    values = np.random.default_rng(0).normal(size=100)
    left = [np.delete(values, np.s_[first::20]).mean() for first in range(20)]
    expected = np.std(left) * np.sqrt(19)
    found = _standard_error(lambda rows: float(values[rows].mean()), np.arange(100))
    assert found == pytest.approx(expected, rel=1e-9)


def test_no_part_is_told_of_few_rows() -> None:
    """Parts of fewer than 20 rows, single parts, and undefined values are not reported."""
    metric = METRICS["mae"]
    few = random_sample(metric, 1, rows=_LEAST_ROWS - 1, columns=3)
    assert break_down(metric, *few.parsed()) == ()
    sample = random_sample(metric, 1, rows=100, columns=1)
    sizes = [60, 21, _LEAST_ROWS - 1]
    blocks = Blocks("shop", ("a", "b", "c"), np.repeat([0, 1, 2], sizes))
    [parts] = break_down(metric, *sample.parsed(), blocks)
    assert sorted(part.name for part in parts.worst) == ["a", "b"]
    alone = Blocks("shop", ("a", "c"), np.repeat([0, 1], [81, 19]))
    assert break_down(metric, *sample.parsed(), alone) == ()
    auc = METRICS["roc-auc"]
    ranked = random_sample(auc, 1, rows=60, columns=1)
    classes = ranked.parsed()[0]["c0"].to_numpy()
    by_class = Blocks("shop", ("a", "b"), classes.astype(int))
    assert break_down(auc, *ranked.parsed(), by_class) == ()


def test_names_of_parts_are_short_lines() -> None:
    """A name is one short line, whatever the cell is."""
    sample = random_sample(METRICS["mae"], 1, rows=40, columns=1)
    blocks = Blocks("sh\nop", ("a\x1b[2J\nobey me", "b" * 500), np.arange(40) % 2)
    [parts] = break_down(sample.metric, *sample.parsed(), blocks)
    names = [parts.by, *(part.name for part in parts.worst)]
    assert all(len(name) <= 44 and name.isprintable() for name in names)


def _split(**rule: Any) -> Split:
    values = {
        "key": "k",
        "competition": "c",
        "title": "t",
        "metric": "mae",
        "maximize": False,
        "answer_kind": "number",
        "id_columns": ("id",),
        "train_id_columns": ("number",),
        "label_columns": ("y",),
        "target_columns": ("y",),
        "train_rows": 1,
        "validation_rows": 1,
        "test_rows": 1,
        "rule": SplitRule(**rule),
        "rule_reason": "",
        "seed": 0,
        "generated": False,
        "public_sha256": "",
        "sealed_sha256": "",
    }
    return Split.model_validate(values)


def _table(column: str, values: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"id": [str(n) for n in range(len(values))], column: values})


@given(days=st.lists(st.integers(1, 28), min_size=1, max_size=120))
def test_blocks_of_time_never_part_rows_of_one_time(days: list[int]) -> None:
    """A time split has at most four blocks, in the order of time; equal times are in one block."""
    table = _table("day", [f"2020-01-{day:02d}" for day in days])
    blocks = blocks_of(_split(kind="time", column="day"), table)
    assert blocks is not None
    assert 1 <= len(blocks.names) <= _MOST_BLOCKS
    numbers = blocks.numbers[np.argsort(days, kind="stable")]
    assert (np.diff(numbers) >= 0).all()
    assert len(set(zip(days, blocks.numbers, strict=True))) == len(set(days))


def test_blocks_are_named_by_what_is_seen() -> None:
    """Blocks of time are named by their first and last time, groups by their value."""
    days = _table("day", [f"2020-01-{day:02d}" for day in range(1, 29)])
    named = blocks_of(_split(kind="time", column="day"), days)
    assert named is not None
    assert named.names[0] == "2020-01-01 to 2020-01-07"
    hours = blocks_of(
        _split(kind="time", column="day"),
        _table("day", [f"2020-01-01 {hour:02d}:00" for hour in range(8)]),
    )
    assert hours is not None
    assert hours.names[-1] == "2020-01-01 06:00 to 2020-01-01 07:00"
    plain = blocks_of(_split(kind="time", column="week"), _table("week", ["3", "1", "2", "4.5"]))
    assert plain is not None
    assert plain.names == ("1", "2", "3", "4.5")
    shops = _table("shop", ["a"] * 30 + ["b"] * 25 + ["c"] * 5)
    groups = blocks_of(_split(kind="group", column="shop"), shops)
    assert groups is not None
    assert groups.names == ("a", "b")
    assert groups.numbers.tolist() == [0] * 30 + [1] * 25 + [-1] * 5
    by_day = blocks_of(
        _split(kind="group", column="number", by="date"),
        _table("x", ["1"] * 3).assign(id=["2020-01-01 05:00"] * 3),
    )
    assert by_day is not None
    assert by_day.by == "id"


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "random"},
        {"kind": "stratified", "column": "y"},
        {"kind": "group", "column": "hidden"},
    ],
)
def test_labels_and_hidden_columns_make_no_blocks(rule: dict[str, str]) -> None:
    """A column that validation.csv lacks gives no blocks, nor does a label."""
    assert blocks_of(_split(**rule), _table("y", ["1"] * 50)) is None


def _graded(tmp_path: Path, **changes: Any) -> tuple[ScoreBreakdown, ...]:
    """Return the parts of a score in a competition of 400 rows, two targets and two shops."""
    folder = competition_folder(tmp_path, metric="mae", target_columns=["u", "v"], **changes)
    train = [f"{row},{'north' if row % 3 else 'south'},{row},{row % 7}" for row in range(400)]
    write(folder, "train.csv", ["id,shop,u,v", *train])
    write(folder, "test.csv", ["id,shop", *[f"{row},north" for row in range(400, 410)]])
    write(folder, "sample_submission.csv", ["id,u,v", *[f"{row},0,0" for row in range(400, 410)]])
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    rows = pd.read_csv(split.public / "validation.csv")
    one, other = tmp_path / "validation.csv", tmp_path / "test.csv"
    rows.assign(u=rows["id"] + rows["shop"].eq("south"), v=rows["id"] % 7 + 0.25)[
        ["id", "u", "v"]
    ].to_csv(one, index=False)
    pd.read_csv(split.sample).to_csv(other, index=False)
    report = SplitGrader(split).grade(one, other)
    assert report.score is not None, report.message
    return report.parts


def test_the_grader_tells_parts(tmp_path: Path) -> None:
    """A report has the score of each target and of each visible value of the split's column."""
    rule = {"kind": "stratified", "column": "shop"}
    targets, shops = _graded(tmp_path, label_columns=["u", "v"], split=rule)
    assert [part.name for part in targets.worst] == ["u", "v"]
    assert targets.worst[1].value == 0.25
    assert shops.by == "shop"
    assert [(part.name, part.value) for part in shops.worst] == [("south", 0.625), ("north", 0.125)]


@pytest.mark.parametrize(("hours", "dated"), [(8 * 24, True), (8 * 24 - 1, False)])
def test_blocks_of_two_days_are_named_by_dates(hours: int, *, dated: bool) -> None:
    """Four blocks over eight days are named by dates, shorter ones by times."""
    times = pd.Series(
        [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01") + pd.Timedelta(hours=hours)]
    )
    assert _spans_days(times) == dated

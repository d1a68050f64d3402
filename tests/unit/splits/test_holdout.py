"""Number and choice of held-out rows by each rule."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.rule import Rule
from comind.splits.shuffling import validation_size
from tests.examples import examples


@pytest.mark.parametrize(
    ("rows", "fraction", "count"),
    [
        (4, None, 1),
        (40, None, 10),
        (891, None, 222),
        (1200, None, 300),
        (2000, None, 300),
        (5000, None, 500),
        (5000, 0.2, 1000),
        (3, 0.01, 1),
        (3, None, 0),
    ],
)
def test_how_many_rows_are_held_back(rows: int, fraction: float | None, count: int) -> None:
    """A tenth of the rows, at least 300 if that is at most a quarter; or the fraction of the rule."""
    assert validation_size(rows, fraction) == count


def _table(column: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"c": column}, dtype=str)


@given(
    classes=st.lists(st.sampled_from("aaaabbc"), min_size=8, max_size=120),
    seed=st.integers(0, 9),
    fraction=st.sampled_from([None, 0.1, 0.5]),
)
@examples(50)
def test_classes_keep_their_share(classes: list[str], seed: int, fraction: float | None) -> None:
    """Classes are held out in proportion; each keeps a training row."""
    rule = SplitRule(kind="stratified", column="c", fraction=fraction)
    held_out = Rule.of(rule).choose(_table(classes), seed).rows
    share = validation_size(len(classes), fraction) / len(classes)
    for name in set(classes):
        taken = sum(classes[row] == name for row in held_out)
        assert taken < classes.count(name)
        assert taken == pytest.approx(classes.count(name) * share, abs=1)


@given(groups=st.lists(st.integers(0, 12), min_size=8, max_size=120), seed=st.integers(0, 9))
@examples(50)
def test_whole_groups_come_close_to_the_share(groups: list[int], seed: int) -> None:
    """The number of held-out rows is off by at most the largest group."""
    names = [f"g{group}" for group in groups]
    rule = SplitRule(kind="group", column="c")
    if len(set(names)) == 1:
        with pytest.raises(CompetitionError, match="has one group only"):
            Rule.of(rule).choose(_table(names), seed)
        return
    held_out = Rule.of(rule).choose(_table(names), seed).rows
    assert 0 < len(held_out) < len(names)
    largest = max(names.count(name) for name in names)
    assert abs(len(held_out) - validation_size(len(names), None)) <= largest


def test_a_day_is_a_group() -> None:
    """With `by: date`, hours of one day stay together."""
    hours = [f"2024-05-{1 + row // 4:02d} {row % 4:02d}:00" for row in range(40)]
    held_out = Rule.of(SplitRule(kind="group", column="c", by="date")).choose(_table(hours), 0).rows
    days = {row // 4 for row in held_out}
    assert sorted(held_out) == [row for row in range(40) if row // 4 in days]


@pytest.mark.parametrize(
    ("times", "horizon", "late"),
    [
        (["3", "1", "2", "2.5"], None, [0]),
        (["1", "10", "9", "2"], None, [1]),
        (["2024-01-01", "2024-02-01", "2024-01-31", "2023-12-01"], 2, [1, 2]),
        (["1", "2", "3", "4"], 2, [2, 3]),
        (["2024-01-01", "2024-02-01", "2024-02-01", "2023-12-01"], None, [1, 2]),
        (["1", "1", "1", "1", "1", "1", "1", "2"], None, [7]),
    ],
    ids=["numbers", "not as text", "days", "numbered days", "equal times", "equal first times"],
)
def test_time_takes_the_tail(times: list[str], horizon: int | None, late: list[int]) -> None:
    """The last rows, or the last days, are held out; equal times stay together."""
    rule = SplitRule(kind="time", column="c", horizon_days=horizon)
    assert Rule.of(rule).choose(_table(times), 0).rows == late


def test_another_seed_takes_other_rows() -> None:
    """The seed decides which rows are held out, but not how many."""
    table = _table([str(row) for row in range(100)])
    first, second = (Rule.of(SplitRule(kind="random")).choose(table, seed).rows for seed in (0, 1))
    assert first != second
    assert len(first) == len(second)

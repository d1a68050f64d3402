"""Cross-validation folds by the split rule, the same for all attempts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.extra_folds import FOLDS_FILE, write_folds
from comind.splits.fold_words import describe_folds
from comind.splits.rule import FOLDS, Rule
from comind.splits.split_files import make_split
from comind.system.files import hash_tree
from tests.examples import examples
from tests.unit.competitions.folders import competition_folder


def _sizes(folds: np.ndarray) -> np.ndarray:
    return np.bincount(folds, minlength=FOLDS)


@given(st.lists(st.sampled_from("aaaabbc"), min_size=FOLDS, max_size=120), st.integers(0, 9))
@examples(50)
def test_folds_and_classes_within_them_are_of_one_size(classes: list[str], seed: int) -> None:
    """Fold sizes differ by one row at most, also within each class if stratified."""
    table = pd.DataFrame({"c": classes})
    for rule in (SplitRule(kind="random"), SplitRule(kind="stratified", column="c")):
        sizes = _sizes(Rule.of(rule).fold_numbers(table, seed))
        assert sizes.max() - sizes.min() <= 1
    for name in set(classes):
        each = _sizes(Rule.of(rule).fold_numbers(table, seed)[(table["c"] == name).to_numpy()])
        assert each.max() - each.min() <= 1


@given(st.lists(st.integers(0, 12), min_size=8, max_size=120), st.integers(0, 9))
@examples(50)
def test_no_group_is_in_two_folds(groups: list[int], seed: int) -> None:
    """Groups stay whole and folds differ by the largest at most; a single group is divided."""
    table = pd.DataFrame({"c": [f"g{group}" for group in groups]})
    found = pd.Series(Rule.of(SplitRule(kind="group", column="c")).fold_numbers(table, seed))
    assert len(set(found)) > 1
    if len(set(groups)) > 1:
        assert found.groupby(table["c"]).nunique().max() == 1
    sizes = _sizes(found.to_numpy())
    assert sizes.max() - sizes.min() <= table["c"].value_counts().max()


@given(
    st.lists(st.integers(0, 400), min_size=8, max_size=120, unique=True), st.sampled_from([None, "s"])
)
@examples(50)
def test_folds_of_times_stand_in_their_order(times: list[int], within: str | None) -> None:
    """Folds are in the order of time, within each period if the rule has one."""
    table = pd.DataFrame({"t": map(str, times), "s": ["ab"[n % 2] for n in range(len(times))]})
    found = Rule.of(SplitRule(kind="time", column="t", within=within)).fold_numbers(table, 0)
    assert len(np.unique(found)) > 1
    for _, rows in table.assign(fold=found, t=times).groupby(
        table[within] if within else [0] * len(table)
    ):
        ends = rows.groupby("fold")["t"].agg(["min", "max"]).to_numpy()
        assert (ends[:-1, 1] < ends[1:, 0]).all()


@given(
    st.lists(st.integers(-400, 400), min_size=8, max_size=60),
    st.sampled_from([None, "s"]),
    st.sampled_from([None, 30]),
)
@examples(50)
def test_the_earliest_rows_are_the_latest_of_mirrored_times(
    times: list[int], within: str | None, days: int | None
) -> None:
    """A rule that takes the first rows does with times what another does with their negatives."""
    table = pd.DataFrame({"t": map(str, times), "s": ["ab"[n % 2] for n in range(len(times))]})
    latest = SplitRule(kind="time", column="t", within=within, horizon_days=days)
    pairs = (latest, -1), (latest.model_copy(update={"earliest": True}), 1)
    found = []
    for rule, sign in pairs:
        rows = table.assign(t=[str(sign * time) for time in times])
        try:
            folds = [(sorted(rows), sorted(others)) for rows, others in Rule.of(rule).folds(rows, 0)]
        except CompetitionError:
            folds = []
        found.append((folds, Rule.of(rule).fold_numbers(rows, 0).tolist()))
    assert found[0] == found[1]


def test_rows_of_one_time_stay_together() -> None:
    """Equal times are in one fold, unless all are equal."""
    rule = SplitRule(kind="time", column="t")
    days = pd.DataFrame({"t": ["2020-01-02"] * 4 + ["2020-01-01"] * 4 + ["2020-01-03"] * 2})
    assert Rule.of(rule).fold_numbers(days, 0).tolist() == [2] * 4 + [0] * 4 + [4] * 2
    assert set(Rule.of(rule).fold_numbers(days.assign(t="2020-01-01"), 0)) == set(range(FOLDS))


def test_folds_are_the_same_everywhere() -> None:
    """Folds depend on rows, rule and seed alone: they are compared with recorded ones."""
    table = pd.DataFrame({"c": list("abcabcabcabc")})
    rule = SplitRule(kind="stratified", column="c")
    assert Rule.of(rule).fold_numbers(table, 0).tolist() == [0, 2, 3, 2, 0, 0, 1, 1, 4, 3, 4, 1]
    assert Rule.of(rule).fold_numbers(table, 0).tolist() != Rule.of(rule).fold_numbers(table, 1).tolist()


def test_a_rule_without_its_column_is_refused() -> None:
    """A missing column of the rule is an error that names it."""
    with pytest.raises(CompetitionError, match="column 'c' is not in train"):
        Rule.of(SplitRule(kind="group", column="c")).fold_numbers(pd.DataFrame({"x": ["1"]}), 0)


def test_the_file_changes_nothing_of_the_split(tmp_path: Path) -> None:
    """`folds.csv` has a fold for each row of train.csv, and the split is unchanged."""
    split = make_split(load_competition(competition_folder(tmp_path)), tmp_path / "splits", seed=0)
    before = [hash_tree(part) for part in (split.public, split.sealed)]
    for _ in range(2):
        write_folds(split.public, split.read(), split.folds / FOLDS_FILE)
    assert [hash_tree(part) for part in (split.public, split.sealed)] == before
    folds = pd.read_csv(split.folds / FOLDS_FILE)["fold"]
    assert len(folds) == len(pd.read_csv(split.public / "train.csv"))
    assert set(folds) == set(range(FOLDS))


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (SplitRule(kind="random"), "rows at random"),
        (SplitRule(kind="stratified", column="c"), "rows at random, each value of c in proportion"),
        (SplitRule(kind="group", column="c"), "whole groups of one c, folds of about equal size"),
        (
            SplitRule(kind="group", column="c", also=(SplitRule(kind="group", column="d"),)),
            "whole groups of one c, folds of about equal size",
        ),
        (SplitRule(kind="time", column="t"), "consecutive rows by t, fold 0 the earliest"),
        (SplitRule(kind="time", column="t", earliest=True), "consecutive rows by t, fold 0 the latest"),
        (
            SplitRule(kind="time", column="t", within="month"),
            "consecutive rows of each month by t, fold 0 the earliest",
        ),
    ],
)
def test_the_rows_of_a_fold_are_told(rule: SplitRule, told: str) -> None:
    """Folds are described by what they keep together."""
    assert describe_folds(rule) == told


def test_the_first_fold_in_time_is_as_told() -> None:
    """Fold 0 has the earliest rows, or the latest where validation has the earliest."""
    table = pd.DataFrame({"t": [f"2024-01-{day:02d}" for day in range(1, 11)]})
    for earliest, first in ((False, [0, 0]), (True, [4, 4])):
        rule = Rule.of(SplitRule(kind="time", column="t", earliest=earliest))
        assert rule.fold_numbers(table, 0)[:2].tolist() == first

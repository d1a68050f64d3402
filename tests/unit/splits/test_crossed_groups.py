"""Splits by several groupings at once: users and items of validation rows are both absent from train."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.extra_folds import count_folds, make_fold
from comind.splits.grouping import row_groups
from comind.splits.rule import Rule
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.splits.planted import planted_world

_BOTH = SplitRule(
    kind="group", column="user", also=(SplitRule(kind="group", column="item"),), fraction=0.1
)


def _table(users: list[int], items: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"user": users, "item": items}).astype(str)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=20, max_size=80),
    seed=st.integers(0, 3),
)
def test_no_group_of_any_grouping_is_on_both_sides(pairs: list[tuple[int, int]], seed: int) -> None:
    """Validation rows of a fold share no user or item with its training rows; folds are disjoint."""
    table = _table([user for user, _ in pairs], [item for _, item in pairs])
    seen: set[int] = set()
    try:
        folds = list(Rule.of(_BOTH).folds(table, seed))
    except CompetitionError:
        return
    for rows, excluded in folds:
        assert rows
        assert not seen & set(rows)
        assert not set(rows) & set(excluded)
        seen |= set(rows)
        kept = table.drop(index=[*rows, *excluded])
        for column in table:
            assert not set(table[column].iloc[rows]) & set(kept[column])


@pytest.mark.parametrize(
    ("items", "least", "most_excluded"),
    [("crossed", 75, 1600), ("nested", 290, 0), ("nearly nested", 290, 60), ("small chains", 290, 0)],
)
def test_as_few_rows_as_possible_leave(items: str, least: int, most_excluded: int) -> None:
    """Half of the rows stay in train if users and items cross; hardly any leaves if they are nested."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 100, 3000)
    nested = user * 10 + rng.integers(0, 10, 3000)
    of_rows = {
        "crossed": rng.integers(0, 40, 3000),
        "nested": nested,
        "nearly nested": np.where(rng.random(3000) < 0.05, rng.integers(0, 1000, 3000), nested),
        "small chains": user // 2,
    }[items]
    rows, excluded = next(Rule.of(_BOTH).folds(_table(user.tolist(), of_rows.tolist()), 0))
    assert least <= len(rows) <= 320
    assert len(excluded) <= most_excluded


def test_chains_of_shared_groups_are_one_group() -> None:
    """Rows linked by users and items are one group; if they link most rows, the users are the groups."""
    chains = row_groups(_table([1, 1, 2, 3, 4, 5], [1, 2, 2, 3, 4, 4]), _BOTH)
    assert chains.tolist() == ["0", "0", "0", "3", "4", "4"]
    assert row_groups(_table([1, 1, 2, 2], [1, 2, 2, 1]), _BOTH).tolist() == ["1", "1", "2", "2"]


def test_rows_that_cannot_be_separated_are_refused() -> None:
    """Where each fold would leave nothing to train on, the error names the columns."""
    with pytest.raises(CompetitionError, match="columns 'user' and 'item'"):
        next(Rule.of(_BOTH).folds(_table([1] * 40, list(range(40))), 0))


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> SplitFolder:
    """The split of a competition whose test rows have other users and other items."""
    root = tmp_path_factory.mktemp("crossed")
    competition = load_competition(planted_world("crossed groups", 3).build(root))
    return make_split(competition, root / "splits", seed=0)


def test_the_split_says_that_rows_left(crossed: SplitFolder) -> None:
    """The rule names both groupings, and the reason counts the rows in neither part."""
    split = crossed.read()
    assert len(split.rule.groupings) == 2
    assert "with groups of both parts are in neither" in split.rule_reason
    train, validation = (pd.read_csv(crossed.public / f"{part}.csv") for part in ("train", "validation"))
    assert (len(train), len(validation)) == (split.train_rows, split.validation_rows)
    assert json.loads(crossed.metadata.read_text())["rule"]["also"]
    assert [each.validation for each in split.related if each.own] == [0.0, 0.0]


def test_folds_are_separated_as_the_split_is(crossed: SplitFolder) -> None:
    """A further fold has other rows, and shares no group with its own training rows either."""
    assert count_folds(crossed, 1).folds == 1
    fold = make_fold(crossed, 1)
    train, validation = (pd.read_csv(fold.public / f"{part}.csv") for part in ("train", "validation"))
    first = pd.read_csv(crossed.public / "validation.csv")
    assert not set(validation["id"]) & set(first["id"])
    for each in crossed.read().rule.groupings:
        assert not set(validation[each.column]) & set(train[each.column])


def test_a_given_rule_may_have_several_groupings(tmp_path: Path) -> None:
    """`also` in `competition.yaml` is a list of group rules."""
    world = planted_world("crossed groups", 3)
    users, items = ({"kind": "group", "column": name} for name in ("user", "item"))
    rule = SplitRule.model_validate({**users, "also": [items]})
    competition = load_competition(world.build(tmp_path)).model_copy(update={"split": rule})
    split = make_split(competition, tmp_path / "splits", seed=0).read()
    assert split.rule == rule
    assert split.warnings == ()

"""A new kind of grouping is one file: it is checked, searched, described, stored and split by."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits import groupings
from comind.splits.grouping import kinds_of_grouping
from comind.splits.rule import ByGroup, Rule
from comind.splits.split_files import make_split
from tests.unit.splits.plans import plan_of
from tests.unit.splits.planted import PlantedWorld, planted_world

_FILE = '''
"""Groups of numbers with the same remainder."""

from collections.abc import Iterator

import pandas as pd

from comind.splits.grouping import ColumnGrouping
from comind.splits.pooled_rows import PooledRows, Relation
from comind.splits.relations import SameGroup


class Remainder(ColumnGrouping):
    """`remainder`: the remainder of whole numbers by `width`."""

    by = "remainder"
    width: int

    @property
    def part(self) -> str:
        """The divisor."""
        return f" (its remainder by {self.width})"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        """Return the remainder of each row."""
        return (table[self.column].astype(int) % self.width).astype(str)

    @classmethod
    def candidates(cls, pool: PooledRows) -> Iterator[Relation]:
        """Yield remainders by 50 of ticket numbers."""
        if "ticket" in pool.columns:
            yield SameGroup(pool, cls(column="ticket", width=50).rule)
'''


@pytest.fixture(autouse=True)
def remainder(tmp_path: Path) -> Iterator[None]:
    """Add a file to the package of groupings."""
    (tmp_path / "added").mkdir()
    (tmp_path / "added" / "remainder.py").write_text(_FILE)
    groupings.__path__.append(str(tmp_path / "added"))
    kinds_of_grouping.cache_clear()
    yield
    groupings.__path__.pop()
    sys.modules.pop("comind.splits.groupings.remainder", None)
    kinds_of_grouping.cache_clear()


_RULE = SplitRule(kind="group", column="ticket", by="remainder", width=50)


def test_it_is_checked_described_stored_and_split_by() -> None:
    """Its keys are checked, its form in YAML is read and written, and its groups stay whole."""
    rule = ByGroup.of(SplitRule.model_validate_json(_RULE.model_dump_json()))
    assert rule.stored == _RULE
    assert rule.description == "whole groups of one ticket (its remainder by 50), chosen at random"
    table = pd.DataFrame({"ticket": [str(row * 37 % 1000) for row in range(1000)]})
    remainders = table["ticket"].astype(int) % 50
    rows, _ = rule.choose(table, 0)
    assert not set(remainders[rows]) & set(remainders.drop(rows))
    numbers = pd.Series(rule.fold_numbers(table, 0))
    assert numbers.groupby(remainders).nunique().max() == 1
    with pytest.raises(CompetitionError, match="'by: remainder' requires 'width'"):
        Rule.of(SplitRule(kind="group", column="ticket", by="remainder"))
    with pytest.raises(
        CompetitionError, match="'by: remainder' uses 'column' and 'width'; 'parts' is not"
    ):
        Rule.of(_RULE.model_copy(update={"parts": (1,)}))


def test_it_is_searched(tmp_path: Path) -> None:
    """Where test rows have other remainders than train rows, the rule is found."""
    rng = np.random.default_rng(0)
    ticket = rng.permutation(100_000)[:3000]
    table = pd.DataFrame({"id": range(3000), "ticket": ticket, "target": rng.normal(size=3000).round(3)})
    plan = plan_of(tmp_path, table, np.isin(ticket % 50, rng.permutation(50)[:15]))
    assert plan.rule == _RULE
    assert "of groups of one ticket (its remainder by 50) that have other rows" in plan.reason
    assert plan.quality.warnings == ()


def test_an_unknown_one_is_refused_with_the_known(tmp_path: Path) -> None:
    """A value of `by` without a file is an error that names the others."""
    world: PlantedWorld = planted_world("groups in a column", 0)
    competition = load_competition(world.build(tmp_path))
    rule = SplitRule(kind="group", column="id", by="odd")
    odd = competition.model_copy(update={"split": rule})
    with pytest.raises(CompetitionError) as caught:
        make_split(odd, tmp_path / "splits", seed=0)
    assert str(caught.value).startswith(f"{competition.folder}/competition.yaml: split: 'by' is one of ")
    assert "'prefix', 'remainder', 'series', " in str(caught.value)

"""Numbers that decide what separates test rows: each is held at its boundary."""

from string import ascii_letters

import numpy as np
import pandas as pd
import pytest

from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.splits.adversarial_validation import adversarial_auc
from comind.splits.grouping import crossed_folds
from comind.splits.groupings.blocks import Blocks
from comind.splits.groupings.duplicates import Duplicates
from comind.splits.groupings.id_parts import _runs, count_parts
from comind.splits.groupings.prefix import Prefix, _interleave, separating_width
from comind.splits.groupings.series import Series
from comind.splits.pooled_rows import PooledRows
from comind.splits.quality import SplitQuality, _is_disjoint_in_time, assess_split
from comind.splits.relations import FollowedInTime, NearestNeighbour, SameGroup
from comind.splits.search import (
    Comparison,
    RelationShares,
    _shared_groups,
    _with_further_groupings,
    _with_horizon,
    compare,
    plain_rule,
)
from comind.splits.split_folder import RelatedShare
from comind.splits.time_order import time_candidates


def _pool(
    train: dict[str, list[str]], test: dict[str, list[str]], ids: tuple[str, ...] = ()
) -> PooledRows:
    return PooledRows(pd.DataFrame(train, dtype=str), pd.DataFrame(test, dtype=str), ids)


def _rows(count: int, first: int = 0) -> list[str]:
    return [str(row) for row in range(first, first + count)]


def _column(train: list[str], test: list[str]) -> PooledRows:
    return _pool({"x": train}, {"x": test})


_GROUPS = SplitRule(kind="group", column="x")


@pytest.mark.parametrize(
    ("test_rows", "test", "separated"),
    [(20, 0.0, False), (21, 0.0, True), (100, 0.02, True), (100, 0.03, False)],
)
def test_a_separation_is_improbable_by_chance(test_rows: int, test: float, *, separated: bool) -> None:
    """At most 2 % of test rows are related, which happens by chance less than once in a million."""
    relation = SameGroup(_column(_rows(40), _rows(test_rows)), _GROUPS)
    assert RelationShares(relation, train=0.5, test=test).is_separated() == separated


@pytest.mark.parametrize(
    ("groups", "largest", "can_be"), [(5, 20, True), (4, 25, False), (6, 50, True), (6, 51, False)]
)
def test_groups_to_hold_out_are_five_and_none_is_most_rows(
    groups: int, largest: int, *, can_be: bool
) -> None:
    """With fewer than five groups, or one of more than half of the rows, there is no group split."""
    others = [f"g{row % (groups - 1)}" for row in range(100 - largest)]
    relation = SameGroup(_column(["big"] * largest + others, ["new"]), _GROUPS)
    assert len(relation.sizes) == groups
    assert relation.can_be_held_out() == can_be


@pytest.mark.parametrize(("named", "stratified"), [(12, True), (13, False)])
def test_classes_have_five_rows_on_average(named: int, *, stratified: bool) -> None:
    """With fewer labelled rows a class than five, the split is not stratified."""
    train = pd.DataFrame({"x": _rows(60), "y": [f"c{row % named}" for row in range(60)]}, dtype=str)
    rule, _ = plain_rule(train, train[["x"]], ("y",), AnswerKind.LABEL)
    assert (rule.kind == "stratified") == stratified


@pytest.mark.parametrize(("late", "kind"), [(1, "time"), (2, "random")])
def test_hardly_any_train_row_is_later_than_half_of_test(late: int, kind: str) -> None:
    """At most one train row in a hundred is later than the median test row of a time split."""
    days = pd.date_range("2020-01-01", periods=200).strftime("%Y-%m-%d").tolist()
    train = pd.DataFrame({"x": days[: 100 - late] + [days[160]] * late, "y": _rows(100)})
    rule, _ = plain_rule(train, pd.DataFrame({"x": days[100:]}), ("y",), AnswerKind.NUMBER)
    assert rule.kind == kind


def test_time_order_is_examined_within_twenty_columns() -> None:
    """Of more columns with groups that test has, too, the first twenty are taken."""
    cells = {f"g{number}": [f"a{row % 4}" for row in range(40)] for number in range(21)}
    pool = _pool(cells, cells)
    groups = [SameGroup(pool, SplitRule(kind="group", column=name)) for name in cells]
    shares = [RelationShares(each, train=1.0, test=0.8) for each in groups]
    assert len(_shared_groups(shares)) == 20
    assert not _shared_groups([RelationShares(groups[0], train=1.0, test=0.79)])


@pytest.mark.parametrize(("step", "horizon"), [(2500, True), (2600, False)])
def test_long_ranges_of_numbers_have_no_days(step: int, *, horizon: bool) -> None:
    """A horizon is only stored for numbers that span at most 100,000, as others are seconds."""
    pool = _column(_rows(30), _rows(10, 30))
    times = np.arange(40.0) * step
    rule = _with_horizon(FollowedInTime(pool, SplitRule(kind="time", column="x"), times, in_days=False))
    assert (rule.horizon_days is not None) == horizon


def test_the_last_hundredth_is_followed_by_nothing() -> None:
    """A row is followed by train rows if it is before their last hundredth."""
    pool = _column(_rows(1000), ["980", "989", "990"])
    later = FollowedInTime(pool, SplitRule(kind="time", column="x"), pool.numbers("x"), in_days=False)
    assert later.is_related(pool.test, pool.train).tolist() == [True, True, False]


@pytest.mark.parametrize(("rows", "enough"), [(19, False), (20, True)])
def test_twenty_rows_are_compared(rows: int, *, enough: bool) -> None:
    """With fewer rows of test, nothing is compared."""
    assert _column(_rows(40), _rows(rows)).is_large_enough == enough


def test_large_tables_are_sampled() -> None:
    """Of train 4,000 rows are measured, 500 cells show a column's type; 400 columns are compared."""
    wide = {f"c{number}": ["1"] for number in range(402)}
    assert len(_pool(wide, wide, ("c401",)).columns) == 401
    pool = _column(_rows(4001), ["1"])
    assert (len(pool.sample(pool.train)), len(pool.sample_cells("x"))) == (4000, 500)


@pytest.mark.parametrize(("paired", "compared"), [(30, True), (28, False)])
def test_three_of_ten_train_rows_are_related(paired: int, *, compared: bool) -> None:
    """Relations that fewer train rows have to each other are not compared."""
    cells = [f"p{row // 2}" for row in range(paired)] + [f"s{row}" for row in range(100 - paired)]
    shares = compare(_column(cells, _rows(30))).shares
    assert any(each.relation.rule == _GROUPS for each in shares) == compared


@pytest.mark.parametrize(("without", "candidates"), [(2, 1), (3, 0)])
def test_nearly_all_ids_have_the_separator(without: int, candidates: int) -> None:
    """A separator is a candidate if 98 % of the ids have it."""
    cells = [f"{row}a" * (row % 3 + 1) + "_b" for row in range(100 - without)]
    pool = _column(cells + ["c"] * without, ["d"])
    assert len(list(Prefix.candidates(pool))) == candidates


def _pairs(count: int, seed: int) -> list[str]:
    """Return single values, of which so many are there twice."""
    cells = [f"s{row}" for row in range(400)]
    rows = np.random.default_rng(seed).permutation(400)
    for one, other in zip(rows[:count], rows[count : 2 * count], strict=True):
        cells[one] = cells[other]
    return cells


@pytest.mark.parametrize(
    ("pairs", "added"), [((30, 30, 30), 2), ((30,), 1), ((16,), 1), ((3,), 0)], ids=str
)
def test_three_groupings_that_do_not_follow_from_each_other(pairs: tuple[int, ...], added: int) -> None:
    """Groupings are added that more than 5 % of validation rows share with train, to three at most."""
    columns = {f"c{number}": _pairs(count, number) for number, count in enumerate(pairs)}
    users = [f"a{row // 4}" for row in range(400)]
    pool = _pool({"a": users, **columns}, {"a": users, **columns})
    rules = [SplitRule(kind="group", column=name) for name in ("a", *columns)]
    shares = [RelationShares(SameGroup(pool, rule), train=1.0, test=0.0) for rule in rules]
    rule, reasons = _with_further_groupings(rules[0], "first", shares)
    assert len(rule.also) == added
    assert reasons.count(";") == added


def test_columns_have_few_empty_cells_and_many_values() -> None:
    """A column is full with 2 % of its cells empty, and continuous with 30 % of them different."""
    for empty, full in ((2, True), (3, False)):
        assert _column([""] * empty + _rows(100 - empty), ["1"]).is_full("x") == full
    for distinct, names in ((30, ("x",)), (29, ())):
        cells = [f"{row % distinct}.5" for row in range(100)]
        assert _column(cells, cells).continuous_columns == names


@pytest.mark.parametrize(
    ("share", "rows_per_group", "warned"),
    [
        (RelatedShare(rows="r", test=0.5, validation=0.64), 1.0, False),
        (RelatedShare(rows="r", test=0.5, validation=0.66), 1.0, True),
        (RelatedShare(rows="r", test=0.5, validation=0.74, compared=True), 1.0, False),
        (RelatedShare(rows="r", test=0.5, validation=0.76, compared=True), 1.0, True),
        (RelatedShare(rows="r", test=0.5, validation=0.69), 200.0, True),  # margin: 0.15
        (RelatedShare(rows="r", test=0.5, validation=0.69, own=True), 40.0, False),  # 100 groups
        (RelatedShare(rows="r", test=0.5, validation=0.73, own=True), 40.0, True),
    ],
)
def test_margins_of_a_warning(share: RelatedShare, rows_per_group: float, *, warned: bool) -> None:
    """A warning takes 15 points, of adversarial validation 25, and three standard errors.

    At most 4,000 rows count, in the rule's own relation by groups, in others by five rows at most.
    """
    quality = SplitQuality((share,), test=100_000, validation=100_000, rows_per_group=rows_per_group)
    assert bool(quality.warnings) == warned


@pytest.mark.parametrize(("mixed", "disjoint"), [(1, True), (2, False)])
def test_periods_hardly_overlap_in_time(mixed: int, *, disjoint: bool) -> None:
    """Groups are periods if they change along time at most a tenth more often than there are groups."""
    codes = np.repeat(np.arange(20), 5)
    for place in range(mixed):
        last = 10 * place + 4
        codes[[last, last + 1]] = codes[[last + 1, last]]
    assert _is_disjoint_in_time(codes, np.arange(100), np.zeros(100, dtype=int)) == disjoint


@pytest.mark.parametrize(("runs", "interleaved"), [(13, True), (12, False)])
def test_prefixes_of_train_and_test_alternate(runs: int, *, interleaved: bool) -> None:
    """Along the ids, sides change at least 60 % as often as in a random order (21 runs of 40)."""
    sides = [run % 2 for run in range(runs)]
    for side in (0, 1):
        sides.insert(sides.index(side), side)
        while sides.count(side) < 20:
            sides.insert(sides.index(side), side)
    ids = [
        [f"{number:02d}{row}" for number, side in enumerate(sides) if side == part for row in (0, 1)]
        for part in (0, 1)
    ]
    pool = _column(*ids)
    assert _interleave(pool, pool.column("x"), 2) == interleaved


@pytest.mark.parametrize(("length", "width"), [(64, 3), (65, None)])
def test_ids_of_prefixes_have_64_characters_at_most(length: int, width: int | None) -> None:
    """Longer text has no width."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(900)[:60] + 100
    ids = [f"{groups[row % 60]}{rng.integers(1e9)}".ljust(length, "x") for row in range(600)]
    new = [int(cell[:3]) % 4 == 0 for cell in ids]
    pool = _column(
        [cell for cell, out in zip(ids, new, strict=True) if not out],
        [cell for cell, out in zip(ids, new, strict=True) if out],
    )
    assert separating_width(pool, "x") == width


def test_parts_of_ids() -> None:
    """Composite ids have up to six parts; of more than four, groups are at the beginning or end."""
    for count, found in ((6, 6), (7, 0)):
        cells = ["_".join([*"abcdef"[: count - 1], str(row)]) for row in range(20)]
        assert count_parts(pd.Series(cells)) == found
    assert ((2, 3) in _runs(4), (2, 3) in _runs(5)) == (True, False)
    assert count_parts(pd.Series(["a_1", "a_2", "a_1", "a_2"])) == 2
    assert count_parts(pd.Series(["a_1", "a_2", "a_1", "a_2", "a_1"])) == 0


@pytest.mark.parametrize(("rows", "measured"), [(50, True), (49, False)])
def test_a_classifier_needs_fifty_rows(rows: int, *, measured: bool) -> None:
    """With fewer rows of one side there is no adversarial validation."""
    pool = _column(_rows(60), _rows(rows))
    assert (adversarial_auc(pool, ("x",), pool.test, pool.train) is not None) == measured


def test_the_radius_is_where_train_rows_are_near_and_test_rows_are_not() -> None:
    """The radius is between the distances of pairs in train and those of test rows."""
    pairs = [f"{row}.{row % 7}{end}" for row in range(50) for end in "01"]
    pool = _column(pairs, [f"{row}.95" for row in range(50)])
    near = NearestNeighbour(pool, SplitRule(kind="group", by="twins", columns=("x",)))
    assert near.fit_radius() == 1.0
    assert near.train_distances.max() < near.radius < near.test_distances.min()
    far = np.quantile(near.test_distances, 0.05)
    assert near.radius == pytest.approx(np.sqrt(near.train_distances.max() * far))


@pytest.mark.parametrize(("months", "within"), [(2, False), (3, True)])
def test_time_order_is_examined_within_three_periods(months: int, *, within: bool) -> None:
    """Rows are ordered within calendar periods, or groups, of which train has three."""
    days = [f"2020-{month:02d}-{day:02d}" for month in range(1, months + 1) for day in range(1, 21)]
    found = time_candidates(_column(days, days), [])
    assert any(each.rule.within == "month" for each in found) == within


@pytest.mark.parametrize(("test", "count", "found"), [(0.46, 1, 0), (0.44, 1, 1), (0.1, 13, 12)])
def test_twelve_relations_are_stored(test: float, count: int, found: int) -> None:
    """Stored are at most twelve relations in which test rows are no random rows, by five points."""
    pool = _column([f"g{row // 2}" for row in range(40)], _rows(40))
    shares = [RelationShares(SameGroup(pool, _GROUPS), train=0.5, test=test) for _ in range(count)]
    quality = assess_split(pool, Comparison(shares, None), SplitRule(kind="random"), np.arange(4))
    assert len(quality.shares) == found


@pytest.mark.parametrize(("length", "width"), [(2, None), (3, 1)])
def test_ids_of_prefixes_have_three_characters(length: int, width: int | None) -> None:
    """Shorter ids have no width."""
    ids = [f"{first}{last}" + "x" * (length - 2) for first in ascii_letters for last in ascii_letters]
    parts = [[cell for cell in ids if (ord(cell[0]) * 7 % 10 < 3) == side] for side in (False, True)]
    assert separating_width(_column(*parts), "x") == width


@pytest.mark.parametrize(("length", "candidates"), [(200, 1), (201, 0)])
def test_ids_of_series_have_200_characters_at_most(length: int, candidates: int) -> None:
    """Longer text names no series."""
    ids = [f"{'s' * (length - 3)}{row:03d}" for row in range(100)]
    assert len(list(Series.candidates(_column(ids, ids)))) == candidates


@pytest.mark.parametrize(
    ("names", "far", "candidates"),
    [("lat lon", 0.42, 1), ("lat lon", 0.38, 0), ("p q", 0.62, 1), ("p q", 0.58, 0)],
)
def test_places_of_test_rows_are_far_from_train(names: str, far: float, candidates: int) -> None:
    """Two columns are a place if 40 % of test rows are far away, or 60 % by the values alone."""
    across, down = np.divmod(np.arange(400), 20)
    train = np.column_stack([across + 0.01 * down, down + 0.01 * across])
    test = train[::2] + np.where(np.arange(200) < far * 200, 100.0, 0.0)[:, None]
    parts = [
        dict(zip(names.split(), each.astype(str).T.tolist(), strict=True)) for each in (train, test)
    ]
    assert len(list(Blocks.candidates(_pool(*parts)))) == candidates


@pytest.mark.parametrize(
    ("pairs", "largest", "near", "gap", "candidates"),
    [
        (42, 2, 0, 1e-5, 1),
        (38, 2, 0, 1e-5, 0),
        (50, 2, 20, 1e-5, 0),
        (42, 20, 0, 1e-5, 1),
        (42, 21, 0, 1e-5, 0),
        (42, 2, 0, 0.07, 1),
        (42, 2, 0, 0.12, 0),
    ],
    ids=["a fifth", "fewer", "some of test", "a large one", "too large", "near", "too far"],
)
def test_nearly_equal_rows(pairs: int, largest: int, near: int, gap: float, candidates: int) -> None:
    """They are a fifth more of train than of test, no 5 % are one group, and others are far away."""
    across, down = np.divmod(np.arange(400), 20)
    single = np.column_stack([across + 0.01 * down, down + 0.01 * across])
    copies = np.arange(1, pairs)
    more = np.zeros(largest - 1, dtype=int)
    copied = single[np.concatenate([copies, more])] + gap
    train = np.concatenate([single[: 400 - len(copied)], copied])
    test = single[:200] + 0.5
    test[:near] = single[200 : 200 + near] + gap
    parts = [dict(zip("pq", each.astype(str).T.tolist(), strict=True)) for each in (train, test)]
    found = [each for each in Duplicates.candidates(_pool(*parts)) if each.rule.sizes]
    assert len(found) == candidates


@pytest.mark.parametrize(("left", "folds"), [(2, 3), (1, 2)])
def test_folds_by_several_groupings_have_a_quarter_of_the_rows(left: int, folds: int) -> None:
    """Folds end where fewer rows than a quarter of the requested number are left."""
    codes = np.repeat([0, 1, 2], [8, 8, left])
    assert len(list(crossed_folds([codes, codes], 8))) == folds

"""Small competitions whose test rows were set apart in a known way, with much else that may mislead.

Each has decoys of the other kinds: dates, groups, composite ids, places and repeated rows that have
nothing to do with the way in which the test rows were chosen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from pandas.api.types import is_numeric_dtype

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import SplitRule
from comind.splits.quality import SplitQuality, assess_split
from comind.splits.rule import Rule
from comind.splits.split_plan import Compared, SplitPlan, compare_tables, plan_split

__all__ = ["PLANTED", "Judged", "PlantedWorld", "judge", "planted_world"]

Rng = np.random.Generator
_SUBMISSION = "sample_submission.csv"
_TORN = 0.02


@dataclass(frozen=True)
class PlantedWorld:
    """A competition, how its test rows were set apart, and what belonged together."""

    kind: str
    table: pd.DataFrame
    """All rows, with `id` and `target`."""
    test: "pd.Series[bool]"
    groups: "pd.DataFrame | None"
    """What was never parted, a column for each grouping that set the test rows apart."""
    fits: Callable[[SplitRule], bool]
    """Whether a rule is of the right kind."""

    def build(self, root: Path) -> Path:
        """Write the competition's folder; it names no split."""
        public = root / "planted" / "public"
        public.mkdir(parents=True)
        self.table[~self.test].to_csv(public / "train.csv", index=False)
        test = self.table[self.test].drop(columns="target")
        test.to_csv(public / "test.csv", index=False)
        test[["id"]].assign(target=self.table["target"].iloc[0]).to_csv(
            public / _SUBMISSION, index=False
        )
        (public / "description.md").write_text("# Planted\n")
        classes = not is_numeric_dtype(self.table["target"])
        described = {
            "id": "planted",
            "title": "Planted",
            "metric": "accuracy" if classes else "rmse",
            "id_columns": ["id"],
            "label_columns": ["target"],
            "target_columns": ["target"],
        }
        (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))
        return public.parent

    def torn(self, rows: Sequence[int], excluded: Sequence[int] = ()) -> float:
        """Return the share of these rows of train that left others of one of their groups behind."""
        if self.groups is None:
            return 0.0
        groups = self.groups[~self.test].reset_index(drop=True)
        kept = groups.drop(index=[*rows, *excluded])
        return float(max(groups[name].iloc[rows].isin(kept[name]).mean() for name in groups))

    def wrong_rules(self) -> Iterator[SplitRule]:
        """Yield rules that part the rows by what the test rows were not set apart by."""
        if self.kind.startswith("random"):
            return
        yield SplitRule(kind="random")
        if "shop" in self.table:
            yield SplitRule(kind="group", column="shop")
        if "joined" in self.table:
            yield SplitRule(kind="time", column="joined")


@dataclass(frozen=True)
class Judged:
    """What became of a world."""

    rule: SplitRule
    reason: str
    right: bool
    confidence: float | None
    warnings: tuple[str, ...]
    """What was said of the rule that was found; it should be nothing."""
    wrong: int
    """How many wrong rules were tried."""
    warned: int
    """Of how many of these was warned."""


def judge(world: PlantedWorld, root: Path) -> Judged:
    """Split a world below `root` as it asks for, then in wrong ways."""
    plan = plan_split(CompetitionData.read(load_competition(world.build(root))), seed=0)
    compared = compare_tables(plan.data)
    tried = (_tried(world, plan, compared, other) for other in world.wrong_rules())
    wrong = [each for each in tried if each]
    return Judged(
        rule=plan.rule,
        reason=plan.reason,
        right=world.fits(plan.rule) and world.torn(plan.rows, plan.excluded) <= _TORN,
        confidence=plan.quality.confidence,
        warnings=plan.quality.warnings,
        wrong=len(wrong),
        warned=sum(bool(each.warnings) for each in wrong),
    )


def _tried(
    world: PlantedWorld, plan: SplitPlan, compared: Compared, rule: SplitRule
) -> SplitQuality | None:
    """Return how a split by a wrong rule stands; None where it keeps together what belongs together."""
    rows = Rule.of(rule).choose(plan.data.train, plan.seed).rows
    harmless = world.groups is not None and world.torn(rows) <= _TORN
    return None if harmless else assess_split(compared.pool, compared.comparison, rule, np.array(rows))


def planted_world(kind: str, seed: int) -> PlantedWorld:
    """Return a world of a kind; the same one for the same seed.

    Raises:
        KeyError: there is no such kind.
    """
    make = PLANTED[kind]
    rng = np.random.default_rng([seed, *kind.encode()])
    return make(kind, rng)


def _world(
    kind: str,
    rng: Rng,
    columns: dict[str, Any],
    test: Any,
    fits: Callable[[SplitRule], bool],
    *,
    groups: Any = None,
    ids: Any = None,
) -> PlantedWorld:
    """Add decoys, other inputs, ids and a target to the columns that matter, and shuffle the rows."""
    rows = len(test)
    found = _decoys(rng, rows, set(columns)) | _inputs(rng, rows, groups) | columns
    names = rng.permutation(sorted(found))
    signal = sum(np.asarray(value, float) for name, value in found.items() if name.startswith("m_"))
    noisy = signal + rng.normal(size=rows)
    target = np.where(noisy > np.median(noisy), "yes", "no") if _happens(rng, 0.5) else noisy.round(3)
    table = pd.DataFrame({name: found[name] for name in names})
    table.insert(0, "id", np.arange(rows) if ids is None else ids)
    table["target"] = target
    order = rng.permutation(rows)
    if ids is None and _happens(rng, 0.5):  # numbered train first, as is usual
        order = np.concatenate([order[~np.asarray(test)[order]], order[np.asarray(test)[order]]])
        table["id"] = np.argsort(order)
    table = table.iloc[order].reset_index(drop=True)
    apart = pd.Series(np.asarray(test)[order])
    kept = None if groups is None else pd.DataFrame(np.asarray(groups)[order])
    return PlantedWorld(kind, table, apart, kept, fits)


def _happens(rng: Rng, share: float) -> bool:
    """Return true in so many worlds."""
    return bool(rng.random() < share)


def _inputs(rng: Rng, rows: int, groups: Any) -> dict[str, Any]:
    """Return measurements, counts and classes; what groups rows has a part in the former."""
    found: dict[str, Any] = {}
    for number in range(rng.integers(2, 7)):
        values = rng.normal(size=rows)
        if groups is not None and _happens(rng, 0.7):
            of_groups = 2 * rng.normal(size=int(np.max(groups)) + 1)[groups]
            values = values + (of_groups if of_groups.ndim == 1 else of_groups.sum(axis=1))
        found[f"m_{number}"] = values.round(int(rng.integers(2, 6)))
    for number in range(rng.integers(1, 4)):
        found[f"count_{number}"] = rng.poisson(rng.uniform(1, 20), rows)
    for number in range(rng.integers(1, 4)):
        found[f"class_{number}"] = rng.choice(list("abcdefgh")[: rng.integers(2, 9)], rows)
    if _happens(rng, 0.3):  # cells are missing
        name = f"m_{rng.integers(0, 2)}"
        found[f"gappy_{name}"] = np.where(rng.uniform(0, 5, rows) < 1, np.nan, found[name])
    return found


def _decoys(rng: Rng, rows: int, taken: set[str]) -> dict[str, Any]:
    """Return columns that look as if they could have set rows apart, and did not."""
    found: dict[str, Any] = {}
    if _happens(rng, 0.5):
        days = rng.integers(0, 900, rows)
        found["joined"] = (pd.Timestamp("2019-03-01") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d")
    if _happens(rng, 0.5):
        found["shop"] = [f"shop {number}" for number in rng.integers(0, rng.integers(5, 60), rows)]
    if _happens(rng, 0.5):
        found["code"] = [f"c{a}-{b:03d}" for a, b in rng.integers(0, 40, (rows, 2))]
    if _happens(rng, 0.3):
        seconds = pd.to_timedelta(rng.integers(0, 30_000_000, rows), "s")
        seen = (pd.Timestamp("2018-05-01") + seconds).strftime("%Y-%m-%d %H:%M:%S")
        found["last_seen"] = np.where(rng.uniform(0, 1, rows) < rng.uniform(0.0, 0.2), "", seen)
    if _happens(rng, 0.3) and not taken & {"lat", "lon"}:
        found["home_lat"], found["home_lon"] = (
            rng.uniform(40, 42, rows).round(4),
            rng.uniform(5, 9, rows).round(4),
        )
    return found


def _time(kind: str, rng: Rng) -> PlantedWorld:
    """Test comes after train: dates, times, seconds since 1970, numbered days or weeks, years."""
    rows = int(rng.integers(400, 3000))
    days = np.sort(rng.uniform(0, rng.integers(200, 900), rows))
    name, values = _as_time(rng, days)
    cut = np.quantile(days, rng.uniform(0.65, 0.85))
    test = pd.Series(values) > pd.Series(values)[days <= cut].max() if _whole(values) else days > cut

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "time" and rule.column == name and rule.within is None

    return _world(kind, rng, {name: values}, np.asarray(test), fits)


def _whole(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "iu"


def _as_time(rng: Rng, days: Any) -> tuple[str, Any]:
    """Return a name and cells for times."""
    begin = pd.Timestamp("2016-01-04") + pd.Timedelta(days=int(rng.integers(0, 900)))
    times = begin + pd.to_timedelta(days, "D")
    match rng.integers(0, 6):
        case 0:
            return "date", times.strftime("%Y-%m-%d")
        case 1:
            return "pickup_datetime", times.strftime("%Y-%m-%d %H:%M:%S")
        case 2:
            return "Timestamp", times.strftime("%m/%d/%Y %H:%M")
        case 3:
            return "created", (times.astype("datetime64[s]").astype(np.int64)).to_numpy()
        case 4:
            return "week", (days // 7).astype(int)
        case _:
            return "day_num", days.astype(int) + 1


def _month(kind: str, rng: Rng) -> PlantedWorld:
    """Test has the last days of every month."""
    rows = int(rng.integers(800, 4000))
    begin = pd.Timestamp("2017-01-01")
    times = begin + pd.to_timedelta(rng.uniform(0, 30 * rng.integers(8, 30), rows), "D")
    form = ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M"][rng.integers(0, 3)]
    test = times.day > rng.integers(15, 24)

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "time" and rule.column == "when" and rule.within == "month"

    return _world(kind, rng, {"when": times.strftime(form)}, test, fits)


def _last(kind: str, rng: Rng) -> PlantedWorld:
    """Test has the last rows of every customer."""
    count = int(rng.integers(40, 150))
    who = np.repeat(np.arange(count), rng.integers(6, 25, count))
    day = rng.uniform(0, 700, len(who)) + 40 * rng.normal(size=count)[who]
    place = pd.Series(day).groupby(who).rank(method="first", ascending=False)
    times = pd.Timestamp("2018-06-01") + pd.to_timedelta(day, "D")
    columns = {
        "customer": [f"k{number:04d}" for number in who],
        "ordered": times.strftime("%Y-%m-%d %H:%M"),
    }

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "time" and rule.column == "ordered" and rule.within == "customer"

    return _world(kind, rng, columns, place <= rng.integers(1, 4), fits)


def _members(rng: Rng, groups: tuple[int, int], size: tuple[int, int]) -> tuple[Any, Any]:
    """Return the group of each row, and whether it is a test row; no group has both."""
    count = int(rng.integers(*groups))
    member = np.repeat(np.arange(count), rng.integers(*size, count))
    test = rng.permutation(count) < count * rng.uniform(0.2, 0.35)
    return member, test[member]


def _ids(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other patients, which only a part of the composite id names."""
    member, test = _members(rng, (25, 150), (8, 30))
    names, number = (
        rng.permutation(900)[: member.max() + 1] + 100,
        pd.Series(member).groupby(member).cumcount(),
    )
    site = rng.integers(0, 4, len(names))
    form = rng.integers(0, 5)
    ids = [
        [
            f"p{names[who]}_s{scan}",
            f"{'ABCD'[site[who]]}-{names[who]}-{scan:03d}",
            f"{scan}_{names[who]}",
            f"scans/{names[who]}/{scan}.png",
            f"P{names[who]}V{scan}",
        ][form]
        for who, scan in zip(member, number, strict=True)
    ]

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "group" and rule.by == "parts" and rule.column == "id"

    return _world(kind, rng, {}, test, fits, groups=member, ids=ids)


def _prefixes(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other patients, in hexadecimal digits before the last separator of an id or path."""
    member, test = _members(rng, (25, 150), (8, 30))
    count = int(member.max()) + 1
    names = [bytes(rng.integers(0, 256, 4, dtype=np.uint8)).hex() for _ in range(count)]
    number = pd.Series(member).groupby(member).cumcount()
    form = rng.integers(0, 3)
    if form == 0:  # several rows are of one image
        number = number // 2
    cells = [
        [
            f"img/{names[who]}-{scan}.png",
            f"{names[who]}_{scan}",
            f"{names[who][:4]}-{names[who]}:{scan}",
        ][form]
        for who, scan in zip(member, number, strict=True)
    ]

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "group" and rule.by in ("prefix", "parts")

    columns, ids = ({"path": cells}, None) if form == 0 else ({}, cells)
    return _world(kind, rng, columns, test, fits, groups=member, ids=ids)


def _column(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other speakers, which a column names."""
    member, test = _members(rng, (12, 120), (8, 40))
    names = rng.permutation(5000)[: member.max() + 1]
    column = names[member] if _happens(rng, 0.5) else [f"s{names[who]}" for who in member]

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "group" and rule.column == "speaker"

    return _world(kind, rng, {"speaker": column}, test, fits, groups=member)


def _panel(kind: str, rng: Rng) -> PlantedWorld:
    """Test has the last periods of each city, or of all, which only the id names beside the city."""
    cities, days = int(rng.integers(8, 40)), int(rng.integers(60, 150))
    names = [
        f"{first}{last}" for first in ("Oslo", "New York ", "Bern/", "Rio") for last in "abcdefghij"
    ]
    city, day = (each.ravel() for each in np.indices((cities, days)))
    begins = rng.integers(0, 300, cities) if kind.startswith("last") else np.zeros(cities, int)
    lasts = days - rng.integers(10, 20, cities if kind.startswith("last") else 1)
    times = pd.Timestamp("2016-01-04") + pd.to_timedelta(day + begins[city], "D")
    form = ["%Y-%m-%d", "%Y%m%d", "%Y_%m_%d", "d"][rng.integers(0, 4 if kind.startswith("last") else 3)]
    when = [f"d{number}" for number in day] if form == "d" else times.strftime(form)
    shown = [[names[a], b] for a, b in zip(city, when, strict=True)]
    mark, dates_first = ["_", "-", ":"][rng.integers(0, 3)], form != "d" and _happens(rng, 0.3)
    ids = [mark.join(reversed(each) if dates_first else each) for each in shown]
    test = day >= np.broadcast_to(lasts, cities)[city]
    within = "id" if kind.startswith("last") else None

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "time" and rule.column == "id" and rule.within == within

    return _world(kind, rng, {}, test, fits, ids=ids)


def _fixed_width(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other patients, in the first characters of ids without separators."""
    member, test = _members(rng, (30, 150), (8, 30))
    count, number = int(member.max()) + 1, pd.Series(member).groupby(member).cumcount()
    match rng.integers(0, 3):
        case 0:
            letters = rng.permutation(26**3)[:count]
            ids = [
                f"{chr(65 + a // 676)}{chr(65 + a // 26 % 26)}{chr(65 + a % 26)}{b:04d}"
                for a, b in zip(letters[member], number, strict=True)
            ]
        case 1:
            named = rng.permutation(9000)[:count] + 1000
            ids = [f"{a}{b:03d}" for a, b in zip(named[member], number, strict=True)]
        case _:
            codes = [bytes(rng.integers(0, 256, 3, dtype=np.uint8)).hex() for _ in range(count)]
            ids = [f"{codes[a]}{b:02x}" for a, b in zip(member, number, strict=True)]

    def fits(rule: SplitRule) -> bool:
        return rule.kind == "group" and rule.column == "id" and rule.by in ("prefix", "series")

    return _world(kind, rng, {}, test, fits, groups=member, ids=ids)


def _crossed(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other users and other items than train; no row has one of each."""
    users, items = int(rng.integers(60, 250)), int(rng.integers(30, 120))
    rows = int(rng.integers(3000, 8000))
    user, item = rng.integers(0, users, rows), rng.integers(0, items, rows)
    of_test = [rng.permutation(count) < count * rng.uniform(0.25, 0.4) for count in (users, items)]
    sides = of_test[0][user], of_test[1][item]
    whole = sides[0] == sides[1]
    user, item, test = user[whole], item[whole], sides[0][whole]
    pairs = [f"u{a}_i{b}_{row}" for row, (a, b) in enumerate(zip(user, item, strict=True))]
    in_ids = kind == "crossed groups in ids"
    columns = {} if in_ids else {"user": [f"u{number}" for number in user], "item": item}

    def fits(rule: SplitRule) -> bool:
        named = {each.column if each.by is None else each.parts for each in rule.groupings}
        return rule.kind == "group" and named == ({(1,), (2,)} if in_ids else {"user", "item"})

    groups = np.column_stack([user, item])
    return _world(kind, rng, columns, test, fits, groups=groups, ids=pairs if in_ids else None)


def _places(kind: str, rng: Rng) -> PlantedWorld:
    """Test has whole blocks of the plane."""
    rows = int(rng.integers(1200, 5000))
    plane = rng.uniform(0, 1, (rows, 2))
    if _happens(rng, 0.5):  # denser in some parts
        centres = rng.uniform(0.15, 0.85, (6, 2))
        dense = centres[rng.integers(0, 6, rows)] + 0.12 * rng.normal(size=(rows, 2))
        plane = np.clip(np.where(rng.uniform(0, 2, (rows, 1)) < 1, dense, plane), 0, 1 - 1e-9)
    sides = int(rng.integers(5, 10))
    block = (plane * sides).astype(int) @ np.array([1, sides])
    test = (rng.permutation(sides**2) < sides**2 * rng.uniform(0.2, 0.35))[block]
    names = [
        ("lat", "lon"),
        ("x", "y"),
        ("Latitude", "Longitude"),
        ("easting", "northing"),
        ("p1", "p2"),
    ]
    axes = names[rng.integers(0, len(names))]
    scale = rng.uniform(0.5, 40, 2)
    columns = {
        axes[0]: (plane[:, 0] * scale[0]).round(5),
        axes[1]: (plane[:, 1] * scale[1] - 7).round(5),
    }

    def fits(rule: SplitRule) -> bool:
        return rule.by == "place" and set(rule.columns) == set(axes)

    return _world(kind, rng, columns, test, fits)


def _twins(kind: str, rng: Rng) -> PlantedWorld:
    """Test has other objects than train; of each there are several rows, the same or nearly so."""
    member, test = _members(rng, (150, 700), (2, 6))
    world = _world(kind, rng, {}, test, lambda rule: rule.kind == "group", groups=member)
    wobble = 0.0 if _happens(rng, 0.5) else 10 ** rng.uniform(-4, -2.5)
    groups = world.groups
    assert groups is not None
    first = world.table.groupby(groups[0].to_numpy()).transform("first")
    table = world.table.copy()
    for name in table.columns.drop(["id", "target"]):
        table[name] = first[name]
        if name.startswith("m_") and wobble:
            table[name] = (first[name] + wobble * rng.normal(size=len(table))).round(7)
    return PlantedWorld(kind, table, world.test, groups, world.fits)


def _random(kind: str, rng: Rng) -> PlantedWorld:
    """Test was drawn at random, whatever dates, groups, places and twins there are."""
    others = _OF_RANDOM.get(kind) or [make for name, make in PLANTED.items() if name in _MISLEADING]
    world = others[rng.integers(0, len(others))](kind, rng)
    share = rng.uniform(0.2, 0.4)
    test = pd.Series(rng.random(len(world.table)) < share)
    return PlantedWorld(
        kind, world.table, test, None, lambda rule: rule.kind in ("random", "stratified")
    )


_OF_RANDOM = {
    "random with prefixes": [_prefixes],
    "random with crossed groups": [_crossed],
    "random with ids of series": [_panel],
    "random with ids of fixed width": [_fixed_width],
}
"""What makes the columns of worlds of a random test set, by their kind, beside those of `random`."""

_MISLEADING = (
    "time tail",
    "days of month",
    "last of each group",
    "groups in ids",
    "groups in a column",
    "spatial blocks",
    "twins",
)
"""Kinds whose columns are also in worlds of a random test set."""

PLANTED: dict[str, Callable[[str, Rng], PlantedWorld]] = {
    "time tail": _time,
    "days of month": _month,
    "last of each group": _last,
    "groups in ids": _ids,
    "groups in a column": _column,
    "spatial blocks": _places,
    "twins": _twins,
    "random": _random,
    "groups in prefixes": _prefixes,
    "random with prefixes": _random,
    "crossed groups": _crossed,
    "crossed groups in ids": _crossed,
    "random with crossed groups": _random,
    "last of each group in ids": _panel,
    "time tail in ids": _panel,
    "groups of fixed width": _fixed_width,
    "random with ids of series": _random,
    "random with ids of fixed width": _random,
}
"""What makes the worlds of each kind, by its name."""

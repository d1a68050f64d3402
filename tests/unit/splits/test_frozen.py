"""Splits are the same on every machine: keys and rows are compared with recorded ones."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.competition import SplitRule
from comind.splits.rule import Rule
from comind.splits.split_files import make_split
from comind.splits.split_plan import key_parts, split_keys
from tests.unit.competitions.folders import competition_folder, write

_TABLE = pd.DataFrame(
    {
        "class": ["rare" if row % 10 == 0 else "often" for row in range(40)],
        "group": [f"g{row % 7}" for row in range(40)],
        "when": [f"2024-01-{1 + row % 20:02d} 12:30" for row in range(40)],
    }
)

_ROWS: dict[str, tuple[SplitRule, list[list[int]]]] = {
    "random": (
        SplitRule(kind="random", fraction=0.2),
        [[7, 15, 18, 20, 25, 33, 36, 37], [7, 27, 29, 30, 33, 35, 38, 39]],
    ),
    "stratified": (
        SplitRule(kind="stratified", column="class", fraction=0.2),
        [[7, 15, 18, 20, 25, 33, 36, 37], [7, 27, 29, 30, 33, 35, 38, 39]],
    ),
    "group": (
        SplitRule(kind="group", column="group"),
        [[0, 1, 7, 8, 14, 15, 21, 22, 28, 29, 35, 36], [2, 4, 9, 11, 16, 18, 23, 25, 30, 32, 37, 39]],
    ),
    "group by date": (
        SplitRule(kind="group", column="when", by="date", fraction=0.2),
        [[3, 13, 18, 19, 23, 33, 38, 39], [1, 4, 14, 18, 21, 24, 34, 38]],
    ),
    "time": (
        SplitRule(kind="time", column="when"),
        [[15, 16, 17, 18, 19, 35, 36, 37, 38, 39], [15, 16, 17, 18, 19, 35, 36, 37, 38, 39]],
    ),
    "time by horizon": (
        SplitRule(kind="time", column="when", horizon_days=2),
        [[18, 19, 38, 39], [18, 19, 38, 39]],
    ),
}


@pytest.mark.parametrize("name", _ROWS)
def test_the_rows_are_the_same_everywhere(name: str) -> None:
    """Held-out rows depend on rule, seed and table alone."""
    rule, expected = _ROWS[name]
    assert [Rule.of(rule).choose(_TABLE, seed).rows for seed in (0, 1)] == expected


@pytest.mark.parametrize(
    ("seed", "key", "sealed"),
    [(0, "small-dc8aabdcd3c0", "bd38b243db6a"), (1, "small-a0e7af23b92d", "80cbe6d3c8f8")],
)
def test_the_split_is_the_same_everywhere(tmp_path: Path, seed: int, key: str, sealed: str) -> None:
    """The same competition and seed give the same key and the same sealed bytes."""
    folder = competition_folder(tmp_path)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=seed).read()
    assert (split.key, split.sealed_sha256[:12]) == (key, sealed)


def test_a_split_of_before_labels_were_sealed_by_value_is_not_used(tmp_path: Path) -> None:
    """Where there are side files, the key is not the one under which a leaking split may lie."""
    folder = competition_folder(tmp_path)
    rows = [f"{row},{'yes' if row % 4 == 0 else 'no'}" for row in range(40)]
    write(folder, "more.csv", ["id,label", *rows])
    data = CompetitionData.read(load_competition(folder))
    parts = key_parts(data, 0)
    assert parts[-2:] == ["seal", 2]
    for twins in ([], ["near-duplicates", 1]):
        former = json.dumps([*parts[:-2], *twins]).encode()
        assert f"small-{hashlib.sha256(former).hexdigest()[:12]}" not in split_keys(data, 0)

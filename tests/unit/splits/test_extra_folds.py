"""Further folds of a split: other rows by the same rule, sealed and reproducible."""

import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.competition import SplitRule
from comind.errors import CompetitionError
from comind.splits.extra_folds import count_folds, make_fold
from comind.splits.rule import Rule
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_tree
from tests.examples import examples
from tests.unit.splits.worlds import World, read, worlds

pytestmark = pytest.mark.slow

_MOST = 9
_KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from comind.splits.extra_folds import LABELLED, make_fold
from comind.splits.split_folder import SplitFolder
from comind.system.temporary_folders import temporary_folder

split = SplitFolder(Path(sys.argv[1]))
if sys.argv[2] == "public":
    with temporary_folder(split.further, LABELLED) as place:
        shutil.copytree(split.full, place / "public")
        os.kill(os.getpid(), signal.SIGKILL)
os.environ["COMIND_KILL_AT"] = "split-staged"
make_fold(split, 1)
"""


def _rows(folder: SplitFolder, world: World, name: str) -> list[int]:
    row_of = {world.id(row): row for row in range(world.rows)}
    return [row_of[cells[0]] for cells in read(folder.public / name)[1:]]


@pytest.mark.parametrize("kind", ["random", "stratified", "group", "time"])
@given(data=st.data())
@examples(5)
def test_folds_hold_back_other_rows_and_seal_them(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Folds are disjoint, public files have no withheld values, and the rule holds."""
    world = data.draw(worlds(kind))
    root = tmp_path_factory.mktemp("world")
    world.build(root)
    split = world.split(root, seed=0)
    before = {part: hash_tree(part) for part in (split.public, split.sealed)}
    count = count_folds(split, _MOST)
    taken = set(_rows(split, world, "validation.csv"))
    for number in range(1, count.folds + 1):
        fold = make_fold(split, number)
        assert fold.root.name == f"{split.root.name}-fold-{number}"
        kept, held_out = (_rows(fold, world, name) for name in ("train.csv", "validation.csv"))
        assert not taken & {*held_out}
        assert not {*kept} & {*held_out}
        taken |= {*held_out}
        _check_sealed(fold, world, kept)
        if kind == "time":
            assert max(world.zones[row] for row in kept) < min(world.zones[row] for row in held_out)
        else:
            assert len(kept) + len(held_out) == world.rows
        if kind == "group":
            assert not {world.zones[row] for row in kept} & {world.zones[row] for row in held_out}
        described = fold.read()
        assert (described.train_rows, described.validation_rows) == (len(kept), len(held_out))
    assert (count.reason == "") == (count.folds == _MOST)
    if count.reason:
        with pytest.raises(CompetitionError, match="fold"):
            make_fold(split, count.folds + 1)
    assert before == {part: hash_tree(part) for part in before}, "the split's own files were touched"
    shutil.rmtree(root)


def _check_sealed(fold: SplitFolder, world: World, kept: list[int]) -> None:
    """Check that the public part has withheld values of training rows alone."""
    public = [path.read_bytes() for path in fold.public.rglob("*") if path.is_file()]
    for row in {*range(world.rows)} - {*kept}:
        for marker in world.markers(row).values():
            assert not any(marker.encode() in content for content in public)
    assert stat.S_IMODE(fold.sealed.stat().st_mode) == 0o700
    truth = [
        [world.id(row), world.markers(row)["label"]] for row in _rows(fold, world, "validation.csv")
    ]
    assert read(fold.answers) == [["id", "label"], *truth]


def test_a_fold_is_made_again_byte_by_byte(tmp_path: Path) -> None:
    """A copy of a split makes folds of the same bytes; an existing fold is not written again."""
    world = World(
        kind="stratified",
        rows=40,
        zones=tuple(row % 2 for row in range(40)),
        texts=("",) * 40,
        numbered=True,
        renamed=False,
        derived=(),
    )
    world.build(tmp_path)
    split = world.split(tmp_path, seed=0)
    shutil.copytree(split.root, tmp_path / "elsewhere" / split.root.name)
    there = SplitFolder(tmp_path / "elsewhere" / split.root.name)
    made = [make_fold(each, 2) for each in (split, there)]
    assert made[0].read() == made[1].read()
    assert hash_tree(made[0].root) == hash_tree(made[1].root)
    changed = made[0].metadata.stat().st_mtime_ns
    assert make_fold(split, 2).metadata.stat().st_mtime_ns == changed
    assert (split.root / "further" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("labelled", ["public", "made"])
def test_what_a_killed_process_left_of_a_fold_goes_with_the_next(tmp_path: Path, labelled: str) -> None:
    """After a kill while making a fold, no labels remain once it is made again."""
    world = World("random", 40, tuple(range(40)), ("",) * 40, numbered=True, renamed=False, derived=())
    world.build(tmp_path)
    split = world.split(tmp_path, seed=0)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(split.root), labelled], check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    further = split.root / "further"
    assert list(further.rglob("train.csv")), "it was killed too early"
    made = make_fold(split, 1)
    assert {path.name for path in further.iterdir() if path.is_dir()} == {made.root.name}


def test_rows_that_another_rule_chose_have_no_folds(tmp_path: Path) -> None:
    """There are no folds if the rule does not reproduce the split's own validation rows."""
    world = World("random", 40, tuple(range(40)), ("",) * 40, numbered=True, renamed=False, derived=())
    world.build(tmp_path)
    split = world.split(tmp_path, seed=0)
    described = split.read().model_copy(update={"seed": 1})
    split.metadata.write_text(described.model_dump_json())
    assert count_folds(split, 3) == (0, "the split was made by an earlier version of its rule")


def test_a_time_fold_is_the_stretch_before() -> None:
    """A time fold has the split's horizon, and later rows are excluded."""
    table = pd.DataFrame({"t": [f"2024-01-{day:02d}" for day in range(1, 31)]}, dtype=str)
    rule = SplitRule(kind="time", column="t", horizon_days=3)
    assert Rule.of(rule).choose(table, 0, 0) == ([27, 28, 29], [])
    assert Rule.of(rule).choose(table, 0, 2) == ([21, 22, 23], [24, 25, 26, 27, 28, 29])


def test_tails_of_other_groups_come_first() -> None:
    """If the split holds out the last rows of some groups, a fold takes those of others."""
    who = [f"w{row // 4}" for row in range(400)]
    table = pd.DataFrame({"who": who, "t": [str(row % 4) for row in range(400)]}, dtype=str)
    rule = SplitRule(kind="time", column="t", within="who", horizon_days=3)
    first = Rule.of(rule).choose(table, 0).rows
    second, left_out = Rule.of(rule).choose(table, 0, 1)
    assert left_out == []
    assert not {who[row] for row in first} & {who[row] for row in second}
    assert len(second) == len(first)

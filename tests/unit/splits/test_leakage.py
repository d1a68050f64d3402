"""A split divides the rows and leaks no held-out value, for generated competitions of each kind."""

import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.splits.split_folder import SplitFolder
from tests.examples import examples
from tests.unit.splits.worlds import World, read, worlds

pytestmark = pytest.mark.slow

KINDS = ("random", "stratified", "group", "time")


def _rows(folder: SplitFolder, world: World) -> tuple[list[int], list[int]]:
    """Return the training rows and the validation rows."""
    row_of = {world.id(row): row for row in range(world.rows)}
    kept = [row_of[cells[0]] for cells in read(folder.public / "train.csv")[1:]]
    held_out = [row_of[cells[0]] for cells in read(folder.public / "validation.csv")[1:]]
    return kept, held_out


def _check_parts(folder: SplitFolder, world: World) -> None:
    """Check that the parts are disjoint, cover all rows, and have unchanged cells."""
    kept, held_out = _rows(folder, world)
    assert sorted(kept + held_out) == list(range(world.rows))
    split = folder.read()
    assert (split.train_rows, split.validation_rows) == (len(kept), len(held_out))
    assert read(folder.public / "train.csv")[1:] == [world.train_row(row) for row in kept]
    inputs = [world.train_row(row)[:3] for row in held_out]
    assert read(folder.public / "validation.csv") == [["id", "zone", "text"], *inputs]
    truth = [[world.id(row), world.markers(row)["label"]] for row in held_out]
    assert read(folder.answers) == [["id", "label"], *truth]
    sample = [[world.id(row), "?"] for row in held_out]
    assert read(folder.validation_sample) == [["id", "label"], *sample]


def _check_sealed(folder: SplitFolder, world: World) -> None:
    """Check that no public file contains a withheld value, and none is a link."""
    kept, held_out = _rows(folder, world)
    public = {path: path.read_bytes() for path in folder.public.rglob("*") if path.is_file()}
    for row in held_out:
        for marker in world.markers(row).values():
            shown = [path.name for path, data in public.items() if marker.encode() in data]
            assert not shown, f"{marker} is in {shown}"
    side = public[folder.public / "more" / "again.csv"]
    assert all(world.markers(row)["label"].encode() in side for row in kept)
    for path in [folder.public, *folder.public.rglob("*")]:
        facts = path.lstat()
        assert stat.S_ISDIR(facts.st_mode) or (stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1)
    assert stat.S_IMODE(folder.sealed.stat().st_mode) == 0o700


def _check_rule(folder: SplitFolder, world: World) -> None:
    """Check that the split follows its rule."""
    kept, held_out = ([world.zones[row] for row in part] for part in _rows(folder, world))
    if world.kind == "stratified":
        for zone in set(held_out):
            assert zone in kept, "a class without a row to learn from"
    if world.kind == "group":
        assert not set(kept) & set(held_out), "a group was parted"
        assert len(read(folder.groups)) == len(held_out) + 1
        groups = [cells[0] for cells in read(folder.groups)[1:]]
        assert len(set(zip(groups, held_out, strict=True))) == len(set(held_out))
    else:
        assert not folder.groups.exists()
    if world.kind == "time":
        assert max(kept) < min(held_out), "a row of the past was held back"


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seed=st.sampled_from([0, 1]))
@examples(12)
def test_a_split_seals_what_it_holds_back(
    kind: str, data: st.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Parts are disjoint and complete, public files have no withheld values, and the rule holds."""
    world = data.draw(worlds(kind))
    root = tmp_path_factory.mktemp("world")
    before = _contents(world.build(root))
    folder = world.split(root, seed)
    _check_parts(folder, world)
    _check_sealed(folder, world)
    _check_rule(folder, world)
    assert _contents(root / "competition") == before, "the competition's own files were touched"
    for path in folder.full.rglob("*.csv"):
        whole = root / "competition" / "public" / path.relative_to(folder.full)
        assert path.read_bytes() == whole.read_bytes()
    shutil.rmtree(root)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@examples(4)
def test_a_split_is_the_same_when_made_again(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same folder and seed give the same key and the same bytes."""
    world = data.draw(worlds(kind))
    roots = [tmp_path_factory.mktemp("world") for _ in range(2)]
    splits = []
    for root in roots:
        world.build(root)
        splits.append(world.split(root, seed=1))
    assert splits[0].root.name == splits[1].root.name
    assert _contents(splits[0].root) == _contents(splits[1].root)
    for root in roots:
        shutil.rmtree(root)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }

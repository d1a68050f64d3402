"""The rows of a refit: nearly all labelled ones, and none in two tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.splits.refit_rows import write_refit_rows
from tests.examples import examples
from tests.unit.splits.worlds import read, worlds


@pytest.mark.parametrize("kind", ["random", "stratified", "group", "time"])
@given(data=st.data())
@examples(5)
def test_no_row_of_a_refit_stands_in_two_tables(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A few validation rows stay, in whole groups; the others join train.csv. With time all join it."""
    world = data.draw(worlds(kind))
    root = tmp_path_factory.mktemp("world")
    world.build(root)
    split = world.split(root, seed=0)
    write_refit_rows(split, root / "refit")
    row_of = {world.id(row): row for row in range(world.rows)}

    def rows(name: str) -> list[int]:
        return [row_of[cells[0]] for cells in read(root / "refit" / name)[1:]]

    before = read(split.public / "validation.csv")[1:]
    train, validation = rows("train.csv"), rows("validation.csv")
    assert rows("sample_validation_submission.csv") == validation
    assert read(root / "refit" / "test.csv") == read(split.public / "test.csv")
    assert {*train} | {*validation} == {*range(world.rows)}
    assert len({*train}) == len(train)
    if len(train) == world.rows:  # the rule is of time, or one group is too large
        assert kind in {"time", "group"}
        assert len(validation) == len(before)
        return
    assert kind != "time"
    assert not {*train} & {*validation}
    assert 0 < len(validation) <= len(before) // 2
    if kind == "group":
        assert not {world.zones[row] for row in train} & {world.zones[row] for row in validation}

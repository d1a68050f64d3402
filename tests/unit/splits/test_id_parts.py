"""Parts of ids are found by Arrow as they are by Python."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from comind.splits.groupings.id_parts import IdParts, _joined
from tests.examples import examples


@given(
    ids=st.lists(st.text("aZb019_-./ é٣\n\x1f$\\", max_size=12), min_size=1, max_size=20),
    parts=st.lists(st.integers(1, 11), min_size=1, max_size=4),
)
@examples(200)
def test_both_ways_find_the_same_parts(ids: list[str], parts: list[int]) -> None:
    """Whatever the ids are, names are the runs of letters and digits at these positions, joined."""
    for cells in (ids, [cell.encode("ascii", "ignore").decode() for cell in ids]):
        column = pd.Series(cells, dtype=str, name="id")
        grouping = IdParts(column="id", parts=tuple(parts))
        assert grouping.names(column.to_frame()).tolist() == _joined(column, grouping.parts).tolist()

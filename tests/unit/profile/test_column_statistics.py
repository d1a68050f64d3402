"""On generated tables, statistics equal those of pandas, and the text stays within its budget."""

import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from comind.llm.tokens import count_tokens
from comind.profile.column_statistics import _QUANTILES, compute_statistics
from comind.profile.duckdb_tables import Database
from tests.examples import examples
from tests.unit.profile.public import facts, write_parts

_NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda x: round(x, 6))
_WHOLE = st.integers(-(2**40), 2**40)
_WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=30
).filter(lambda word: word.strip() == word and not word.startswith("﻿"))
_COLUMN = st.one_of(
    *(st.lists(st.none() | each, min_size=12, max_size=12) for each in (_NUMBERS, _WHOLE, _WORDS))
)


def _written(columns: dict[str, list[object]], path: Path) -> pd.DataFrame:
    """Write a table and read it with pandas."""
    pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
    return pd.read_csv(path)


@examples(25)
@given(st.lists(_COLUMN, min_size=1, max_size=4))
def test_columns_are_counted_as_by_pandas(columns: list[list[object]]) -> None:
    """Rows, missing cells, distinct values, range, quantiles and the mode agree with pandas."""
    with tempfile.TemporaryDirectory() as folder, closing(Database(Path(folder))) as database:
        path = Path(folder) / "side.csv"
        table = _written(
            {"row": [*range(12)], **{f"column {chr(97 + at)}": c for at, c in enumerate(columns)}}, path
        )
        for found in compute_statistics(database, database.load(path)):
            expected = table[found.name]
            assert (found.rows, found.missing) == (len(expected), int(expected.isna().sum()))
            values = expected.dropna()
            if not len(values):
                continue
            if found.type.is_number:
                assert (found.low, found.high) == (values.min(), values.max())
                quantiles = np.quantile(values.astype(float), _QUANTILES, method="inverted_cdf")
                assert found.quantiles == tuple(quantiles)
            elif not pd.api.types.is_numeric_dtype(values):
                assert found.distinct == values.nunique()
                assert found.first == values.iloc[0]
            if found.exact:
                assert found.max_rows == values.value_counts().max()


@examples(8)
@given(st.lists(_COLUMN, min_size=1, max_size=5), st.integers(300, 4_000))
def test_the_text_keeps_to_its_tokens(columns: list[list[object]], tokens: int) -> None:
    """For any table, the text is within its budget and deterministic."""
    train = {"id": [*range(12)], **{f"column {at}x": c for at, c in enumerate(columns)}, "y": [0, 1] * 6}
    with tempfile.TemporaryDirectory() as folder:
        public = write_parts(Path(folder), train=pd.DataFrame(train, dtype=object))
        text = facts(public, tokens=tokens)
        assert count_tokens(text) <= tokens
        assert "train.csv: 12 rows" in text
        assert facts(public, tokens=tokens) == text


@examples(10)
@given(st.data())
def test_overlaps_are_those_of_sets(data: st.DataObject) -> None:
    """The share of test rows whose group occurs in train equals that of a set of the groups."""
    groups = st.sampled_from([f"group-{name}" for name in "abcdefghij"])
    ours = data.draw(st.lists(groups, min_size=20, max_size=40))
    theirs = data.draw(st.lists(groups, min_size=1, max_size=40))
    found = sum(each in set(ours) for each in theirs) / len(theirs)
    train = {"id": range(len(ours)), "who": ours, "y": [0, *([1] * (len(ours) - 1))]}
    with tempfile.TemporaryDirectory() as folder:
        text = facts(
            write_parts(Path(folder), train=train, test={"id": range(len(theirs)), "who": theirs})
        )
    if found == 1:
        assert "All their values stand in train: who" in text
    elif found < 0.95:
        shown = f"{100 * found:.0f}" if found >= 0.1 or not found else f"{100 * found:.1f}"
        assert f"who: test {shown} %" in text

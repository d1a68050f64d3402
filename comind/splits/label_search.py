"""Search a table of any source for columns whose values reproduce labels of train.csv.

Rows are joined to train by a key (the id columns, or any other column that has such values), by equal
values in the columns that both have, or by their order; names do not matter. A column that test rows
have as often as train rows is a feature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.splits.label_agreement import Cells, read_cells, reproduces
from comind.tables.mapped_table import take_rows

Codes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
HeldOut = Callable[[pd.DataFrame], Mask]

_LOOKED_AT = 20_000  # rows of a table, until a label is found
_COMPARED = 4_000  # joined rows
_LEAST_JOINED = 3  # different rows of train
_MOST_JOINS = 6
_LEAST_VALUES = 5  # of a column that may be a key
_SAME_VALUES = 0.98  # of a column, to be taken for one of train
_MOST_EQUAL = 8  # columns whose values are compared together
_MOST_CELLS = 5_000_000  # of train.csv that are compared whatever their columns are called
_MOST_COLUMNS, _LAST_COLUMNS = 400, 20
_MOST_PAIRS = 4_000  # columns and labels that are compared in one join
_AS_OFTEN = 0.5
_SAME_IDS = 0.5
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MARKS = r"\s,;:|/\\=_"
_FIRST = rf"[{_MARKS}]+|(?<=[^{_MARKS}])-"  # a sign is no separator
_LAST = rf"^(.*[^{_MARKS}])(?:[{_MARKS}]+|-)(-?[^{_MARKS}\-]*)$"
_PARTS = 0.5  # of the cells have a separator


class Found(NamedTuple):
    """A column that reproduces a label."""

    column: str
    """Of the table; a part of its cells has its name and, after a null character, that of the part."""
    label: str
    held_out: HeldOut
    """Returns which rows of the table, or of a part of it, belong to held-out rows."""
    of_test: bool
    """Whether test rows have such values, too."""
    by_order: bool
    """Whether rows are joined by their order, so that the table has to be whole."""


class _Join(NamedTuple):
    """The row of train that each row of a table belongs to, and whether one belongs to a test row."""

    columns: tuple[str, ...]
    """Of the table; none if rows are joined by their order."""
    train: Positions
    """-1 for none."""
    test: Mask
    held_out: HeldOut
    matched: int = 0
    """The number of different rows of train."""


class LabelSearch:
    """Compares tables with the labels of train.csv."""

    def __init__(
        self,
        train: pd.DataFrame,
        test: pd.DataFrame,
        *,
        ids: Sequence[str],
        labels: Sequence[str],
        gone: Mask,
    ) -> None:
        """Search for `labels`, columns that test rows lack, of the rows that are `gone` from train.

        Both tables have text cells, and the same names of columns.
        """
        self._train, self._test, self._labels, self._gone = train, test, labels, gone
        self._shown = [*ids, *(name for name in test.columns if name not in ids)]
        self._ids = [name for name in ids if name in train.columns and name in test.columns]
        self._shown = [name for name in self._shown if name in train.columns]
        self._cells: dict[tuple[str, str], Cells] = {}
        self._orders: dict[tuple[str, tuple[str, ...]], tuple[Codes, Positions]] = {}

    def find(self, table: pd.DataFrame, *, ordered: bool) -> Found | None:
        """Return a column of a table of text that reproduces a label; one that test rows lack, if any.

        `ordered` says that the table is whole, so that its rows may be those of train in their order.
        """
        names = table.columns
        if len(names) > _MOST_COLUMNS:  # labels come first or last
            names = names[[*range(_MOST_COLUMNS - _LAST_COLUMNS), *range(-_LAST_COLUMNS, 0)]]
        if len(table) < _LEAST_JOINED or not len(names):
            return None
        step = -(-len(table) // _LOOKED_AT)
        rows = np.arange(0, len(table), step)
        own = _with_parts(table[names].iloc[rows])
        cells = {name: read_cells(own[name]) for name in own.columns}
        cells = {name: each for name, each in cells.items() if (each.codes != each.codes[0]).any()}
        joins = [join for join in self._joins(cells) if join.matched >= _LEAST_JOINED]
        joins = sorted(joins, key=lambda join: -join.matched)[:_MOST_JOINS]
        if ordered and (join := self._by_order(len(table), rows)) is not None:
            joins.append(join)
        found = None
        for join in joins:
            whole = {_whole(name) for name in join.columns if name == _whole(name)}
            others = [name for name in cells if not {name, _whole(name)} & {*whole, *join.columns}]
            for column, label, of_test in self._reproducing(join, cells, others):
                hit = Found(column, label, join.held_out, of_test, not join.columns)
                if not of_test:
                    return hit
                found = found or hit
        return found

    def shown_parts(self) -> Iterator[tuple[str, str]]:
        """Yield the input columns of train whose cells have labels in a part, and those parts.

        Such a part is `cat` of `cat/7.png`; where test rows have such parts, too, it is a feature.
        """
        rows = np.arange(0, len(self._train), -(-len(self._train) // _LOOKED_AT) or 1)
        labels = take_rows(self._train[list(self._labels)], rows) if self._shown else self._train[[]]
        truths = [read_cells(labels[label]) for label in labels]
        for name in self._shown:
            own = _with_parts(take_rows(self._train[[name]], rows))
            test = _with_parts(self._test[[name]].head(_LOOKED_AT), always=True)
            for part in own.columns[1:]:
                cells = read_cells(own[part])
                asked = np.isin(read_cells(test[part]).codes, cells.codes)
                if len(asked) and asked.mean() >= _AS_OFTEN:
                    continue
                some = slice(0, _COMPARED)
                tests = 4 * len(self._shown)
                if any(reproduces(cells.take(some), truth.take(some), tests) for truth in truths):
                    yield name, part
                    break

    def _reproducing(
        self, join: _Join, cells: Mapping[str, Cells], others: Sequence[str]
    ) -> Iterator[tuple[str, str, bool]]:
        """Yield the columns that reproduce a label, the label, and whether test rows have them, too.

        Of several rows of the table for one of train, the first are compared, and then the last.
        """
        count = len(join.train)
        train, first = np.unique(join.train, return_index=True)
        last = count - 1 - np.unique(join.train[::-1], return_index=True)[1]
        labels = self._labels[: max(1, _MOST_PAIRS // max(1, len(others)))]
        tests = max(1, 2 * len(others) * len(labels))
        for own in (first,) if (first == last).all() else (first, last):
            rows = own[train >= 0]
            held = rows[self._gone[join.train[rows]]]
            for label in labels:
                truth = self._of("train", label).take(join.train[rows])
                some = _balanced(truth)
                for name in others:
                    if not cells[name].filled[held].any():
                        continue
                    named = name.casefold() == label.casefold()
                    if reproduces(cells[name].take(rows[some]), truth.take(some), tests, named=named):
                        yield name, label, self._is_of_test(join, cells[name])

    def _is_of_test(self, join: _Join, values: Cells) -> bool:
        """Return whether test rows have different values of a column, as often as train rows."""
        if len(self._test) == 0 or (join.columns and self._have_same_ids):
            return False
        asked = join.test & values.filled
        if len(np.unique(values.codes[asked])) < 2:  # noqa: PLR2004 - one value is a placeholder
            return False
        known = (join.train >= 0) & values.filled
        return bool(asked.sum() / len(self._test) >= _AS_OFTEN * known.sum() / len(self._train))

    @cached_property
    def _have_same_ids(self) -> bool:
        """Whether test rows have ids of train rows, which say nothing of whose a row is."""
        if not self._ids or len(self._test) == 0:
            return False
        train, test = (
            _joined([self._of(part, name).codes for name in self._ids]) for part in ("train", "test")
        )
        return bool(np.isin(test, train).mean() >= _SAME_IDS)

    def _of(self, part: str, name: str) -> Cells:
        if (part, name) not in self._cells:
            table = self._train if part == "train" else self._test
            self._cells[part, name] = read_cells(table[name])
        return self._cells[part, name]

    @cached_property
    def _known(self) -> list[str]:
        """The columns whose values are looked for whatever they are called; ids come first."""
        most = max(len(self._ids), _MOST_CELLS // max(1, len(self._train)))
        return [
            name
            for name in self._shown[:most]
            if len(np.unique(self._of("train", name).codes)) >= _LEAST_VALUES
        ]

    def _joins(self, cells: Mapping[str, Cells]) -> Iterator[_Join]:
        """Yield the ways to join the rows of a table to those of train by their values."""
        for key in self._known:
            for name in cells:
                yield self._by_columns((name,), (key,), cells)
        pairs = self._alike(cells)
        for some in ({n: k for n, k in pairs.items() if k in self._ids}, pairs):
            if len(some) > 1:
                yield self._by_columns(tuple(some), tuple(some.values()), cells)

    def _ordered(self, part: str, keys: tuple[str, ...]) -> tuple[Codes, Positions]:
        """Return the codes of some columns of train or test together, and their order."""
        if (part, keys) not in self._orders:
            codes = _joined([self._of(part, key).codes for key in keys])
            self._orders[part, keys] = codes, np.argsort(codes, kind="stable")
        return self._orders[part, keys]

    def _by_columns(
        self, names: tuple[str, ...], keys: tuple[str, ...], cells: Mapping[str, Cells]
    ) -> _Join:
        """Join rows by equal cells in some columns; to the first row of train that has them."""
        train, order = self._ordered("train", keys)
        tested, tests = self._ordered("test", keys)
        own = _joined([cells[name].codes for name in names])
        place = order[np.searchsorted(train, own, sorter=order).clip(max=len(train) - 1)]
        found = np.where(train[place] == own, place, -1)
        test = np.zeros(len(own), dtype=np.bool_)
        if len(tested):
            same = np.searchsorted(tested, own, sorter=tests).clip(max=len(tested) - 1)
            test = tested[tests[same]] == own
        wanted = train[self._gone]

        def held_out(table: pd.DataFrame) -> Mask:
            parts = table
            if any(name != _whole(name) for name in names):
                parts = _with_parts(table[list({_whole(name): None for name in names})], always=True)
            return np.isin(_joined([read_cells(parts[name]).codes for name in names]), wanted)

        matched = len(np.unique(found)) - bool((found < 0).any())
        return _Join(names, found, test, held_out, matched)

    def _by_order(self, count: int, rows: Positions) -> _Join | None:
        """Join rows by their order, if they are as many as those of train, or of train and test."""
        known, asked = len(self._train), len(self._test)
        if count - known not in (0, 1, asked, asked + 1):
            return None
        first = 1 if count - known in (1, asked + 1) else 0  # after a header
        place = rows - first
        found = np.where((place >= 0) & (place < known), place, -1)

        def held_out(table: pd.DataFrame) -> Mask:
            mask = np.zeros(len(table), dtype=np.bool_)
            mask[first : first + known] = self._gone
            return mask

        return _Join((), found, place >= known, held_out, known)

    def _alike(self, cells: Mapping[str, Cells]) -> dict[str, str]:
        """Return the column of train that each column of a table equals, by its name or its values."""
        pairs = {name: name for name in cells if name in self._shown}
        for name in cells:
            values = np.unique(cells[name].codes)
            if name in pairs or name != _whole(name) or len(values) < _LEAST_VALUES:
                continue
            for key in self._known:
                if key not in pairs.values() and (
                    np.isin(values, self._of("train", key).codes).mean() >= _SAME_VALUES
                ):
                    pairs[name] = key
                    break
        varied = sorted(pairs, key=lambda name: -len(np.unique(cells[name].codes)))
        return {name: pairs[name] for name in varied[:_MOST_EQUAL]}


def _balanced(truth: Cells) -> Positions:
    """Return the positions of some rows, those of rare labels among them."""
    if len(truth.codes) <= _COMPARED:
        return np.arange(len(truth.codes))
    place = pd.Series(truth.codes).groupby(truth.codes).cumcount().to_numpy()
    return np.sort(np.argsort(place, kind="stable")[:_COMPARED])


def _joined(columns: Sequence[Codes]) -> Codes:
    """Return one code for the cells of several columns."""
    codes = columns[0]
    for column in columns[1:]:
        codes = codes * _PRIME + column
    return codes


def _with_parts(table: pd.DataFrame, *, always: bool = False) -> pd.DataFrame:
    """Add the parts of cells with separators, such as `7_cat`: the first, the last, and the rests."""
    own = table.astype(str).set_axis([str(name) for name in table.columns], axis="columns")
    own = own.loc[:, ~own.columns.duplicated()].reset_index(drop=True)
    made: dict[str, pd.Series] = {}
    for name in own.columns:
        cells = own[name].str.strip()
        if not always and cells.str.contains(_FIRST, regex=True).mean() <= _PARTS:
            continue
        first = cells.str.split(_FIRST, n=1, regex=True)
        last = _filled(cells.str.extract(_LAST))
        made |= {
            f"{name}\0first": _filled(first.str[0]),
            f"{name}\0after": _filled(first.str[1]),
            f"{name}\0before": last[0],
            f"{name}\0last": last[1],
        }
    parted: pd.DataFrame = own.assign(**made)
    return parted


def cells_of(table: pd.DataFrame, column: str) -> pd.Series:
    """Return a column, or the parts of its cells, by the name that `Found` has."""
    return _with_parts(table[[_whole(column)]], always=True)[column]


def _filled(cells: Any) -> Any:
    """Return cells with empty text for missing ones."""
    return cells.astype(object).where(cells.notna(), "")


def _whole(name: str) -> str:
    """Return the column that a part is of."""
    return name.partition("\0")[0]

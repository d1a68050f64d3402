"""Validate submissions, pair their rows with the answers, and transform values, as the mode requires."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from comind.errors import SubmissionError
from comind.metrics.parsing import parse_labels
from comind.mlebench.catalog import BenchmarkCompetition, Difference, ImageSize, Mode, ScoredRows
from comind.tables.csv_tables import check_row_keys, reject_columns, row_keys

_TOLERANCE = 1e-6 + 1e-5  # numpy.isclose(sum, 1, atol=1e-6): its relative tolerance is added
_PLACES = 5
_HALF = 0.5
_PAIRED_BY_POSITION = (Difference.IN_ORDER, Difference.AS_ORDERED, Difference.SORTED_NOT_MATCHED)

_Pair = tuple[pd.DataFrame, pd.DataFrame]
"""(truth, submission): the same number of rows, compared by position. The index of the submission is
the position of each row in its file."""


class GradingRules:
    """The rules by which a submission is graded."""

    def __init__(self, entry: BenchmarkCompetition, targets: list[str], mode: Mode) -> None:
        """Collect the rules for a competition, its scored columns, and a mode."""
        self.entry = entry
        self.ids = list(entry.ids)
        self.targets = targets
        self.mode = mode
        self.differences = set(entry.mlebench) if mode is Mode.MLEBENCH else set()
        """Deviations from the competition's stated rules."""

    def pair_rows(self, truth: pd.DataFrame, table: pd.DataFrame) -> _Pair:
        """Return the scored rows of truth and submission, paired by position.

        In mode `kaggle`, a submission must have exactly the expected columns and ids, each id once, in
        any order.

        Raises:
            SubmissionError: columns or ids are invalid.
        """
        table = self._select_columns(table)
        whole = _scored_rows(self.entry, truth)
        if Difference.ROWS_OF_MASK in self.differences:
            return self._pair_masked_rows(truth, table)
        pairing = next((how for how in _PAIRED_BY_POSITION if how in self.differences), None)
        if pairing is not None:
            truth, table = self._pair_by_position(truth, table, pairing)
        else:
            truth, table = self._pair_by_key(truth, table)
        scored = whole.loc[truth.index].to_numpy()
        if not scored.any():
            raise SubmissionError("none of its rows is scored")
        return truth[scored], table[scored]

    def _select_columns(self, table: pd.DataFrame) -> pd.DataFrame:
        """Validate the columns of the submission, and select its ids and targets."""
        entry, targets, differences = self.entry, self.targets, self.differences
        expected = [*entry.ids, *targets, *entry.unscored]
        found = [str(name) for name in table.columns]
        kaggle = self.mode is Mode.KAGGLE
        strict = kaggle or Difference.SAME_COLUMNS in differences
        needed = expected if kaggle or len(entry.unscored) > 1 else [*entry.ids, *targets]
        if set(needed) - set(found) or (strict and set(found) - set(expected)):
            reject_columns(found, expected)
        if Difference.ID_FIRST in differences and found[0] != entry.ids[0]:
            raise SubmissionError(f"the column {entry.ids[0]!r} is not the first")
        if Difference.COLUMNS_AS_ORDERED in differences and found != expected:
            raise SubmissionError(
                "the columns are not in the order of the answers",
                hint=f"expected {', '.join(expected[:30])}",
            )
        if Difference.COLUMNS_IN_ORDER in differences:
            renamed = dict(zip((n for n in found if n not in entry.ids), targets, strict=False))
            table = table.rename(columns=renamed)
        return table[[*entry.ids, *targets]].reset_index(drop=True)

    def _pair_by_key(self, truth: pd.DataFrame, table: pd.DataFrame) -> _Pair:
        expected, found = _keys(truth, table, self.ids, as_numbers=bool(self.differences))
        if Difference.MORE_ROWS in self.differences:
            table = table[found.isin(expected)]
            found = found[found.isin(expected)]
        if Difference.SOME_ROWS in self.differences:
            truth = truth[expected.isin(found)]
            expected = expected[expected.isin(found)]
        check_row_keys(found, expected, " and ".join(self.ids))
        return truth, table.iloc[found.get_indexer(expected)]

    def _pair_by_position(self, truth: pd.DataFrame, table: pd.DataFrame, how: Difference) -> _Pair:
        if len(truth) != len(table):
            raise SubmissionError(f"has {len(table)} rows, expected {len(truth)}")
        if how is Difference.SORTED_NOT_MATCHED:
            first = self.ids[0]
            truth, table = _sorted(truth, first), _sorted(table, first)
            if len(self.ids) > 1 and (truth[first].to_numpy() != table[first].to_numpy()).any():
                raise SubmissionError(f"does not have the expected number of rows of each {first}")
        if (
            how is Difference.AS_ORDERED
            and (row_keys(truth, self.ids).to_numpy() != row_keys(table, self.ids).to_numpy()).any()
        ):
            raise SubmissionError("its rows are not in the order of the answers")
        return truth, table

    def _pair_masked_rows(self, truth: pd.DataFrame, table: pd.DataFrame) -> _Pair:
        """Sort both sides by id, and select the rows at the positions that the truth scores."""
        check_row_keys(row_keys(table, self.ids), row_keys(truth, self.ids), " and ".join(self.ids))
        scored = _scored_rows(self.entry, truth)
        sides = [_sorted(side, self.ids[0]) for side in (truth, table)]
        true, guess = (side[scored.loc[side.index].to_numpy()] for side in sides)
        return true, guess

    def check_text(self, truth: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
        """Validate and transform the text of a submission before the metric parses it.

        Raises:
            SubmissionError: a cell is blank, or the runs of a mask are unsorted, where that is an error.
        """
        for rule in (rule for each, rule in _TEXT_RULES.items() if each in self.differences):
            table = table.assign(**{name: rule(truth, table[name]) for name in self.targets})
        return table

    def check_values(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> pd.DataFrame:
        """Validate and transform parsed predictions before they are scored.

        Raises:
            SubmissionError: a value is out of range.
        """
        for rule in (rule for each, rule in _VALUE_RULES.items() if each in self.differences):
            prediction = rule(prediction)
        if self.entry.image_size is None:
            return prediction
        sizes, cut = (
            _pixel_counts(self.entry.image_size, truth),
            Difference.CUT_RUNS in self.differences,
        )
        return prediction.apply(_clip_masks, sizes=sizes, cut=cut)


def _sorted_runs(_truth: pd.DataFrame, cells: "pd.Series[str]") -> "pd.Series[str]":
    for cell in cells:
        starts = [float(word) for word in cell.split()[::2] if word.isdigit()]
        if starts != sorted(starts):
            raise SubmissionError(f"column {cells.name!r}: the runs of a mask are not sorted")
    return cells


def _no_blanks(_truth: pd.DataFrame, cells: "pd.Series[str]") -> "pd.Series[str]":
    if blank := int((cells.str.strip() == "").sum()):
        raise SubmissionError(f"column {cells.name!r}: an empty cell in {blank} rows")
    return cells


def _blank_is_nan(_truth: pd.DataFrame, cells: "pd.Series[str]") -> "pd.Series[str]":
    return cells.mask(cells.str.strip() == "", "nan")


def _known_labels(truth: pd.DataFrame, cells: "pd.Series[str]") -> "pd.Series[str]":
    known = {label for cell in truth[cells.name] for label in cell.split()}
    return cells.map(lambda cell: " ".join(label for label in cell.split() if label in known))


def _within(prediction: pd.DataFrame, low: float, high: float) -> pd.DataFrame:
    for name in prediction.columns:
        outside = (prediction[name] < low) | (prediction[name] > high)
        if outside.any():
            raise SubmissionError(
                f"column {name!r}: a number outside {low}..{high} in {int(outside.sum())} of "
                f"{len(outside)} rows, for instance {prediction[name][outside].iloc[0]:g}"
            )
    return prediction


def _sums_to_1(prediction: pd.DataFrame) -> pd.DataFrame:
    sums = _within(prediction, 0, 1).sum(axis=1)
    return _reject_sums(prediction, np.abs(sums - 1) > _TOLERANCE)


def _sums_to_1_to_5_places(prediction: pd.DataFrame) -> pd.DataFrame:
    return _reject_sums(prediction, prediction.sum(axis=1).round(_PLACES) != 1)


def _reject_sums(prediction: pd.DataFrame, wrong: "pd.Series") -> pd.DataFrame:
    if wrong.any():
        raise SubmissionError(
            f"the probabilities do not add up to 1 in {int(wrong.sum())} of {len(wrong)} rows"
        )
    return prediction


_TEXT_RULES: dict[Difference, Callable[[pd.DataFrame, "pd.Series[str]"], "pd.Series[str]"]] = {
    Difference.SORTED_RUNS: _sorted_runs,
    Difference.NO_BLANKS: _no_blanks,
    Difference.BLANK_IS_NAN: _blank_is_nan,
    Difference.KNOWN_LABELS: _known_labels,
}
"""(truth, cells of a target) -> cells as the grader takes them."""
_VALUE_RULES: dict[Difference, Callable[[pd.DataFrame], pd.DataFrame]] = {
    Difference.WITHIN_0_1: partial(_within, low=0, high=1),
    Difference.WITHIN_1_100: partial(_within, low=1, high=100),
    Difference.SUMS_TO_1: _sums_to_1,
    Difference.SUMS_TO_1_TO_5_PLACES: _sums_to_1_to_5_places,
    Difference.HALVED: lambda prediction: (prediction >= _HALF).astype(float),
}
"""Parsed predictions as the grader takes them."""


def _keys(
    truth: pd.DataFrame, table: pd.DataFrame, ids: list[str], *, as_numbers: bool
) -> tuple[pd.Index, pd.Index]:
    """Return one key per row for both; if the answers have duplicate ids, these are numbered."""
    keys = [row_keys(side, ids) for side in (truth, table)]
    if as_numbers and len(ids) == 1:
        values = [pd.to_numeric(pd.Series(key), errors="coerce") for key in keys]
        if all(value.notna().all() for value in values):
            keys = [
                pd.Index(value.map(lambda v: f"{v:g}" if v % 1 else str(int(v)))) for value in values
            ]
    if keys[0].has_duplicates:
        keys = [_number_duplicates(each) for each in keys]
    return keys[0], keys[1]


def _number_duplicates(keys: pd.Index) -> pd.Index:
    numbers = pd.Series(keys).groupby(keys).cumcount() + 1
    return pd.Index([f"{key} ({number})" for key, number in zip(keys, numbers, strict=True)])


def _sorted(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort the table by one column, numerically if all its cells are numbers."""
    values = pd.to_numeric(table[column], errors="coerce")
    key = values if values.notna().all() else table[column]
    return table.loc[key.sort_values(kind="stable").index]


def _scored_rows(entry: BenchmarkCompetition, truth: pd.DataFrame) -> "pd.Series":
    rule = entry.scored_rows
    if rule is None:
        return pd.Series(data=True, index=truth.index)
    if rule.last is not None:
        return _last_rows(rule, truth, entry.ids[0])
    cells = truth[rule.column]
    same = (parse_labels(cells.mask(cells.str.strip() == "", "-"))) == rule.value
    return ~same if rule.unless else same


def _last_rows(rule: ScoredRows, truth: pd.DataFrame, name: str) -> "pd.Series":
    known = truth[truth[rule.known].str.strip() != ""] if rule.known else truth
    numbers = known[name].str.rsplit("_", n=1).str[-1].astype(int)
    last = known.loc[numbers.sort_values(kind="stable").index].groupby(rule.column).tail(rule.last or 1)
    return pd.Series(truth.index.isin(last.index), index=truth.index)


def _pixel_counts(image: ImageSize, truth: pd.DataFrame) -> np.ndarray:
    sides = (
        np.full(len(truth), float(side)) if isinstance(side, int) else truth[side].astype(float)
        for side in (image.height, image.width)
    )
    height, width = (np.asarray(side) for side in sides)
    return np.asarray(height * width).astype(int)


def _clip_masks(masks: "pd.Series", sizes: np.ndarray, *, cut: bool) -> "pd.Series":
    """Clip masks to their images, or with `cut=False` reject runs that end outside."""
    cells = []
    for runs, size in zip(masks, sizes, strict=True):
        ends = runs.sum(axis=1) - 1
        if (ends > size).any() and not cut:
            raise SubmissionError(
                f"column {masks.name!r}: a run ends at pixel {int(ends.max())} of an image of {size}"
            )
        kept = runs[runs[:, 0] <= size]
        lengths = np.minimum(kept[:, 1], size - kept[:, 0] + 1)
        cells.append(np.stack([kept[:, 0], lengths], axis=1))
    return pd.Series(cells, index=masks.index, name=masks.name, dtype=object)

"""What is done to the values of a submission, or refused, before the metric sees them."""

import numpy as np
import pandas as pd

from comind.errors import SubmissionError
from comind.evaluation.benchmark.catalog import Difference, GradingRules, ImageSize

__all__ = ["check_text", "check_values"]

_TOLERANCE = 1e-6 + 1e-5  # numpy.isclose(sum, 1, atol=1e-6): its relative tolerance is added
_PLACES = 5
_HALF = 0.5


def check_text(rules: GradingRules, answers: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the submission's cells as the metric's parser is to read them.

    Raises:
        SubmissionError: a mask is not in the order that is asked for.
    """
    differences, targets = rules.differences, rules.targets
    if Difference.SORTED_RUNS in differences:
        for name in targets:
            _refuse_unsorted(table[name])
    for name in targets:
        blank = table[name].str.strip() == ""
        if Difference.NO_BLANKS in differences and blank.any():
            raise SubmissionError(f"column {name!r}: an empty cell in {int(blank.sum())} rows")
        if Difference.BLANK_IS_NAN in differences:
            table = table.assign(**{name: table[name].mask(blank, "nan")})
    if Difference.KNOWN_LABELS in differences:
        table = table.copy()
        for name in targets:
            known = {label for cell in answers[name] for label in cell.split()}
            table[name] = table[name].map(
                lambda c, known=known: " ".join(x for x in c.split() if x in known)
            )
    return table


def check_values(rules: GradingRules, answers: pd.DataFrame, prediction: pd.DataFrame) -> pd.DataFrame:
    """Return the parsed predictions as the metric is to see them.

    Raises:
        SubmissionError: a value is outside what is allowed.
    """
    differences, picture = rules.differences, rules.entry.picture
    if Difference.WITHIN_0_1 in differences or Difference.SUMS_TO_1 in differences:
        _refuse_outside(prediction, 0, 1)
    if Difference.WITHIN_1_100 in differences:
        _refuse_outside(prediction, 1, 100)
    if Difference.SUMS_TO_1 in differences:
        _refuse_sums(np.abs(prediction.sum(axis=1) - 1) > _TOLERANCE)
    if Difference.SUMS_TO_1_TO_5_PLACES in differences:
        _refuse_sums(prediction.sum(axis=1).round(_PLACES) != 1)
    if Difference.HALVED in differences:
        prediction = (prediction >= _HALF).astype(float)
    if picture is not None:
        sizes, cut = _sizes(picture, answers), Difference.CUT_RUNS in differences
        cells = {name: _within(prediction[name], sizes, cut=cut) for name in prediction.columns}
        prediction = pd.DataFrame(cells)
    return prediction


def _refuse_outside(prediction: pd.DataFrame, low: float, high: float) -> None:
    for name in prediction.columns:
        outside = (prediction[name] < low) | (prediction[name] > high)
        if outside.any():
            raise SubmissionError(
                f"column {name!r}: a number outside {low}..{high} in {int(outside.sum())} of "
                f"{len(outside)} rows, for instance {prediction[name][outside].iloc[0]:g}"
            )


def _refuse_sums(wrong: "pd.Series") -> None:
    if wrong.any():
        raise SubmissionError(
            f"the probabilities do not add up to 1 in {int(wrong.sum())} of {len(wrong)} rows"
        )


def _refuse_unsorted(column: "pd.Series[str]") -> None:
    for cell in column:
        starts = [float(word) for word in cell.split()[::2] if word.isdigit()]
        if starts != sorted(starts):
            raise SubmissionError(f"column {column.name!r}: the runs of a mask are not sorted")


def _sizes(picture: ImageSize, answers: pd.DataFrame) -> np.ndarray:
    """Return how many pixels the picture of each row has."""
    sides = (
        np.full(len(answers), float(side)) if isinstance(side, int) else answers[side].astype(float)
        for side in (picture.height, picture.width)
    )
    height, width = (np.asarray(side) for side in sides)
    return np.asarray(height * width).astype(int)


def _within(masks: "pd.Series", sizes: np.ndarray, *, cut: bool) -> "pd.Series":
    """Return masks whose runs end inside their pictures, cut there or refused where they do not."""
    cells = []
    for runs, size in zip(masks, sizes, strict=True):
        ends = runs.sum(axis=1) - 1
        if (ends > size).any() and not cut:
            raise SubmissionError(
                f"column {masks.name!r}: a run ends at pixel {int(ends.max())} of a picture of {size}"
            )
        kept = runs[runs[:, 0] <= size]
        lengths = np.minimum(kept[:, 1], size - kept[:, 0] + 1)
        cells.append(np.stack([kept[:, 0], lengths], axis=1))
    return pd.Series(cells, index=masks.index, name=masks.name, dtype=object)

"""What the rows of a competition are: read off the data, as nobody's word for it is trusted."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from comind.domain.problem import AnswerKind, DataShape
from comind.evaluation.splits.answer_files import PIXEL, image_of_pixel
from comind.evaluation.splits.split_folder import Split

__all__ = ["PICTURES", "SOUNDS", "shape_of"]

SOUNDS = (".wav", ".flac", ".ogg", ".aif", ".aiff", ".mp3")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_ROWS_READ = 2_000
_MOST = 0.5  # a shape shows in more than half of the rows
_MEASURED = 5  # with so many numbers a row the pictures beside them are where the numbers came from
_SPACES_IN_TEXT, _SPACES_IN_LONG_TEXT = 3, 12
_FEW_OTHERS = 2


def shape_of(public: Path, split: Split) -> DataShape:
    """Return what the rows in a split's public folder are.

    Side files that belong to rows come first, then the order of time, then long texts.
    """
    rows = pd.read_csv(public / "test.csv", nrows=_ROWS_READ)
    features = rows.drop(columns=list(split.id_columns), errors="ignore")
    keys = rows.select_dtypes(exclude="float").astype(str)  # no file is called 0.25
    if _named(keys, _names(public, SOUNDS)):
        return DataShape.AUDIO
    pictures = _names(public, PICTURES)
    if _pixel_rows(keys, pictures):
        return DataShape.PIXELS
    if _named(keys, pictures) and features.select_dtypes("number").shape[1] < _MEASURED:
        return DataShape.IMAGES
    if split.answer_kind is AnswerKind.TEXT:
        return DataShape.TEXT_TO_TEXT
    if split.answer_kind is AnswerKind.NUMBER and _is_forecast(rows, split):
        return DataShape.PANEL
    return DataShape.TEXT if _is_text(features) else DataShape.TABLE


def _is_forecast(rows: pd.DataFrame, split: Split) -> bool:
    """Whether test rows come after all others, by dates; not in between, nor by plain numbers."""
    rule = split.rule
    if rule.kind != "time" or rule.within is not None:
        return False
    return rule.column not in rows.columns or not is_numeric_dtype(rows[rule.column])


def _names(public: Path, endings: tuple[str, ...]) -> set[str]:
    """Return every way to name a side file: with and without folder and ending."""

    def names() -> Iterator[str]:
        for path in public.rglob("*"):
            if path.suffix.lower() in endings:
                yield from (path.stem, path.name, path.relative_to(public).as_posix())

    return set(names())


def _named(keys: pd.DataFrame, names: set[str]) -> bool:
    return bool(names) and any(keys[column].isin(names).mean() > _MOST for column in keys.columns)


def _pixel_rows(keys: pd.DataFrame, pictures: set[str]) -> bool:
    """Recognise ids such as `<picture>_<row>_<column>`, and the same in columns of their own."""
    if not pictures:
        return False
    for cells in (keys[column] for column in keys.columns):
        found = cells.where(cells.str.fullmatch(PIXEL)).pipe(image_of_pixel)
        pictured = cells.isin(pictures).mean() > _MOST and cells.duplicated().mean() > _MOST
        if found.isin(pictures).mean() > _MOST or pictured:
            return True
    return False


def _is_text(features: pd.DataFrame) -> bool:
    """Recognise rows that are told in sentences; a name beside many other columns is none."""
    columns = [features[name].dropna() for name in features.select_dtypes(exclude="number").columns]
    cells = [column.astype(str) for column in columns if column.nunique() > _MOST * len(column)]
    spaces = sorted((column.str.count(" ").mean() for column in cells if len(column)), reverse=True)
    texts = sum(count >= _SPACES_IN_TEXT for count in spaces)
    if not texts:
        return False
    return spaces[0] >= _SPACES_IN_LONG_TEXT or features.shape[1] - texts <= _FEW_OTHERS

"""Describe a competition for its solvers: task, description, data profile, and shape of the rows.

The shape is detected from the data, not taken from the description.
"""

from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from comind.competitions.row_file_list import ROW_FILES
from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES, FileIndex, files_of_rows
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind, DataShape, Problem, Task
from comind.profile.sample_pictures import sample_pictures
from comind.profile.text_budget import TokenCounter
from comind.splits.fold_words import describe_folds
from comind.splits.groupings.pixel_ids import PIXEL, image_of_pixel
from comind.splits.rule import Rule
from comind.splits.split_folder import Split, SplitFolder
from comind.system.files import write_atomically

_ROWS_READ = 2_000
_MOST = 0.5  # minimum share of rows that show a shape
_MEASURED = 5  # with so many numeric features, images are only the source of these features
_SPACES_IN_TEXT, _SPACES_IN_LONG_TEXT = 3, 12
_FEW_OTHERS = 2
_DESCRIPTION_LENGTH = 60_000
"""Characters. Only files that are no description are longer; prompts truncate further."""


def describe_problem(
    folder: SplitFolder, count_tokens: TokenCounter | None = None, *, samples: bool = True
) -> Problem:
    """Return the problem that a split poses, without sealed data.

    Args:
        folder: the split.
        count_tokens: estimates the number of tokens of a text; without it no data profile is computed
            and `preview` is empty, as are `samples`, which suffices if no model is called.
        samples: whether a model may be shown sample pictures; otherwise no file is decoded for them.
    """
    split = folder.read()
    described = folder.public / "description.md"
    text = described.read_text(errors="replace") if described.is_file() else ""
    rule = None if split.program else Rule.of(split.rule)
    return Problem(
        **split.model_dump(include=set(Task.model_fields)),
        traits=metric.traits if (metric := folder.read_metric()) else MetricTraits(),
        description=text[:_DESCRIPTION_LENGTH],
        fold_rows=describe_folds(split.rule) if rule else "",
        held_out=rule.description if rule else "",
        shape=DataShape.INSTANCES if split.program else _detect_shape(folder.public, split),
        preview=_cached_profile(folder, split, count_tokens) if count_tokens else "",
        samples=sample_pictures(folder, split)
        if samples and count_tokens and not split.program
        else None,
    )


def _cached_profile(folder: SplitFolder, split: Split, count_tokens: TokenCounter) -> str:
    """Return the profile of the split's public files; computed once, then cached beside them.

    A resumed campaign has the same prompts, even under a later version that computes other statistics.
    The cache needs no invalidation: the folder is named by the hash of all that its files depend on.
    """
    from comind.profile.profile import profile_data  # imports DuckDB

    if folder.facts.is_file():
        return folder.facts.read_text()
    listed = folder.row_files / ROW_FILES
    text = profile_data(folder.public, split, row_files=listed, count_tokens=count_tokens)
    write_atomically(folder.facts, text)
    return text


def _detect_shape(public: Path, split: Split) -> DataShape:
    """Detect the shape of the rows from side files, else from time order, else from long texts."""
    rows = pd.read_csv(public / "test.csv", nrows=_ROWS_READ)
    features = rows.drop(columns=list(split.id_columns), errors="ignore")
    keys = rows.select_dtypes(exclude="float").astype(str)  # floats name no files
    if _name_most_files(keys, _side_files(public, AUDIO_SUFFIXES)):
        return DataShape.AUDIO
    images = _side_files(public, IMAGE_SUFFIXES)
    if images.files and split.answer_kind is AnswerKind.MASK:
        return DataShape.MASKS
    if _pixel_rows(keys, images):
        return DataShape.PIXELS
    if _name_most_files(keys, images) and features.select_dtypes("number").shape[1] < _MEASURED:
        return DataShape.IMAGES
    if split.answer_kind is AnswerKind.TEXT:
        return DataShape.TEXT_TO_TEXT
    if split.answer_kind is AnswerKind.NUMBER and _is_forecast(rows, split):
        return DataShape.PANEL
    return DataShape.TEXT if _is_text(features) else DataShape.TABLE


def _is_forecast(rows: pd.DataFrame, split: Split) -> bool:
    """Return whether test rows are later than all others, by dates rather than plain numbers."""
    rule = split.rule
    if rule.kind != "time" or rule.within is not None:
        return False
    return rule.column not in rows.columns or not is_numeric_dtype(rows[rule.column])


def _side_files(public: Path, suffixes: tuple[str, ...]) -> FileIndex:
    """Return the side files with one of these suffixes."""
    paths = (path for path in public.rglob("*") if path.suffix.lower() in suffixes)
    return FileIndex(path.relative_to(public).as_posix() for path in paths)


def _named_share(cells: pd.Series, files: FileIndex) -> float:
    """Return the share of the cells of test rows that name a file."""
    return float(cells.isin(files_of_rows(files, (), cells.dropna().unique()).test).mean())


def _name_most_files(keys: pd.DataFrame, files: FileIndex) -> bool:
    """Return whether a column names files in most of its rows."""
    return bool(files.files) and any(
        _named_share(keys[column], files) > _MOST for column in keys.columns
    )


def _pixel_rows(keys: pd.DataFrame, images: FileIndex) -> bool:
    """Return whether ids look like `<image>_<row>_<column>`, in one column or in several."""
    if not images.files:
        return False
    for cells in (keys[column] for column in keys.columns):
        found = cells.where(cells.str.fullmatch(PIXEL)).pipe(image_of_pixel)
        repeated = cells.duplicated().mean() > _MOST and _named_share(cells, images) > _MOST
        if repeated or _named_share(found, images) > _MOST:
            return True
    return False


def _is_text(features: pd.DataFrame) -> bool:
    """Return whether rows consist mainly of sentences; short text among many columns does not count."""
    columns = [features[name].dropna() for name in features.select_dtypes(exclude="number").columns]
    cells = [column.astype(str) for column in columns if column.nunique() > _MOST * len(column)]
    spaces = sorted((column.str.count(" ").mean() for column in cells if len(column)), reverse=True)
    texts = sum(count >= _SPACES_IN_TEXT for count in spaces)
    if not texts:
        return False
    return spaces[0] >= _SPACES_IN_LONG_TEXT or features.shape[1] - texts <= _FEW_OTHERS

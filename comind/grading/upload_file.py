"""Bring a graded submission into the form of the sample submission: spelling of labels, rows an id."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import pandas as pd

from comind.competitions.label_spelling import Spelling
from comind.errors import CompetitionError
from comind.grading.submission_schema import spellings_of
from comind.metrics.parsing import parse_labels
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_table, split_rows

_CACHED = 16
_CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.capitalize, str.title)


def like_sample(submission: pd.DataFrame, folder: SplitFolder) -> pd.DataFrame:
    """Return a submission with labels spelled as in the sample submission, and a row for each mask.

    A submission that needs no change is returned as it is.

    Raises:
        CompetitionError: a file of the split is missing or invalid.
    """
    split = folder.read()
    metric = folder.read_metric()
    if metric is None:
        return submission
    found = submission
    for name, (spelling, words) in _words(folder.root).items():
        labels = spelling.match(found[name])
        found = found.assign(**{name: labels.map(words).fillna(found[name])})
    if metric.row_separator:
        found = split_rows(found, list(split.target_columns), metric.row_separator)
    return submission if found.equals(submission) else found


@lru_cache(_CACHED)
def _words(split: Path) -> Mapping[str, tuple[Spelling, Mapping[str, str]]]:
    """Return the sample's word of each class, for columns that it spells otherwise than train.csv.

    Cached, as a campaign asks after each better step, and the files of a split do not change.
    """
    folder = SplitFolder(split)
    metadata = folder.read()
    spellings = spellings_of(folder, metadata, folder.read_metric())
    predicted = {name: each for name, each in spellings.items() if each.predicted}
    if not predicted:
        return {}
    sample = read_table(folder.sample, CompetitionError)
    found = {name: (each, spelled_like(sample[name], each)) for name, each in predicted.items()}
    return {name: (each, words) for name, (each, words) in found.items() if words}


def spelled_like(sample: "pd.Series[str]", spelling: Spelling) -> Mapping[str, str]:
    """Return how the sample submission spells each class; empty if as train.csv does, or unclear.

    Classes that the sample lacks are spelled in the same case, or by the same pair such as 0 and 1.
    """
    filled = sample.str.strip()[sample.str.strip() != ""]
    shown = pd.Series(filled.unique(), dtype=str)
    if shown.empty:
        return {}
    meant = spelling.match(shown)
    if not meant.isin(spelling.known).all() or meant.duplicated().any():
        return {}
    words = dict(zip(meant, shown, strict=True))
    if all(label == parse_labels(pd.Series([word])).iloc[0] for label, word in words.items()):
        return {}
    missing = spelling.known - set(words)
    for case in _CASES:
        if all(case(label) == word for label, word in words.items()):
            return words | {label: case(label) for label in missing}
    if not missing:
        return words
    other = spelling.other_of_pair(shown.iloc[0]) if len(spelling.known) == 2 else None  # noqa: PLR2004
    return words | dict.fromkeys(missing, other) if other is not None else {}

"""Match labels in other spellings, such as `true` or `1` for `True`, with the classes of train.csv.

Only public tables decide: no class is read from answers. Classes of a metric with a positive class are
scored as 1 and 0.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from comind.metrics import Metric, MetricInfo
from comind.metrics.parsing import parse_labels

_BOOLEANS = (
    ("false", "true"),
    ("f", "t"),
    ("no", "yes"),
    ("n", "y"),
    ("0", "1"),
    ("-1", "1"),
    ("negative", "positive"),
)
_FEW_CLASSES = 50
_MANY_CLASSES = 1_000
_WORDS_OF_TEXT = 3  # words of a label on average, above those of names such as species
_MOST = 0.5
_COPIED = 0.2  # minimum share of rows whose label is the text of another column
_ROWS_PER_CLASS = 2  # from there on, labels are classes rather than texts
_SHOWN = 6


class Spelling:
    """The classes of one label column, and which of them another spelling means."""

    def __init__(self, known: Iterable[str], positive: str = "", *, predicted: bool = True) -> None:
        """Set the classes, as `parse_labels` returns them.

        Args:
            known: the classes.
            positive: the class of two that is scored as 1, the other one as 0; both may be written so.
            predicted: whether submissions have classes; else probabilities of the positive one.
        """
        self.known = frozenset(known)
        self.positive = positive
        self.predicted = predicted
        folded: dict[str, set[str]] = {}
        for label in self.known:
            folded.setdefault(_fold(label), set()).add(label)
        self._by_fold = {
            fold: labels.copy().pop() for fold, labels in folded.items() if len(labels) == 1
        }
        words = set(self._by_fold)
        own = next((pair for pair in _BOOLEANS if set(pair) == words), None)
        if own is not None and len(self.known) == len(own):
            for pair in _BOOLEANS:
                for word, mine in zip(pair, own, strict=True):
                    self._by_fold.setdefault(word, self._by_fold[mine])
        if positive:
            for label in self.known:
                self._by_fold.setdefault("1" if label == positive else "0", label)

    def __str__(self) -> str:
        """Return the classes in words, the first of many."""
        return ", ".join(sorted(self.known)[:_SHOWN]) + ", ..." * (len(self.known) > _SHOWN)

    def match(self, column: "pd.Series[str]") -> "pd.Series[str]":
        """Return labels in the spelling of train.csv; those of no class stay as they are.

        Raises:
            ValueError: a label is missing.
        """
        labels = parse_labels(column)
        values = labels.unique()
        meant = {
            value: value if value in self.known else self._by_fold.get(_fold(value), value)
            for value in values
        }
        return labels.map(meant)

    def score_values(self, labels: "pd.Series[str]") -> "pd.Series[str]":
        """Return matched labels as the metric scores them: 1 and 0 where one class is positive."""
        if not self.positive:
            return labels
        codes = {label: "1" if label == self.positive else "0" for label in self.known}
        return labels.map(lambda label: codes.get(label, label))

    def other_of_pair(self, word: str) -> str | None:
        """Return the other word of a pair such as 0 and 1 in the case of `word`, or None if unclear."""
        pairs = [pair for pair in _BOOLEANS if _fold(word) in pair]
        others = {pair[1 - pair.index(_fold(word))] for pair in pairs}
        meant = {
            other: self._by_fold.get(other)
            for other in others
            if self._by_fold.get(other) not in (None, self._by_fold.get(_fold(word)))
        }
        if not meant:
            return None
        other = max(meant)
        cases = (str.lower, str.upper, str.capitalize)
        return next((case(other) for case in cases if case(_fold(word)) == word), None)

    def check(self, labels: "pd.Series[str]") -> None:
        """Check that at least one of the labels is a class.

        Raises:
            ValueError: none is, as in another language or coding.
        """
        if len(labels) and not labels.isin(self.known).any():
            raise ValueError(
                f"no label is a class of train.csv, such as {labels.iloc[0]!r}; they are {self}"
            )


def label_spellings(
    train: pd.DataFrame, targets: Sequence[str], metric: MetricInfo | None, positive_class: str = ""
) -> Mapping[str, Spelling]:
    """Return the spelling of each target column that holds classes; none for texts and numbers.

    `train` has text cells; its empty ones are ignored. With `positive_class`, spelled as in train.csv,
    all target columns hold this class and one other.
    """
    classes = isinstance(metric, Metric) and metric.parse is parse_labels
    if not classes and not positive_class:
        return {}
    positive = parse_labels(pd.Series([positive_class])).iloc[0] if positive_class else ""
    found = {}
    for name in targets:
        if name not in train.columns:
            continue
        cells = train[name][train[name].str.strip() != ""]
        known = parse_labels(cells).unique()
        if len(known) and (positive or not _is_unique_text(cells)):
            found[name] = Spelling(known, positive, predicted=classes)
    return found


def is_free_text(cells: "pd.Series[str]", inputs: pd.DataFrame) -> bool:
    """Return whether labels are free text rather than classes.

    They are, if more than 50 differ, not mostly numbers, and hardly any appears twice, or a fifth are
    the text of another column (as normalised words are), or more than 1,000 differ and are sentences.
    """
    filled = cells[cells.str.strip() != ""]
    texts = pd.Series(filled.unique(), dtype=str)
    if len(texts) <= _FEW_CLASSES or pd.to_numeric(texts, errors="coerce").notna().mean() > _MOST:
        return False
    if len(texts) > _MANY_CLASSES and (texts.str.count(r"\s+").mean() + 1) >= _WORDS_OF_TEXT:
        return True
    return _is_unique_text(filled) or any((inputs[name] == cells).mean() >= _COPIED for name in inputs)


def positive_of_booleans(classes: Sequence[str]) -> str | None:
    """Return the second of a pair of classes such as no and yes; None for other classes."""
    by_fold = {_fold(label): label for label in classes}
    for negative, positive in _BOOLEANS:
        if set(by_fold) == {negative, positive} and len(classes) == len(by_fold):
            return by_fold[positive]
    return None


def differing_spellings(sample: pd.DataFrame, spellings: Mapping[str, Spelling]) -> tuple[str, ...]:
    """Return a line for each target whose classes the sample spells otherwise than train.csv."""
    lines = []
    for name, spelling in spellings.items():
        filled = sample[name][sample[name].str.strip() != ""]
        for label in parse_labels(filled).unique()[:_FEW_CLASSES]:
            meant = spelling.match(pd.Series([label])).iloc[0] if label not in spelling.known else label
            if meant != label:
                lines.append(
                    f"column {name!r}: sample_submission.csv has {label!r} where train.csv has "
                    f"{meant!r}; either is accepted"
                )
                break
    return tuple(lines)


def _is_unique_text(cells: "pd.Series[str]") -> bool:
    """Return whether of more than 50 labels most appear once."""
    return cells.nunique() > max(_FEW_CLASSES, len(cells) // _ROWS_PER_CLASS)


def _fold(label: str) -> str:
    return unicodedata.normalize("NFKC", label).strip().casefold()

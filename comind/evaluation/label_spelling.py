"""Match labels in other spellings, such as `true` or `1` for `True`, with the classes of train.csv.

Only public tables decide: no class is read from answers.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from comind.evaluation.metrics import Metric, MetricInfo
from comind.evaluation.metrics.parsing import parse_labels

__all__ = ["Spelling", "differing_spellings", "label_spellings"]

_BOOLEANS = (("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"), ("0", "1"))
_FEW_CLASSES = 50
_ROWS_PER_CLASS = 2  # from there on, labels are classes rather than texts
_SHOWN = 6


class Spelling:
    """The classes of one label column, and which of them another spelling means."""

    def __init__(self, known: Iterable[str]) -> None:
        """Set the classes, as `parse_labels` returns them."""
        self.known = frozenset(known)
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

    def check(self, labels: "pd.Series[str]") -> None:
        """Check that at least one of the labels is a class.

        Raises:
            ValueError: none is, as in another language or coding.
        """
        if len(labels) and not labels.isin(self.known).any():
            classes = ", ".join(sorted(self.known)[:_SHOWN]) + ", ..." * (len(self.known) > _SHOWN)
            raise ValueError(
                f"no label is a class of train.csv, such as {labels.iloc[0]!r}; they are {classes}"
            )


def label_spellings(
    train: pd.DataFrame, targets: Sequence[str], metric: MetricInfo | None
) -> Mapping[str, Spelling]:
    """Return the spelling of each target column that holds classes; none for texts and numbers.

    `train` has text cells; its empty ones are ignored. Of more than 50 classes, each needs two rows.
    """
    if not isinstance(metric, Metric) or metric.parse is not parse_labels:
        return {}
    found = {}
    for name in targets:
        if name not in train.columns:
            continue
        cells = train[name][train[name].str.strip() != ""]
        known = parse_labels(cells).unique()
        if len(known) and len(known) <= max(_FEW_CLASSES, len(cells) // _ROWS_PER_CLASS):
            found[name] = Spelling(known)
    return found


def differing_spellings(sample: pd.DataFrame, spellings: Mapping[str, Spelling]) -> tuple[str, ...]:
    """Return a line for each target whose classes the sample spells otherwise than train.csv."""
    lines = []
    for name, spelling in spellings.items():
        for label in parse_labels(sample[name]).unique()[:_FEW_CLASSES]:
            meant = spelling.match(pd.Series([label])).iloc[0] if label not in spelling.known else label
            if meant != label:
                lines.append(
                    f"column {name!r}: sample_submission.csv has {label!r} where train.csv has "
                    f"{meant!r}; either is accepted"
                )
                break
    return tuple(lines)


def _fold(label: str) -> str:
    return unicodedata.normalize("NFKC", label).strip().casefold()

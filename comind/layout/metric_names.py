"""Match Kaggle's names of metrics with ours, only where certain: a wrong metric is worse than none."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from comind.domain.value import Value

__all__ = ["MetricMatch", "match_metric", "metric_table"]

_EVALUATION = re.compile(r"\b(?:evaluated|scored|judged|measured|metric|ranked)\b", re.IGNORECASE)
_SENTENCE = 300
_SHORT = 3  # characters of an ambiguous abbreviation
_VARIANTS = [
    "weighted",
    "custom",
    "modified",
    "normalized",
    "adjusted",
    "logarithm",
    "penal",
    "harmonic",
]
"""Words on a page that tell of a variant of the usual metric."""


class _Entry(Value):
    """An entry of the table."""

    words: tuple[str, ...]
    one: str | None = None
    """Metric of one target column."""
    many: str | None = None
    """Metric of several target columns."""
    lower: bool = False
    not_with: tuple[str, ...] = ()
    """Words on the page that tell of a variant."""


class MetricMatch(NamedTuple):
    """The metric, None where it is not certain, with the reason."""

    metric: str | None
    reason: str


@cache
def metric_table() -> tuple[_Entry, ...]:
    """Load the table in `metrics.yaml`."""
    entries = yaml.safe_load(Path(__file__).with_name("metrics.yaml").read_text(encoding="utf-8"))
    return tuple(_Entry.model_validate(entry) for entry in entries)


def match_metric(
    words: str, page: str, targets: Sequence[str], scores: Sequence[float] = ()
) -> MetricMatch:
    """Return our metric for Kaggle's name.

    Args:
        words: Kaggle's name; empty: look for one on the page.
        page: text on the evaluation.
        targets: columns of the submission beside its ids.
        scores: of the leaderboard, best first; their order shows whether lower is better.
    """
    plain, plain_page = _plain(words), _plain(page)
    if plain:
        entries = [entry for entry in metric_table() if plain in entry.words]
        source = f"Kaggle names {words!r}"
    else:
        entries, source = _on_page(page), "the page on the evaluation names it"
    if len(entries) != 1:
        what = f"{words!r} is not known" if plain else "no metric, or more than one, is named"
        return MetricMatch(None, what)
    entry = entries[0]
    doubts = entry.not_with if plain else (*entry.not_with, *_VARIANTS)
    doubt = next((word for word in doubts if word in plain_page), None)
    if doubt:
        return MetricMatch(None, f"{source}, but its page says more: {doubt!r}")
    metric = entry.one if len(targets) == 1 else entry.many
    if metric is None:
        return MetricMatch(None, f"{source}, which says nothing of {len(targets)} target columns")
    if scores and scores[0] != scores[-1] and (scores[0] < scores[-1]) != entry.lower:
        return MetricMatch(None, f"{source}, but the leaderboard runs the other way")
    return MetricMatch(metric, source)


def _on_page(page: str) -> list[_Entry]:
    """Return the entries that a page names in a sentence on the evaluation."""
    sentences = [
        _plain(match.string[match.start() : match.start() + _SENTENCE])
        for match in _EVALUATION.finditer(page)
    ]
    named: dict[str, _Entry] = {}
    for entry in metric_table():
        for word in entry.words:
            if len(word) > _SHORT and any(f" {word} " in f" {said} " for said in sentences):
                named[word] = entry
    # `root mean squared error` also contains `mean squared error`; the longest match counts.
    longest = [w for w in named if not any(w != other and w in other for other in named)]
    return list({id(named[word]): named[word] for word in longest}.values())


def _plain(text: str) -> str:
    """Normalize a text to lower-case words, as in the table."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())

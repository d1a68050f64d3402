"""Which of our metrics Kaggle's words mean, where that is certain; a wrong metric is worse than none."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from comind.domain.value import Value

__all__ = ["MetricWords", "Reading", "metric_table", "read_metric"]

_SAID = re.compile(r"\b(?:evaluated|scored|judged|measured|metric|ranked)\b", re.IGNORECASE)
_SENTENCE = 300
_SHORT = 3  # letters that may stand for something else
_MORE = ("weighted", "custom", "modified", "normalized", "adjusted", "logarithm", "penal", "harmonic")
"""What a page says of a metric that is not the usual one of its name."""


class MetricWords(Value):
    """An entry of the table."""

    words: tuple[str, ...]
    one: str | None = None
    many: str | None = None
    lower: bool = False
    not_with: tuple[str, ...] = ()
    """What the page says where more is meant than these words."""


class Reading(NamedTuple):
    """The metric, None where it is not certain, and why."""

    metric: str | None
    reason: str


@cache
def metric_table() -> tuple[MetricWords, ...]:
    """Return the table of `metrics.yaml`."""
    entries = yaml.safe_load(Path(__file__).with_name("metrics.yaml").read_text(encoding="utf-8"))
    return tuple(MetricWords.model_validate(entry) for entry in entries)


def read_metric(words: str, page: str, targets: Sequence[str], scores: Sequence[float] = ()) -> Reading:
    """Return the metric that is meant.

    Args:
        words: Kaggle's field for it; empty where the page alone tells.
        page: the page on the evaluation.
        targets: columns of the submission beside its ids.
        scores: the leaderboard's, best first; they show which way is better.
    """
    plain, said = _plain(words), _plain(page)
    if plain:
        entries = [entry for entry in metric_table() if plain in entry.words]
        source = f"Kaggle names {words!r}"
    else:
        entries, source = _on_page(page), "the page on the evaluation names it"
    if len(entries) != 1:
        what = f"{words!r} is not known" if plain else "no metric, or more than one, is named"
        return Reading(None, what)
    entry = entries[0]
    doubts = entry.not_with if plain else (*entry.not_with, *_MORE)
    doubt = next((word for word in doubts if word in said), None)
    if doubt:
        return Reading(None, f"{source}, but its page says more: {doubt!r}")
    metric = entry.one if len(targets) == 1 else entry.many
    if metric is None:
        return Reading(None, f"{source}, which says nothing of {len(targets)} target columns")
    if scores and scores[0] != scores[-1] and (scores[0] < scores[-1]) != entry.lower:
        return Reading(None, f"{source}, but the leaderboard runs the other way")
    return Reading(metric, source)


def _on_page(page: str) -> list[MetricWords]:
    """Return the entries that a page names where it says what is measured."""
    sentences = [
        _plain(match.string[match.start() : match.start() + _SENTENCE]) for match in _SAID.finditer(page)
    ]
    named: dict[str, MetricWords] = {}
    for entry in metric_table():
        for word in entry.words:
            if len(word) > _SHORT and any(f" {word} " in f" {said} " for said in sentences):
                named[word] = entry
    # `root mean squared error` also has `mean squared error` in it; the longer one is meant.
    longest = [w for w in named if not any(w != other and w in other for other in named)]
    return list({id(named[word]): named[word] for word in longest}.values())


def _plain(text: str) -> str:
    """Return the words of a text, as the table has them."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())

"""Infer which of two text classes is the positive one, and whether labels are free text.

Both depend on public tables and the description only; no answer is read.
"""

import re
from collections.abc import Sequence

import pandas as pd

from comind.competitions.label_spelling import is_free_text, positive_of_booleans
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.metrics import Metric, MetricInfo, known_metric
from comind.metrics.parsing import parse_binary_labels, parse_labels

_CLASSES = 2


def has_positive_class(metric: MetricInfo) -> bool:
    """Return whether a metric distinguishes a positive class, as ROC AUC and F1 do."""
    if not isinstance(metric, Metric):
        return False
    return metric.answer_kind is AnswerKind.PROBABILITY or metric.truth_parser is parse_binary_labels


def infer_positive_class(cells: "pd.Series[str]", *, given: str | None, text: str) -> str:
    """Return the positive class as train.csv spells it; empty where labels are 0 and 1, or no classes.

    It is the one that the competition names, else the second of a pair such as no and yes, else the one
    that the description `text` codes as 1 (`1 = dog`) or asks the probability of (`probability of dog`).

    Raises:
        CompetitionError: there are two classes and it is open which is positive, or the given class is
            not one of them.
    """
    filled = pd.Series(cells.unique(), dtype=str)
    filled = filled[filled.str.strip() != ""]
    spelled = dict(zip(parse_labels(filled), filled.str.strip(), strict=True))
    classes = sorted(spelled)
    if given is not None:
        meant = [name for name in classes if given.strip() in (name, spelled[name])]
        if len(meant) != 1 or len(classes) != _CLASSES:
            raise CompetitionError(
                f"column {cells.name!r}: the positive class {given!r} is not one of two classes",
                hint=f"its labels are {', '.join(classes[:6])}",
            )
        return str(spelled[meant[0]])
    numbers = pd.to_numeric(pd.Series(classes, dtype=str), errors="coerce")
    if len(classes) != _CLASSES or numbers.between(0, 1).all():
        return ""
    positive = positive_of_booleans(classes) or _described(classes, text)
    if positive is None:
        first, second = classes
        raise CompetitionError(
            f"column {cells.name!r}: {first!r} or {second!r} may be the positive class",
            hint=f"add a line such as `positive_class: {second!r}` to competition.yaml",
        )
    return str(spelled[positive])


def metric_of_labels(metric: MetricInfo, train: pd.DataFrame, labels: Sequence[str]) -> MetricInfo:
    """Return the metric for these labels: for free text it may be another."""
    other = metric.of_texts if isinstance(metric, Metric) else ""
    if not other or len(labels) != 1 or labels[0] not in train.columns:
        return metric
    text = is_free_text(train[labels[0]], train.drop(columns=[labels[0]]))
    return known_metric(other) if text else metric


def _described(classes: Sequence[str], description: str) -> str | None:
    """Return the class that a description states as positive, if it is one alone."""
    text = " ".join(description.split())
    words = {name: rf"['\"`]?\b{re.escape(name)}\b['\"`]?" for name in classes}
    coded = {
        name
        for name, word in words.items()
        if re.search(
            rf"\b1 ?(?:=|:|-|is|for|means) ?(?:an? )?{word}|{word} ?(?:=|:|is) ?1\b", text, re.IGNORECASE
        )
    }
    if coded:
        return coded.pop() if len(coded) == 1 else None
    asked = [
        found[0] for found in re.finditer(r"\bprobabilit(?:y|ies)\b[^.;]{0,80}", text, re.IGNORECASE)
    ]
    named = {
        name
        for name, word in words.items()
        if any(re.search(word, each, re.IGNORECASE) for each in asked)
    }
    return named.pop() if len(named) == 1 else None

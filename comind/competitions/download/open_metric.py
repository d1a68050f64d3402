"""Ask for the metric where no page names one for certain, with the likeliest three by the labels."""

import re
from collections.abc import Collection

from comind.competitions.download.findings import Question
from comind.metrics.metric_names import metric_table

_CLASSES = 20  # different labels that are numbers, at most, to count as classes
_TEXTS = 400  # different labels that are words, at most, to count as classes
_CHOICES = 3
_WHOLE = re.compile(r"-?\d+(\.0*)?")
_NUMBER = re.compile(r"\s*-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def metric_question(reason: str, labels: Collection[str], predicted: Collection[str]) -> Question:
    """Return the question for the metric.

    Args:
        reason: why none is certain; metrics that it names come first.
        labels: different labels of train.csv.
        predicted: different predictions of the sample submission.
    """
    known = sorted(
        {name for each in metric_table() for name in (each.one, each.many, *each.may_mean) if name}
    )
    named = [name for name in known if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", reason)]
    likely = dict.fromkeys((*named, *_by_labels(labels, predicted)))
    return Question(key="metric", text="metric", choices=tuple(likely)[:_CHOICES])


def _by_labels(labels: Collection[str], predicted: Collection[str]) -> tuple[str, ...]:
    """Return the usual metrics of such labels: classes, probabilities of classes, numbers or texts."""
    if all(_NUMBER.fullmatch(label) for label in labels) and (
        len(labels) > _CLASSES or not all(_WHOLE.fullmatch(label) for label in labels)
    ):
        return "rmse", "mae", "rmsle"
    if len(labels) > _TEXTS:
        return "exact-match", "accuracy", "macro-f1"
    shares = all(_NUMBER.fullmatch(value) for value in predicted) and not set(predicted) <= set(labels)
    if len(labels) <= 2:  # noqa: PLR2004 - a binary target
        return ("roc-auc", "log-loss", "accuracy") if shares else ("accuracy", "f1", "roc-auc")
    return ("multiclass-log-loss", "accuracy", "macro-f1") if shares else ("accuracy", "macro-f1", "f1")

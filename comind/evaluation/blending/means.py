"""Which averages of predictions fit a metric; see `program.py` for what each of them does."""

from comind.domain.problem import AnswerKind
from comind.evaluation.metrics.base import Metric, TableMetric
from comind.evaluation.metrics.parsing import parse_binary_labels, parse_labels, parse_whole_numbers

__all__ = ["supported_means"]

_BY_NAME = {
    "rmsle": ("log1p",),
    "rmse-of-log": ("log",),
    "spearman": ("rank",),
    "roc-auc": ("rank", "mean"),
    "average-precision": ("rank", "mean"),
    "weighted-roc-auc": ("rank", "mean"),
    "log-loss": ("mean", "logit"),
    "multiclass-log-loss": ("mean", "log"),
}
_NUMBERS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY, AnswerKind.CLASS_PROBABILITIES)


def supported_means(metric: Metric) -> tuple[str, ...]:
    """Return the averages that may be tried, none for what cannot be averaged, such as text or masks.

    None either where rows belong together in the metric: a half of them would be judged otherwise.
    """
    if metric.context or isinstance(metric, TableMetric):
        return ()
    if metric.parse is parse_whole_numbers:
        return ("rounded", "vote")
    if metric.kind is AnswerKind.LABEL:
        return ("vote",) if metric.parse in (parse_labels, parse_binary_labels) else ()
    return _BY_NAME.get(metric.name, ("mean",)) if metric.kind in _NUMBERS else ()

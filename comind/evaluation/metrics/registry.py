"""Look up metrics by name or alias."""

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.evaluation.metrics.boxes import BOX_METRICS
from comind.evaluation.metrics.classification import CLASSIFICATION_METRICS
from comind.evaluation.metrics.losses import LOSS_METRICS
from comind.evaluation.metrics.masks import MASK_METRICS
from comind.evaluation.metrics.metric_types import Metric
from comind.evaluation.metrics.probabilities import PROBABILITY_METRICS
from comind.evaluation.metrics.regression import REGRESSION_METRICS
from comind.evaluation.metrics.sequences import SEQUENCE_METRICS
from comind.evaluation.metrics.texts import TEXT_METRICS

__all__ = ["CUSTOM_METRICS", "METRICS", "find_metric", "known_metric", "metric_named"]

_ALL: tuple[Metric, ...] = (
    *CLASSIFICATION_METRICS,
    *REGRESSION_METRICS,
    *SEQUENCE_METRICS,
    *PROBABILITY_METRICS,
    *TEXT_METRICS,
    *MASK_METRICS,
    *LOSS_METRICS,
    *BOX_METRICS,
)
METRICS = {metric.name: metric for metric in _ALL if metric.aliases}
CUSTOM_METRICS = {metric.name: metric for metric in _ALL if not metric.aliases}
"""Metrics of single past competitions, found by their names only.

Those with a context need columns of the truth that only benchmark competitions have; `competition.yaml`
can name the others.
"""
_NAMES = {
    alias.replace(" ", "-"): name
    for name, metric in METRICS.items()
    for alias in (name, *metric.aliases.split(" | "))
}


def metric_named(name: str) -> Metric | None:
    """Return the metric with this name or alias, ignoring case and separators, or None."""
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    known = _NAMES.get(plain) or _NAMES.get(plain.removesuffix("-score")) or plain
    custom = CUSTOM_METRICS.get(known)
    return METRICS.get(known) or (custom if custom and not custom.context else None)


def known_metric(name: str) -> Metric:
    """Return the metric with exactly this name, as splits record it.

    Raises:
        KeyError: there is no such metric.
    """
    return METRICS[name] if name in METRICS else CUSTOM_METRICS[name]


def find_metric(competition: Competition) -> Metric:
    """Return the metric of a competition.

    Raises:
        CompetitionError: `competition.yaml` names no metric, or an unknown one.
    """
    hint = f"known metrics: {', '.join(sorted(METRICS))}"
    where = competition.folder
    if competition.metric is None:
        raise CompetitionError(f"{where}: competition.yaml names no metric", hint=hint)
    metric = metric_named(competition.metric)
    if metric is None:
        raise CompetitionError(f"{where}: unknown metric {competition.metric!r}", hint=hint)
    return metric

"""All metrics of ours; a new one is appended to the tuple of its family, which has all that it needs."""

from comind.metrics.classification import CLASSIFICATION_METRICS
from comind.metrics.masks import MASK_METRICS
from comind.metrics.metric_types import Metric
from comind.metrics.probabilities import PROBABILITY_METRICS
from comind.metrics.regression import REGRESSION_METRICS, WEIGHTED_METRICS
from comind.metrics.sequences import SEQUENCE_METRICS, TEXT_METRICS

OWN_METRICS: tuple[Metric, ...] = (
    *CLASSIFICATION_METRICS,
    *REGRESSION_METRICS,
    *SEQUENCE_METRICS,
    *PROBABILITY_METRICS,
    *TEXT_METRICS,
    *MASK_METRICS,
    *WEIGHTED_METRICS,
)

"""The metrics of past competitions that hardly any other competition names, found by their names alone.

Those with a context take a part of their truth from columns that no competition folder of ours has; a
`competition.yaml` can name the others.
"""

from comind.evaluation.metrics.base import Metric
from comind.evaluation.metrics.boxes import BOX_METRICS
from comind.evaluation.metrics.curves import CURVE_METRICS
from comind.evaluation.metrics.losses import LOSS_METRICS
from comind.evaluation.metrics.masks import MASK_METRICS
from comind.evaluation.metrics.ranked import RANKED_METRICS
from comind.evaluation.metrics.spans import SPAN_METRICS
from comind.evaluation.metrics.volumes import VOLUME_METRICS

__all__ = ["CUSTOM_METRICS"]

CUSTOM_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *RANKED_METRICS,
        *CURVE_METRICS,
        *MASK_METRICS,
        *LOSS_METRICS,
        *BOX_METRICS,
        *VOLUME_METRICS,
        *SPAN_METRICS,
    )
}

"""Metrics by name: how predictions are parsed and scored, and which direction is better."""

from comind.metrics.metric_types import Metric, MetricInfo
from comind.metrics.registry import (
    METRICS,
    find_metric,
    is_known_metric,
    known_metric,
    meant_metrics,
    metric_names,
)

__all__ = [
    "METRICS",
    "Metric",
    "MetricInfo",
    "find_metric",
    "is_known_metric",
    "known_metric",
    "meant_metrics",
    "metric_names",
]

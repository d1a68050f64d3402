"""Metrics by name: what is compared, which way is better, what a valid submission holds."""

from comind.evaluation.metrics.base import Metric, MetricInfo
from comind.evaluation.metrics.registry import METRICS, find_metric, known_metric, metric_named

__all__ = ["METRICS", "Metric", "MetricInfo", "find_metric", "known_metric", "metric_named"]

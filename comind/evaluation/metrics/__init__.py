"""Metrics by name: what is compared, which way is better, what a valid submission holds."""

from comind.evaluation.metrics.base import Metric
from comind.evaluation.metrics.registry import METRICS, find_metric

__all__ = ["METRICS", "Metric", "find_metric"]

"""Metrics that are not listed as standard ones: ours of few competitions, and those of MLE-bench."""

from comind.metrics import known_metric
from comind.metrics.registry import CUSTOM_METRICS as OWN
from comind.system.plug_ins import PLUG_IN_METRICS, declared

CUSTOM_METRICS = {**OWN, **{name: known_metric(name) for name in declared(PLUG_IN_METRICS)}}

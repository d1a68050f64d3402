"""A metric is found under every name that people give it."""

import pytest

from comind.evaluation.metrics import METRICS
from comind.evaluation.metrics.registry import _ALIASES, metric_named


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("accuracy", "accuracy"),
        ("RMSE", "rmse"),
        ("mean-columnwise-rmsle", "rmsle"),
        ("Quadratic Weighted Kappa", "quadratic-weighted-kappa"),
        ("Area Under ROC Curve", "roc-auc"),
        ("roc_auc_score", "roc-auc"),
        ("Multi-Class Log Loss", "multiclass-log-loss"),
        ("  log   loss ", "log-loss"),
    ],
)
def test_a_metric_is_found_however_it_is_spelt(spelt: str, name: str) -> None:
    """Capitals, dashes, underscores and the word score make no difference."""
    metric = metric_named(spelt)
    assert metric is not None
    assert metric.name == name


@pytest.mark.parametrize("name", ["", "niceness", "log", "score", "../rmse"])
def test_no_metric_is_guessed(name: str) -> None:
    """What is not known is not known; a wrong metric would be worse than none."""
    assert metric_named(name) is None


def test_no_name_means_two_metrics() -> None:
    """Every alias leads to one metric, and every metric has its line of aliases."""
    assert set(_ALIASES) == set(METRICS)
    names = [
        "-".join(name.split())
        for metric, aliases in _ALIASES.items()
        for name in (metric, *aliases.split("|"))
    ]
    assert len(set(names)) == len(names)

"""Metrics are found by names and aliases."""

from pathlib import Path

import pytest

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.evaluation.metrics import METRICS, find_metric
from comind.evaluation.metrics.registry import _ALIASES


def _competition(metric: str) -> Competition:
    columns = {"id_columns": ("id",), "label_columns": ("y",), "target_columns": ("y",)}
    return Competition(folder=Path("rain"), id="rain", title="Rain", metric=metric, **columns)


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
    """Case, dashes, underscores and the suffix "score" are ignored."""
    assert find_metric(_competition(spelt)).name == name


@pytest.mark.parametrize("name", ["", "niceness", "log", "score", "../rmse"])
def test_no_metric_is_guessed(name: str) -> None:
    """Unknown names find no metric."""
    with pytest.raises(CompetitionError, match=f"unknown metric '{name}'"):
        find_metric(_competition(name))


def test_no_name_means_two_metrics() -> None:
    """Every alias belongs to one metric, and every metric has an entry."""
    assert set(_ALIASES) == set(METRICS)
    names = [
        "-".join(name.split())
        for metric, aliases in _ALIASES.items()
        for name in (metric, *aliases.split("|"))
    ]
    assert len(set(names)) == len(names)

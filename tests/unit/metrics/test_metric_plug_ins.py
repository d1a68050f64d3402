"""Metrics of other distributions are found by entry point."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.domain.competition import Competition
from comind.errors import CompetitionError, UsageError
from comind.metrics import METRICS, find_metric, known_metric, meant_metrics, metric_names
from tests.unit.wiring.plugins import Installed, installed

_METRIC = """
from dataclasses import replace

from comind.metrics import METRICS

Plugged = replace(METRICS["rmse"], name="{name}")
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Installed]:
    """A folder for distributions, on the import path."""
    with installed(tmp_path / "site") as folder:
        yield folder


def _add(plugins: Installed, name: str, source: str = _METRIC) -> None:
    plugins.add("some-scores", name, source.format(name=name), group="comind.metrics")


def _named(metric: str) -> Competition:
    """Return a competition whose competition.yaml has this name of a metric."""
    return Competition(
        folder=Path("rain"),
        id="rain",
        title="Rain",
        metric=metric,
        id_columns=("id",),
        label_columns=("y",),
        target_columns=("y",),
    )


def test_a_metric_of_another_distribution_is_found(plugins: Installed) -> None:
    """By its exact name as splits record it, by other separators, and in the list of known ones."""
    _add(plugins, "deep-error")
    assert known_metric("deep-error").name == "deep-error"
    assert meant_metrics("Deep_error score") == ("deep-error",)
    assert "deep-error" in metric_names()
    with pytest.raises(CompetitionError) as caught:
        find_metric(_named("niceness"))
    assert "deep-error" in caught.value.hint


def test_a_metric_of_ours_is_not_replaced(plugins: Installed) -> None:
    """A distribution that declares `rmse` changes no campaign."""
    _add(plugins, "rmse", "raise ValueError('it is imported')")
    assert known_metric("rmse") is METRICS["rmse"]
    assert find_metric(_named("RMSE")) is METRICS["rmse"]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("Plugged = 3", "is no comind.metrics.Metric of this name"),
        (_METRIC.format(name="other"), "is no comind.metrics.Metric of this name"),
    ],
)
def test_a_broken_metric_is_one_line(plugins: Installed, source: str, line: str) -> None:
    """The error names the distribution and the reason; other metrics are found."""
    _add(plugins, "deep-error", source)
    with pytest.raises(UsageError, match=r"the metric 'deep-error' of some-scores 1.0 ") as caught:
        find_metric(_named("deep error"))
    assert line in str(caught.value)
    assert find_metric(_named("mae")) is METRICS["mae"]


def test_a_metric_that_is_no_longer_installed_is_named() -> None:
    """A split of a metric whose distribution is gone ends in one line."""
    with pytest.raises(UsageError, match=r"^the metric 'deep-error' is not installed$") as caught:
        known_metric("deep-error")
    assert caught.value.hint == "install the distribution that declares it in comind.metrics"

"""Every metric is documented."""

from pathlib import Path

import pytest

from comind.metrics import METRICS

_PAGE = Path(__file__).parents[3] / "docs" / "competition-folder.md"


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_listed(name: str) -> None:
    """The page lists the direction and the answer type of each metric."""
    metric = METRICS[name]
    better = "higher" if metric.maximize else "lower"
    kind = metric.kind.value.replace("-", " ")
    assert f"| `{name}` | {better} | {kind} | {metric.reference} |" in _PAGE.read_text()

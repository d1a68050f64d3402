"""Figures of reports can be read, whatever they show."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from comind.reporting.paper_figures import Curve, curves_svg


@pytest.mark.parametrize("count", [1, 2, 14, 90])
def test_an_axis_of_time_has_few_labels(count: int) -> None:
    """Two days do not get a label for every two hours, nor ninety days one each."""
    begun = datetime(2026, 11, 1, 8, tzinfo=UTC)
    points = [(begun + timedelta(days=number), 0.5) for number in range(count)]
    drawn = curves_svg([Curve("validation", points)], "rmse").decode()
    assert len(re.findall(r'id="xtick_\d+"', drawn)) <= 7

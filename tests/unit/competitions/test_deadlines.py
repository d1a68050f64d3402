"""A deadline is read as people write it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo


@pytest.mark.parametrize(
    ("written", "ends_at"),
    [
        ('"2024-03-01T23:59:00Z"', datetime(2024, 3, 1, 23, 59, tzinfo=UTC)),
        ("2024-03-01T23:59:00Z", datetime(2024, 3, 1, 23, 59, tzinfo=UTC)),
        ("2024-03-01 12:00:00", datetime(2024, 3, 1, 12, tzinfo=UTC)),
        ("2024-03-01", datetime(2024, 3, 1, 23, 59, tzinfo=UTC)),
    ],
)
def test_a_deadline_needs_no_quotation_marks(tmp_path: Path, written: str, ends_at: datetime) -> None:
    """YAML reads some texts as times; a date alone is its last minute."""
    folder = make_demo("demo-tumours", tmp_path)
    with (folder / "competition.yaml").open("a") as file:
        file.write(f"deadline: {written}\n")
    assert load_competition(folder).ends_at == ends_at

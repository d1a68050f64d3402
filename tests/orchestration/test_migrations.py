"""The creation of MLflow's tables is reported."""

from pathlib import Path

from comind.adapters.mlflow.tracking_store import TrackingStore
from comind.system.progress import reported_to


def test_each_migration_of_a_new_database_is_progress(tmp_path: Path) -> None:
    """A new database reports its migrations with their number, one that is there reports nothing."""
    heard: list[tuple[str, int | None, int | None]] = []
    with reported_to(lambda *report: heard.append(report)):
        TrackingStore(tmp_path)
    what, total = "creating MLflow's tables", len(heard) - 2
    assert total > 50
    assert heard == [(what, done, total) for done in (*range(total + 1), None)]
    heard.clear()
    with reported_to(lambda *report: heard.append(report)):
        TrackingStore(tmp_path)
    assert heard == []

"""The creation of MLflow's tables is reported, and can be interrupted."""

import subprocess
import sys
from pathlib import Path

from comind.adapters.mlflow.tracking_store import TrackingStore
from comind.system.progress import reported_to

_INTERRUPTED = """
import os, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from comind.adapters.mlflow.tracking_store import TrackingStore

@event.listens_for(Engine, "before_cursor_execute")
def stop(connection, cursor, statement, *others):
    if statement.startswith("INSERT INTO _alembic_tmp_"):
        os._exit(9)

TrackingStore(Path(sys.argv[1]))
"""


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


def test_a_database_whose_creation_was_interrupted_is_created_anew(tmp_path: Path) -> None:
    """A process that ends within a migration leaves no half of a database in the project."""
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED, tmp_path], check=False, timeout=200)
    assert done.returncode == 9
    store = TrackingStore(tmp_path)
    assert store.get_or_create_experiment("titanic")
    assert sorted(path.name for path in (tmp_path / "mlruns").glob("*.db*")) == ["mlflow.db"]

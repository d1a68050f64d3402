"""Locate MLflow's tracking server, or the project's SQLite database, and check the latter.

Without a server every writer opens the database itself.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import OrchestrationError


def tracking_server() -> str:
    """Return the address of a tracking server, from `MLFLOW_TRACKING_URI`; empty if it names none.

    Another URI there, such as that of a database, is not used: the project has its own.
    """
    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    return address if address.startswith(("http://", "https://")) else ""


def tracking_uri(project: Path) -> str:
    """Return the tracking URI of the project's runs: a server, or the project's database."""
    return tracking_server() or database_uri(project)


def database_uri(project: Path) -> str:
    """Return the URI of the project's own database."""
    return f"sqlite:///{database_path(project)}"


def database_damage(project: Path) -> str:
    """Check the database; returns the first fault, or "" where it is intact or missing."""
    return _check(database_path(project), "PRAGMA quick_check(1)", "ok")


def has_runs(project: Path) -> bool:
    """Return whether there may be runs: on a tracking server, or in the project's own database."""
    return bool(tracking_server()) or database_path(project).is_file()


def require_database(project: Path) -> None:
    """Check that the file, where it exists, is an SQLite database; fast.

    Raises:
        OrchestrationError: it is not.
    """
    path = database_path(project)
    if fault := _check(path, "PRAGMA schema_version"):
        raise OrchestrationError(f"{path}: {fault}", hint="rebuild it with: comind repair")


def set_database_aside(project: Path) -> Path:
    """Rename the database, so that the next writer creates a new one; returns its new path."""
    path = database_path(project)
    aside = path.with_name(f"{path.name}.damaged")
    for part in ("", "-wal", "-shm"):
        found = path.with_name(path.name + part)
        if found.exists():
            found.replace(aside.with_name(aside.name + part))
    return aside


def database_path(project: Path) -> Path:
    """Return the file of the project's own database."""
    return ProjectFolder(project).tracking / "mlflow.db"


def _check(path: Path, query: str, expected: str = "") -> str:
    """Run a query; returns the fault, or "" where the result is `expected` or the database is locked."""
    if not path.is_file():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            [result] = database.execute(query).fetchone()
    except sqlite3.OperationalError:
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if expected in ("", result) else str(result).strip().splitlines()[-1]

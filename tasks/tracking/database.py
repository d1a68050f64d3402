"""The file that MLflow's runs are recorded in: there is no server, every writer opens it for itself."""

import contextlib
import sqlite3
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import OrchestrationError

__all__ = ["database_damage", "require_database", "set_database_aside", "tracking_uri"]


def tracking_uri(project: Path) -> str:
    """Return where the project's runs are recorded."""
    return f"sqlite:///{_database(project)}"


def database_damage(project: Path) -> str:
    """Return in one line what is wrong with the database; empty where nothing is, or there is none."""
    return _answer(_database(project), "PRAGMA quick_check(1)", "ok")


def require_database(project: Path) -> None:
    """Look whether the file is a database at all, where there is one; that takes no time.

    Raises:
        OrchestrationError: it is not.
    """
    path = _database(project)
    if said := _answer(path, "PRAGMA schema_version"):
        raise OrchestrationError(f"{path}: {said}", hint="have it written anew: comind repair")


def set_database_aside(project: Path) -> Path:
    """Rename the database, so that the next one to be opened is new; returns where it is now."""
    path = _database(project)
    aside = path.with_name(f"{path.name}.damaged")
    for part in ("", "-wal", "-shm"):
        found = path.with_name(path.name + part)
        if found.exists():
            found.replace(aside.with_name(aside.name + part))
    return aside


def _database(project: Path) -> Path:
    return ProjectFolder(project).tracking / "mlflow.db"


def _answer(path: Path, question: str, expected: str = "") -> str:
    """Return what SQLite says of a file against our expectation; empty where it is as it should be."""
    if not path.is_file():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            [said] = database.execute(question).fetchone()
    except sqlite3.OperationalError:
        return ""  # it is busy; nothing is known
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if expected in ("", said) else str(said).strip().splitlines()[-1]

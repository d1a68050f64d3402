"""Find the project's folder and the competition that a command names."""

import argparse
import contextlib
from pathlib import Path

from comind.errors import CompetitionError, UsageError

__all__ = [
    "add_project_options",
    "find_competition",
    "find_or_fetch_competition",
    "find_project",
    "open_project",
]


def find_project(out: str | None) -> Path:
    """Return the project's folder: `--out`, else the closest parent with `.dvc`, else the current one.

    Raises:
        UsageError: the folder is not writable.
    """
    if out is not None:
        folder = Path(out).absolute()
    else:
        here = Path.cwd()
        folder = next((f for f in (here, *here.parents) if (f / ".dvc").is_dir()), here)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".comind-can-write"
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise UsageError(
            f"{folder}: cannot be written to ({reason})", hint="name another folder with --out"
        ) from None
    return folder


def add_project_options(
    parser: argparse.ArgumentParser, what: str = "folder of data, runs and tracking"
) -> None:
    """Declare `--out` and `--json`, which most commands have."""
    parser.add_argument("--out", metavar="DIR", help=what)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def open_project(out: str | None) -> Path:
    """Return the project's folder, initialized as a git and DVC repository.

    Raises:
        UsageError: the folder is not writable.
        OrchestrationError: git or DVC fails.
    """
    from flows.server import prepare_environment
    from tasks.versioning import ensure_repository

    project = find_project(out)
    prepare_environment(project)
    ensure_repository(project)
    return project


def find_competition(name: str, project: Path) -> Path:
    """Return the folder of a competition: a path, a built-in demo, or one fetched from Kaggle before.

    Raises:
        CompetitionError: there is none of this name.
    """
    from flows.cli.kaggle import kept_folder

    found = _folder_or_demo(name, project) or kept_folder(name, project)
    if found is None:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())
    return found


def _folder_or_demo(name: str, project: Path) -> Path | None:
    with contextlib.suppress(OSError):  # the name exceeds the limit of the file system
        if Path(name).exists():
            return Path(name).absolute()
    from comind.evaluation.demos.make import DEMOS, make_demo

    return make_demo(name, project / "data" / "demos") if name in DEMOS else None


def _known_names() -> str:
    from comind.evaluation.demos.make import DEMOS

    return f"name a competition folder, or one of the demos: {', '.join(sorted(DEMOS))}"


def find_or_fetch_competition(name: str, project: Path) -> Path:
    """Return the folder of a competition to solve: a path, a built-in demo, or fetched from Kaggle.

    Data prepared by MLE-bench is adapted on first use.

    Raises:
        CompetitionError: there is none of this name, or a campaign does not support its format.
        KaggleError: Kaggle cannot be reached, or refuses.
    """
    from comind.evaluation.benchmark.prepared import PreparedFolder, adapt
    from flows.cli.kaggle import fetch_from_kaggle

    folder = _folder_or_demo(name, project) or fetch_from_kaggle(name, project, else_name=_known_names())
    if folder is None:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())
    prepared = PreparedFolder.find(folder)
    if prepared is None:
        return folder
    place = project / "data" / "prepared"
    adapted = place / prepared.entry.id
    return adapted if adapted.is_dir() else adapt(prepared.public, prepared.entry, place)

"""Where things are: the project's folder, and what a user means by COMPETITION."""

import argparse
import contextlib
from pathlib import Path

from comind.errors import CompetitionError, UsageError

__all__ = [
    "add_place",
    "find_competition",
    "find_project",
    "find_solvable",
    "open_project",
]


def find_project(out: str | None) -> Path:
    """Return the folder that campaigns write to: `--out`, else the project around us, else here.

    Raises:
        UsageError: the folder cannot be written to.
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


def add_place(parser: argparse.ArgumentParser, what: str = "folder of data, runs and tracking") -> None:
    """Declare `--out` and `--json`, which most commands have."""
    parser.add_argument("--out", metavar="DIR", help=what)
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def open_project(out: str | None) -> Path:
    """Return the folder that is meant, as a repository of git and DVC that can be worked on.

    Raises:
        UsageError: the folder cannot be written to.
        OrchestrationError: git or DVC refuse.
    """
    from flows.environment import prepare_environment
    from tasks.versioning import ensure_repository

    project = find_project(out)
    prepare_environment(project)
    ensure_repository(project)
    return project


def find_competition(name: str, project: Path) -> Path:
    """Return a competition's folder: as it is, a built-in demo's, or one that Kaggle's data were put in.

    Raises:
        CompetitionError: it is none of them.
    """
    from flows.cli.kaggle import kept_folder

    found = _folder_or_demo(name, project) or kept_folder(name, project)
    if found is None:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())
    return found


def _folder_or_demo(name: str, project: Path) -> Path | None:
    with contextlib.suppress(OSError):  # a name longer than names can be
        if Path(name).exists():
            return Path(name).absolute()
    from comind.evaluation.demos.make import DEMOS, make_demo

    return make_demo(name, project / "data" / "demos") if name in DEMOS else None


def _known_names() -> str:
    from comind.evaluation.demos.make import DEMOS

    return f"name a competition folder, or one of the demos: {', '.join(sorted(DEMOS))}"


def find_solvable(name: str, project: Path) -> Path:
    """Return the folder of a competition to solve: found here, or fetched from Kaggle.

    Data that MLE-bench prepared are adapted once.

    Raises:
        CompetitionError: there is none, or a campaign cannot work on its form.
        KaggleError: it may be Kaggle's, which cannot be reached or refuses.
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

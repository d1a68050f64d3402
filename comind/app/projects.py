"""Make projects: the git and DVC repositories and the files of a folder in which campaigns run."""

import sys
from pathlib import Path
from typing import NamedTuple

from comind.adapters.dvc.versioning import ensure_repository
from comind.adapters.git.refs import enclosing_repository
from comind.app.defaults import DEPLOYMENTS, IGNORED, PARAMS, STAGES
from comind.errors import UsageError
from comind.servers.tool_servers import prepare_environment
from comind.system.files import write_atomically

_FILES = {"params.yaml": PARAMS, "dvc.yaml": STAGES, "prefect.yaml": DEPLOYMENTS, ".gitignore": IGNORED}
_GIT, _DVC = "git repository", "DVC repository"


class MadeProject(NamedTuple):
    """A project, with its parts that were made and those that existed."""

    folder: Path
    made: list[str]
    kept: list[str]


def init_project(folder: Path) -> MadeProject:
    """Make a project in a folder; a file that exists is never changed.

    Raises:
        UsageError: it is the home folder or the root of the file system.
        OrchestrationError: git or DVC fails.
    """
    refuse_shared_folder(folder)
    existed = {
        _GIT: enclosing_repository(folder) is not None,
        _DVC: (folder / ".dvc").is_dir(),
        **{name: (folder / name).exists() for name in _FILES},
    }
    prepare_environment(folder)
    ensure_repository(folder)
    for name, source in _FILES.items():
        if not existed[name]:
            write_atomically(folder / name, source.read_bytes())
    made = [name for name, before in existed.items() if not before]
    return MadeProject(folder, made, [name for name in existed if name not in made])


def announce_project(folder: Path) -> None:
    """Print what a command is about to make in a folder that is no project yet; nothing for others.

    Raises:
        UsageError: it is the home folder or the root of the file system.
    """
    if (folder / ".dvc").is_dir():
        return
    refuse_shared_folder(folder)
    top = enclosing_repository(folder)
    repositories = "a git and a DVC repository" if top is None else f"a DVC repository in that of {top}"
    folders = "the folders data, runs, mlruns and .prefect"
    sys.stderr.write(f"project: {folder} gets {repositories}, and {folders}\n")
    sys.stderr.flush()


def refuse_shared_folder(folder: Path) -> None:
    """Refuse to make a project where all files of a user or of the machine are.

    Raises:
        UsageError: it is the home folder or the root of the file system, and no project yet.
    """
    if (folder / ".dvc").is_dir():
        return
    place = folder.resolve()
    what = {Path(place.anchor): "the root of the file system", Path.home().resolve(): "your home folder"}
    if place in what:
        raise UsageError(
            f"{folder} is {what[place]}: no project is made there",
            hint="make one with comind init DIR and work in it, or name a folder with --out DIR",
        )

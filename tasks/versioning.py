"""Data in DVC, with one writer; the one module that knows DVC."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock

from comind.errors import OrchestrationError
from tasks.git import enclosing_repository, make_repository, unstage

__all__ = ["ensure_repository", "pointer_of", "version"]

_LOCK_SECONDS = 600.0


def ensure_repository(project: Path) -> None:
    """Make `project` a DVC repository in git, where it is not yet one.

    Raises:
        OrchestrationError: git is missing, or git or DVC refuses.
    """
    if (project / ".dvc").is_dir() and enclosing_repository(project) is not None:
        return
    from dvc.repo import Repo

    _hush()
    top = enclosing_repository(project)
    if top is None:
        make_repository(project)
        top = project
    with _plain_errors(f"{project} cannot be made a DVC repository"):
        repository = Repo.init(str(project), subdir=project.resolve() != top.resolve())
        with repository.config.edit() as settings:
            settings["core"] = {"analytics": False, "autostage": False}
        repository.close()
    unstage(project, [".dvc", ".dvcignore"])  # DVC stages its settings; the index is the user's


def version(project: Path, paths: Sequence[Path]) -> list[Path]:
    """Put files or folders below `project` under DVC and return their pointer files.

    What is unchanged costs next to nothing, so doing it again after a crash is right. Calls from any
    process are serialised: parallel writers would lose DVC's own lock.

    Raises:
        OrchestrationError: DVC refuses.
    """
    if not paths:
        return []
    from dvc.repo import Repo

    _hush()
    with (
        FileLock(project / ".dvc" / "tmp" / "comind.lock", timeout=_LOCK_SECONDS),
        _plain_errors(f"DVC cannot version {', '.join(path.name for path in paths)}"),
        Repo(str(project)) as repository,
    ):
        repository.add([str(path) for path in paths])
    return [pointer_of(path) for path in paths]


def pointer_of(path: Path) -> Path:
    """Return the `.dvc` file that stands for `path`."""
    return path.with_name(path.name + ".dvc")


def _hush() -> None:
    """Keep DVC's progress bars and its advice on git off the terminal; errors come as exceptions."""
    for name in ("dvc", "dvc_data", "dvc_objects"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def _plain_errors(what: str) -> Iterator[None]:
    from dvc.exceptions import DvcException

    try:
        yield
    except DvcException as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise OrchestrationError(f"{what}: {reason[0]}") from None

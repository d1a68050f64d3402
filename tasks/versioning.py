"""Data in DVC, with one writer; the one module that knows DVC.

Everything here raises OrchestrationError where DVC refuses.
"""

import contextlib
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from comind.errors import OrchestrationError
from comind.system.scratch import ScratchFolder
from tasks.git import enclosing_repository, init_repository, unstage

__all__ = [
    "_parse_md5",
    "cached_objects",
    "drop_unused",
    "ensure_repository",
    "pointer_of",
    "pull",
    "push",
    "recorded_md5",
    "version",
]

_LOCK_SECONDS = 600.0
_LINKS = "reflink,hardlink,copy"


def ensure_repository(project: Path) -> None:
    """Make `project` a DVC repository in git, where it is not yet one."""
    if (project / ".dvc").is_dir() and enclosing_repository(project) is not None:
        return
    from dvc.repo import Repo

    _hush()
    top = enclosing_repository(project)
    if top is None:
        init_repository(project)
        top = project
    with _plain_errors(f"{project} cannot be made a DVC repository"):
        repository = Repo.init(str(project), subdir=project.resolve() != top.resolve())
        with repository.config.edit() as settings:
            settings["core"] = {"analytics": False, "autostage": False}
            # A link costs no second copy of the data; what is read-only cannot be changed by mistake.
            settings["cache"] = {"type": _LINKS}
        repository.close()
    unstage(project, [".dvc", ".dvcignore"])  # DVC stages its settings; the index is the user's


def version(project: Path, paths: Sequence[Path]) -> list[Path]:
    """Put files or folders below `project` under DVC and return their pointer files.

    What is unchanged costs next to nothing, so doing it again after a crash is right. Calls from any
    process are serialised: parallel writers would lose DVC's own lock.
    """
    if not paths:
        return []
    with _writing(project, f"DVC cannot version {', '.join(path.name for path in paths)}") as repository:
        repository.add([str(path) for path in paths])
    return [pointer_of(path) for path in paths]


def push(project: Path, pointers: Mapping[str, bytes]) -> int:
    """Send what pointers stand for to the default remote; returns how many files it did not have.

    Pointers are contents of `.dvc` files by name; they need not be in the working tree.

    Raises:
        OrchestrationError: there is no default remote, it refuses, or the data is not in the cache.
    """
    with (
        ScratchFolder("dvc") as place,
        _one_writer(project),
        _beside(project, place, pointers, "DVC cannot push") as repository,
    ):
        if not repository.config["core"].get("remote"):
            raise OrchestrationError(
                f"{project}: DVC has no default remote", hint="dvc remote add -d NAME FOLDER-OR-URL"
            )
        return int(repository.push())


def pull(project: Path, place: Path, pointers: Mapping[str, bytes]) -> None:
    """Restore what pointers stand for below the folder `place`, from the cache or the remote.

    Raises:
        OrchestrationError: something is neither in the cache nor at a remote.
    """
    what = "DVC cannot restore the data"
    with _one_writer(project), _beside(project, place, pointers, what, _REMOTE_HINT) as repository:
        if repository.config["core"].get("remote"):
            repository.pull()
        else:
            repository.checkout()


def drop_unused(
    project: Path, kept: Mapping[str, bytes], gone: Mapping[str, bytes], *, dry: bool
) -> int:
    """Drop from the cache what nothing needs; returns how many files that are, or about would be.

    Kept is what the working tree, any branch, tag or experiment points to, and `kept`, by any name. The
    pointers `gone` of the working tree are removed with their data, unless this is a dry run. DVC's own
    `gc` does not see refs of campaigns and would drop their data.
    """
    if not dry:
        _forget([project / name for name in gone])
    what = "DVC cannot collect garbage"
    with _writing(project, what) as repository:
        commits = hasattr(repository.scm, "gitpython") and bool(repository.scm.list_all_commits())
        used = repository.used_objs(
            all_branches=commits, all_tags=commits, all_experiments=commits, force=True
        )
        needed = _hashes(used)
        if dry:
            needed -= _used_beside(project, gone, what)
        needed |= _used_beside(project, kept, what)
        unneeded = set(repository.cache.local.all()) - needed
        if not dry:
            for each in unneeded:
                path = Path(repository.cache.local.oid_to_path(each))
                path.chmod(0o644)
                path.unlink()
        return len(unneeded)


def _used_beside(project: Path, pointers: Mapping[str, bytes], what: str) -> set[str]:
    with ScratchFolder("dvc") as place, _beside(project, place, pointers, what) as other:
        return _hashes(other.used_objs(force=True))


def _hashes(used: Mapping[Any, Any]) -> set[str]:
    """Return the hashes of objects that DVC says are used, with the lists of folders' files."""
    return {each.value for ids in used.values() for each in ids}


def _forget(pointers: Sequence[Path]) -> None:
    """Remove `.dvc` files, with the data they stand for, from the working tree."""
    for pointer in pointers:
        data = pointer.with_suffix("")
        if data.is_dir():
            shutil.rmtree(data)
        else:
            data.unlink(missing_ok=True)
        pointer.unlink(missing_ok=True)


def cached_objects(project: Path, hashes: Sequence[str]) -> list[Path]:
    """Return where the cache keeps objects with these hashes, whether or not they are there."""
    root = _cache_of(project)
    return [root / each[:2] / each[2:] for each in hashes]


@cache
def _cache_of(project: Path) -> Path:
    """Return the folder of the cache's objects; opening a repository takes a moment."""
    _hush()
    with _plain_errors("DVC cannot read its settings"), _repository(project) as repository:
        return Path(repository.cache.local.path)


def recorded_md5(pointer: Path) -> str:
    """Return DVC's hash in a `.dvc` file; empty where there is no such file."""
    return (_parse_md5(pointer.read_bytes()) or "") if pointer.is_file() else ""


def _parse_md5(pointer: bytes) -> str | None:
    """Return the hash that the content of a `.dvc` file names; None where it is damaged."""
    try:
        [out] = yaml.safe_load(pointer)["outs"]
        return str(out["md5"])
    except (yaml.YAMLError, KeyError, ValueError, TypeError):
        return None


def pointer_of(path: Path) -> Path:
    """Return the `.dvc` file that stands for `path`."""
    return path.with_name(path.name + ".dvc")


_REMOTE_HINT = "name the remote that holds it: dvc remote add --local -d NAME FOLDER-OR-URL"


@contextlib.contextmanager
def _one_writer(project: Path) -> Iterator[None]:
    lock = project / ".dvc" / "tmp" / "comind.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock, timeout=_LOCK_SECONDS):
        yield


@contextlib.contextmanager
def _writing(project: Path, what: str) -> "Iterator[Any]":
    _hush()
    with _one_writer(project), _plain_errors(what), _repository(project) as repository:
        yield repository


def _repository(root: Path) -> Any:
    from dvc.repo import Repo

    return Repo(str(root))


@contextlib.contextmanager
def _beside(
    project: Path, place: Path, pointers: Mapping[str, bytes], what: str, hint: str = ""
) -> "Iterator[Any]":
    """Give a repository in `place` that holds these pointers and shares the project's cache."""
    from dvc.repo import Repo

    _hush()
    place.mkdir(parents=True, exist_ok=True)
    with _plain_errors(what, hint=hint):
        if not (place / ".dvc").is_dir():
            Repo.init(str(place), no_scm=True).close()
        with _repository(project) as own, _repository(place) as other:
            settings = own.config
            kept = str(Path(own.cache.local.path).parents[1])
            with other.config.edit() as edited:
                edited["core"] = {"analytics": False, "no_scm": True}
                edited["cache"] = {"dir": kept, "type": _LINKS}
                if settings["core"].get("remote"):
                    edited["core"]["remote"] = settings["core"]["remote"]
                edited["remote"] = {name: dict(each) for name, each in settings["remote"].items()}
        for name, content in pointers.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        with _repository(place) as repository:
            yield repository


def _hush() -> None:
    """Keep DVC's progress bars and its advice on git off the terminal; errors come as exceptions."""
    import dvc.repo  # noqa: F401 - sets its own levels when it is imported

    for name in ("dvc", "dvc_data", "dvc_objects"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def _plain_errors(what: str, *, hint: str = "") -> Iterator[None]:
    from dvc.exceptions import DvcException

    try:
        yield
    except DvcException as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise OrchestrationError(f"{what}: {reason[0]}", hint=hint) from None

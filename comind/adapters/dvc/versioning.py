"""Version data with DVC: add, push, restore, verify and collect garbage.

The one module that imports DVC. Every function raises OrchestrationError where DVC fails, DiskError
where the disk is full, and ServiceError where another process keeps the lock for ten minutes.
"""

import atexit
import contextlib
import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from comind.adapters.git.refs import enclosing_repository, ignore_files, init_repository, unstage
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import OrchestrationError
from comind.system.disk import full_disk
from comind.system.locks import exclusive
from comind.system.temporary_folders import scratch_folder

_LOCK_SECONDS = 600
_NAMED = 3  # targets in a message
_LINKS = "reflink,hardlink,copy"
_REMOTE_HINT = "name the remote that holds it: dvc remote add --local -d NAME FOLDER-OR-URL"


def ensure_repository(project: Path) -> None:
    """Initialize git and DVC in `project`, where that is not done yet; one process at a time."""
    lock = ProjectFolder(project).orchestration / "setup.lock"
    with exclusive(lock, _LOCK_SECONDS, "initialize git and DVC"):
        if not (project / ".dvc").is_dir() or enclosing_repository(project) is None:
            _initialize(project)
        ignore_files(project)


def _initialize(project: Path) -> None:
    top = enclosing_repository(project)
    if top is None:
        init_repository(project)
        top = project
    with _dvc(project, f"{project} cannot be made a DVC repository") as dvc:
        repository = dvc.init(str(project), subdir=project.resolve() != top.resolve())
        with repository.config.edit() as settings:
            settings["core"] = {"analytics": False, "autostage": False}
            # Links save a second copy of the data; DVC makes them read-only.
            settings["cache"] = {"type": _LINKS}
        repository.close()
    unstage(project, [".dvc", ".dvcignore"])  # DVC stages its settings; the index is the user's


def version(project: Path, paths: Sequence[Path]) -> list[Path]:
    """Add files or folders below `project` to DVC and return their `.dvc` files.

    Idempotent, and cheap for what is unchanged. A file lock serialises calls of all processes: parallel
    writers would fail on DVC's own lock.
    """
    if not paths:
        return []
    with _writing(project, f"DVC cannot version {', '.join(path.name for path in paths)}") as repository:
        repository.add([str(path) for path in paths])
    return [pointer_of(path) for path in paths]


def push(project: Path, pointers: Mapping[str, bytes]) -> int:
    """Upload the data of `pointers` to the default remote; returns how many files were new there.

    `pointers` are contents of `.dvc` files by name; they need not be in the working tree.

    Raises:
        OrchestrationError: there is no default remote, it refuses, or the data is not in the cache.
    """
    with (
        scratch_folder("dvc") as place,
        _lock(project),
        _beside(project, place, pointers, "DVC cannot push") as repository,
    ):
        if not repository.config["core"].get("remote"):
            raise OrchestrationError(
                f"{project}: DVC has no default remote", hint="dvc remote add -d NAME FOLDER-OR-URL"
            )
        return int(repository.push())


def default_remote(project: Path, settings: bytes | None = None) -> str:
    """Return the name of the default remote in `.dvc/config`, or in `settings` in its place, else ""."""
    with _dvc(project, "DVC cannot read its settings"):
        given = (project / ".dvc" / "config").read_bytes() if settings is None else settings
        return str(_parse_settings(project, given).get("core", {}).get("remote", ""))


def pull(project: Path, place: Path, pointers: Mapping[str, bytes], settings: bytes = b"") -> None:
    """Restore the data of `pointers` below the folder `place`, from the cache or the remote.

    The remote is the default one of the project; where it has none, the one of `settings`, the content
    of a `.dvc/config`.

    Raises:
        OrchestrationError: something is neither in the cache nor at a remote.
    """
    what = "DVC cannot restore the data"
    with _lock(project), _beside(project, place, pointers, what, settings, _REMOTE_HINT) as repository:
        if repository.config["core"].get("remote"):
            repository.pull()
        else:
            repository.checkout()


def drop_unused(
    project: Path, kept: Mapping[str, bytes], gone: Mapping[str, bytes], *, dry: bool
) -> int:
    """Delete unused objects from the cache; returns how many files that are (or, if `dry`, would be).

    Used is what the working tree, a branch, tag or experiment points to, and the pointers `kept` (their
    names are free). The pointers `gone` of the working tree are deleted with their data, unless `dry`.
    DVC's own `gc` does not read the refs of campaigns; of their experiments it does.
    """
    if not dry:
        _delete_tracked([project / name for name in gone])
    from dvc_data.hashfile.gc import gc

    what = "DVC cannot collect garbage"
    with _writing(project, what) as repository:
        commits = hasattr(repository.scm, "gitpython") and bool(repository.scm.list_all_commits())
        used = repository.used_objs(
            all_branches=commits, all_tags=commits, all_experiments=commits, force=True
        )
        needed = _united(used)
        if dry:
            needed -= _used_beside(project, gone, what)
        needed |= _used_beside(project, kept, what)
        return int(gc(repository.cache.local, needed, dry=dry))


def _used_beside(project: Path, pointers: Mapping[str, bytes], what: str) -> set[Any]:
    with scratch_folder("dvc") as place, _beside(project, place, pointers, what) as other:
        return _united(other.used_objs(force=True))


def _united(used: Mapping[Any, Any]) -> set[Any]:
    """Return the hashes of used objects of all storages, including the file lists of folders."""
    return set().union(*used.values())


def _delete_tracked(pointers: Sequence[Path]) -> None:
    """Delete `.dvc` files and their data from the working tree."""
    for pointer in pointers:
        data = pointer.with_suffix("")
        if data.is_dir():
            shutil.rmtree(data)
        else:
            data.unlink(missing_ok=True)
        pointer.unlink(missing_ok=True)


def find_damage(project: Path, data: Path, pointer: bytes) -> Iterator[str]:
    """Compare the versioned file or folder `data` with its recorded hashes; yields a line per fault.

    Every byte is hashed; time stamps are not trusted. `pointer` is the content of the `.dvc` file; the
    project's cache holds the list of a folder's files.
    """
    expected = _parse_md5(pointer)
    if expected is None:
        yield "its pointer is damaged"
        return
    entries = _listed(project, expected)
    if entries is None:
        yield "its list of files is missing from the cache or damaged"
        return
    for name, md5 in sorted(entries.items()):
        if not (data / name).is_file():
            yield f"{name or data.name} is missing"
        elif _md5(data / name) != md5:
            yield f"{name or data.name} is not what was versioned"
    extra = {p.relative_to(data).as_posix() for p in data.rglob("*") if p.is_file()} - entries.keys()
    yield from (f"{name} was not versioned with it" for name in sorted(extra))


def find_cache_damage(project: Path, pointer: bytes) -> Iterator[str]:
    """Compare the cache's objects of a `.dvc` file with their hashes; yields a line per fault."""
    expected = _parse_md5(pointer)
    if expected is None:
        return  # `find_damage` reports it
    entries = _listed(project, expected)
    if entries is None:
        yield "its list of files is missing or damaged"
        return
    for md5, name in {md5: name for name, md5 in entries.items()}.items():
        path = cached_object(project, md5)
        if not path.is_file():
            yield f"{name or 'it'} is missing"
        elif _md5(path) != md5:
            yield f"{name or 'it'} is damaged"


def _listed(project: Path, expected: str) -> dict[str, str] | None:
    """Return hashes by file name, "" for a single file; None where the cache's list is damaged."""
    if not expected.endswith(".dir"):
        return {"": expected}
    listing = cached_object(project, expected)
    if not listing.is_file() or _md5(listing) + ".dir" != expected:
        return None
    return {each["relpath"]: each["md5"] for each in json.loads(listing.read_bytes())}


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()  # DVC's


def cached_object(project: Path, md5: str) -> Path:
    """Return the cache's path of an object, whether or not it exists."""
    return _cache_of(project) / md5[:2] / md5[2:]


@cache
def _cache_of(project: Path) -> Path:
    """Return the folder of the cache's objects; cached, as opening a repository is slow."""
    with _dvc(project, "DVC cannot read its settings") as dvc, dvc(str(project)) as repository:
        return Path(repository.cache.local.path)


def recorded_md5(pointer: Path) -> str:
    """Return the hash in a `.dvc` file; empty where the file does not exist."""
    return (_parse_md5(pointer.read_bytes()) or "") if pointer.is_file() else ""


def _parse_md5(pointer: bytes) -> str | None:
    """Return the hash in the content of a `.dvc` file; None where it is damaged."""
    try:
        [out] = yaml.safe_load(pointer)["outs"]
        return str(out["md5"])
    except (yaml.YAMLError, KeyError, ValueError, TypeError):
        return None


def pointer_of(path: Path) -> Path:
    """Return the path of the `.dvc` file for `path`."""
    return path.with_name(path.name + ".dvc")


@contextlib.contextmanager
def _lock(project: Path) -> Iterator[None]:
    lock = project / ".dvc" / "tmp" / "comind.lock"
    with exclusive(lock, _LOCK_SECONDS, "write to DVC's cache"):
        yield


@contextlib.contextmanager
def _writing(project: Path, what: str) -> "Iterator[Any]":
    with _lock(project), _dvc(project, what) as dvc, dvc(str(project)) as repository:
        yield repository


@contextlib.contextmanager
def _beside(
    project: Path,
    place: Path,
    pointers: Mapping[str, bytes],
    what: str,
    settings: bytes = b"",
    hint: str = "",
) -> "Iterator[Any]":
    """Open a repository in `place` that holds `pointers` and shares the project's cache and remotes.

    The remotes are those of `settings` where the project has no default remote.
    """
    place.mkdir(parents=True, exist_ok=True)
    with _dvc(project, what, hint=hint, place=place) as dvc:
        if not (place / ".dvc").is_dir():
            dvc.init(str(place), no_scm=True).close()
        with dvc(str(project)) as own, dvc(str(place)) as other:
            given = own.config
            if not given["core"].get("remote"):
                given = {"core": {}, "remote": {}} | _parse_settings(project, settings)
            kept = str(Path(own.cache.local.path).parents[1])
            with other.config.edit() as edited:
                edited["core"] = {"analytics": False, "no_scm": True}
                edited["cache"] = {"dir": kept, "type": _LINKS}
                if given["core"].get("remote"):
                    edited["core"]["remote"] = given["core"]["remote"]
                edited["remote"] = {name: dict(each) for name, each in given["remote"].items()}
        for name, content in pointers.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        with dvc(str(place)) as repository:
            yield repository


def _parse_settings(project: Path, content: bytes) -> dict[str, Any]:
    """Return the content of a `.dvc/config`, with relative paths as those of this project."""
    from dvc.config import Config

    with tempfile.NamedTemporaryFile(prefix="comind-dvc-") as file:
        Path(file.name).write_bytes(content)
        given = Config.load_file(file.name)
    found: dict[str, Any] = Config._load_paths(given, str(project / ".dvc" / "config"))  # noqa: SLF001 - of another file
    return found


@contextlib.contextmanager
def _dvc(project: Path, what: str, *, hint: str = "", place: Path | None = None) -> Iterator[Any]:
    """Yield DVC's class of repositories, without progress bars and hints on git.

    `place` is the folder that holds the data, where it is not the project.

    Raises:
        DiskError: the disk is full.
        OrchestrationError: DVC failed within the block.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo  # importing it sets log levels of its own

    _quieten()
    try:
        yield Repo
    except Exception as error:
        if full := full_disk(error, project, "DVC's cache"):
            raise full from None
        if not isinstance(error, DvcException):
            raise
        reason = _reason(error, place or project)
        raise OrchestrationError(f"{what}: {reason}", hint=hint) from None


def _reason(error: Exception, place: Path) -> str:
    """Return the reason of a failure of DVC in one line, with the first of the missing targets."""
    targets = getattr(error, "target_infos", ())
    if targets:
        here = f"{place.resolve()}/"
        names = sorted(str(Path(each).resolve()).removeprefix(here) for each in targets)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"neither its cache nor a remote has {', '.join(names[:_NAMED])}{more}"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@cache
def _quieten() -> None:
    """Keep what DVC prints by itself from the terminal: logs, spinners, and a code at the exit."""
    from dvc.logger import colorama
    from dvc.ui import ui

    for name in ("dvc", "dvc_data", "dvc_objects"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    ui.error_console.quiet = True
    atexit.unregister(colorama.initialise.reset_all)

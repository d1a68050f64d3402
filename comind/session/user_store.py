"""List the user's store of models and datasets: what is in it, how to load it, and its hashes.

The store's two folders are mounted read-only at `input/models` and `input/datasets` of every attempt.
Files are listed and hashed, never loaded.

An item's hash is over its manifest: name, size and content hash of each file, sorted by name. Of a file
above 1 MiB, 64 blocks of 16 KiB spread evenly over it are hashed; after 500 files only name and size.
Modification times are not part of it.
"""

import errno
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from comind.domain.environment import StoreItem
from comind.domain.resources import STORES, StoreFolders, StoreKey
from comind.errors import UsageError
from comind.session.pretrained import WEIGHTS, kind_of_task, pretrained_model
from comind.session.session_ports import Input

_WHOLE_BYTES = 1 << 20
_BLOCKS, _BLOCK_BYTES = 64, 1 << 14
_HASHED_FILES = 500
_MOST_ITEMS = 200
_DEPTH = 4  # of folders that hold models, below the store's own
_HUB = "models--"
"""Prefix of folders in the Hugging Face hub's cache; owner and name follow."""
_CHECKPOINTS = "checkpoints"
"""Folder in which torch looks for files by their names."""

_FOLDERS = {
    "sentence-transformers": "sentence_transformers.SentenceTransformer({path!r})",
    "timm": "timm.create_model('local-dir:{path}', pretrained=True)",
    "transformers": "transformers.AutoModel.from_pretrained({path!r}); AutoTokenizer the same",
    "tokenizer": "transformers.AutoTokenizer.from_pretrained({path!r})",
    "torch hub": "torch.hub.load({path!r}, ENTRY_POINT, source='local')",
    "nltk data": "NLTK_DATA names it: nltk finds what it needs by itself",
}
_CHECKPOINT_FORMAT = "torch checkpoint"
_CHECKPOINT = "torch.load({path!r}, map_location='cpu'); torch.hub and torchvision find it by its name"
_FILES = {
    ".safetensors": "safetensors.torch.load_file({path!r}), or timm.create_model(ARCHITECTURE, "
    "checkpoint_path={path!r})",
    ".pt": "torch.load({path!r}, map_location='cpu')",
    ".pth": "torch.load({path!r}, map_location='cpu')",
    ".joblib": "joblib.load({path!r})",
    ".kv": "gensim.models.KeyedVectors.load({path!r})",
    ".vec": "gensim.models.KeyedVectors.load_word2vec_format({path!r})",
    ".cbm": "catboost.CatBoost().load_model({path!r})",
    ".csv": "pandas.read_csv({path!r})",
    ".tsv": "pandas.read_csv({path!r}, sep='\\t')",
    ".parquet": "pandas.read_parquet({path!r})",
    ".feather": "pandas.read_feather({path!r})",
    ".jsonl": "pandas.read_json({path!r}, lines=True)",
    ".npy": "numpy.load({path!r})",
    ".npz": "numpy.load({path!r})",
}
_PLAIN = "open({path!r}, 'rb')"


def check_store(store: StoreFolders) -> None:
    """Check that the folders exist.

    Raises:
        UsageError: one does not.
    """
    for key, folder in store.named():
        if not Path(folder).is_dir():
            where = f"params.yaml: store.{key}"
            raise UsageError(f"{where}: {folder} is no folder", hint="name one that is there, or null")


def store_inputs(store: StoreFolders) -> tuple[Input, ...]:
    """Return the folders of the store as inputs of every attempt."""
    return tuple(Input(Path(folder), STORES[key], linked=True) for key, folder in store.named())


def store_settings(store: StoreFolders, workspace: Path) -> dict[str, str]:
    """Return the environment variables that make libraries look into the store first.

    Args:
        store: the folders of the host.
        workspace: the working directory inside the sandbox.
    """
    if store.models is None:
        return {}
    folder, seen = Path(store.models), workspace / STORES["models"]
    hub = seen / _hub_cache(folder).relative_to(folder)
    torch = seen / _torch_home(folder).relative_to(folder)
    settings = {
        "HF_HOME": seen,
        "HF_HUB_CACHE": hub,
        "SENTENCE_TRANSFORMERS_HOME": hub,
        "TORCH_HOME": torch,
    }
    for name, place in (("NLTK_DATA", "nltk_data"), ("KERAS_HOME", "keras")):
        if (folder / place).is_dir():
            settings[name] = seen / place
    return {name: str(path) for name, path in settings.items()}


def place_in_store(folder: Path, name: str) -> Path:
    """Return where a model belongs in the store's folder of models: there libraries find it by name.

    Args:
        folder: the folder of models.
        name: of the shipped list, or OWNER/NAME of a hub.
    """
    known = pretrained_model(name)
    source = known.source if known else "hub"
    if source == "file":
        return _torch_home(folder) / "hub" / _CHECKPOINTS / name
    if source == "package":
        return folder / name
    return _hub_cache(folder) / (_HUB + name.replace("/", "--"))


def is_in_store(folder: Path, name: str) -> bool:
    """Return whether a model is in its place: of a hub's cache, its main revision with weights."""
    place = place_in_store(folder, name)
    if not place.name.startswith(_HUB):
        return place.exists()
    revision = _main_revision(place)
    snapshot = place / "snapshots" / revision
    return bool(revision) and any(
        path.suffix in WEIGHTS and path.is_file() for path in snapshot.rglob("*")
    )


def check_readable(path: Path) -> None:
    """Check that attempts, which do not run as root, can read a file or folder.

    Raises:
        PermissionError: they cannot.
    """
    if os.getuid() == 0 and not path.stat().st_mode & stat.S_IROTH:
        raise PermissionError(errno.EACCES, "is not readable for other users", str(path))


def readable_hint(folder: Path) -> str:
    """Return the hint of a folder that `check_readable` refuses."""
    return f"attempts run as another user: chmod -R a+rX {folder}"


# --- listing --------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """A model or dataset on the host; `load` is a template."""

    path: Path
    format: str
    load: str = ""
    name: str = ""


def list_store(key: StoreKey, folder: Path) -> tuple[StoreItem, ...]:
    """Return the models or datasets in `folder`, sorted by path.

    A model is a folder with a snapshot (transformers, timm, sentence-transformers, torch hub), plain or
    in a cache of the Hugging Face hub, or a file; each folder and file with datasets is one.

    Raises:
        UsageError: the folder does not exist, or something in it cannot be read.
    """
    check_store(StoreFolders.model_validate({key: str(folder)}))
    where = f"params.yaml: store.{key}"
    try:
        found = list(_models(folder) if key == "models" else _datasets(folder))
        items = [_item(each, folder, STORES[key]) for each in found[:_MOST_ITEMS]]
    except OSError as error:
        raise UsageError(
            f"{where}: {error.filename or folder}: {error.strerror}",
            hint=readable_hint(folder),
        ) from None
    except ValueError as error:
        raise UsageError(f"{where}: {error}", hint="copy it into the folder, or leave it out") from None
    if (left := len(found) - _MOST_ITEMS) > 0:
        items.append(StoreItem(name=f"{left} more", path=STORES[key], format="folder", load=""))
    return tuple(items)


def _item(found: _Found, folder: Path, at: str) -> StoreItem:
    relative = found.path.relative_to(folder).as_posix()
    path, name = f"{at}/{relative}", found.name or relative
    known = pretrained_model(found.path.name if found.format == _CHECKPOINT_FORMAT else name)
    load = known.load if known and known.load else found.load
    files = sorted(_files(found.path, folder.resolve()))
    return StoreItem(
        name=name,
        path=path,
        format=found.format,
        load=load.format(path=path, name=name) or _summary(files),
        about=f"{known.good_for}; licence: {known.licence}" if known else "",
        recommended_for=kind_of_task(known) if known else "",
        bytes=sum(size for _, _, size in files),
        sha256=_manifest(files),
    )


def _files(path: Path, store: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield name, path and size of each file of an item; links are followed within the store.

    Raises:
        ValueError: a link leads out of the store, which alone is mounted.
        PermissionError: a file is not readable for other users.
    """
    pending = [(path.name, path)]
    while pending:
        name, each = pending.pop()
        if each.is_symlink() and not each.resolve().is_relative_to(store):
            raise ValueError(f"{each} is a link out of the store")
        check_readable(each)
        facts = each.stat()
        if stat.S_ISDIR(facts.st_mode):
            pending += [(f"{name}/{below.name}", below) for below in _entries(each)]
        elif stat.S_ISREG(facts.st_mode):
            yield name, each, facts.st_size


def _summary(files: Sequence[tuple[str, Path, int]]) -> str:
    """Return the number of files and the most frequent suffixes of a folder."""
    kinds = Counter(path.suffix.lower() or "without suffix" for _, path, _ in files)
    return f"{len(files)} files: " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common(5))


def _manifest(files: Sequence[tuple[str, Path, int]]) -> str:
    digest = hashlib.sha256()
    for number, (name, path, size) in enumerate(files):
        content = _content(path, size) if number < _HASHED_FILES else b""
        digest.update(f"{len(name.encode())}:{name}:{size}:".encode() + content)
    return digest.hexdigest()


def _content(path: Path, size: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= _WHOLE_BYTES:
            digest.update(file.read())
        else:
            for number in range(_BLOCKS):
                file.seek(number * (size - _BLOCK_BYTES) // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK_BYTES))
    return digest.digest()


def _models(folder: Path, store: Path | None = None, depth: int = _DEPTH) -> Iterator[_Found]:
    store = store or folder
    for path in _entries(folder):
        if path.is_file():
            known = _CHECKPOINT if folder.name == _CHECKPOINTS else _FILES.get(path.suffix.lower())
            form = _CHECKPOINT_FORMAT if known == _CHECKPOINT else "file"
            yield _Found(path, form, known or _PLAIN)
        elif _is_hub(path):
            yield from _snapshot(path, named=folder == _hub_cache(store))
        elif form := _format(path):
            yield _Found(path, form, _FOLDERS[form])
        elif folder == store and _is_of_package(path):
            yield _Found(path, "folder")
        elif depth and any(each.is_dir() or each.suffix.lower() in _FILES for each in _entries(path)):
            yield from _models(path, store, depth - 1)
        else:
            yield _Found(path, "folder")


def _datasets(folder: Path) -> Iterator[_Found]:
    for path in _entries(folder):
        if path.is_file():
            yield _Found(path, "file", _FILES.get(path.suffix.lower(), _PLAIN))
        else:
            yield _Found(path, "folder")


def _snapshot(cached: Path, *, named: bool) -> Iterator[_Found]:
    """Find one repository's snapshot in the hub's cache: the revision of `main`, or else the last one.

    Args:
        cached: the repository's folder.
        named: whether libraries find a model there by its name.
    """
    revisions = {path.name: path for path in _entries(cached / "snapshots")}
    if not revisions:
        return
    wanted = _main_revision(cached)
    path = revisions.get(wanted, revisions[max(revisions)])
    name = cached.name.partition("--")[2].replace("--", "/")
    form = _format(path)
    load = _FOLDERS.get(form, "")
    if named and wanted in revisions:
        load = load.replace("local-dir:{path}", "hf-hub:{name}").replace("{path!r}", "{name!r}")
    yield _Found(path, form or "folder", load, name)


def _main_revision(cached: Path) -> str:
    """Return the revision of `main` of a repository in the hub's cache; empty for none."""
    main = cached / "refs" / "main"
    return main.read_text().strip() if main.is_file() else ""


def _format(folder: Path) -> str:
    """Return what a folder is a snapshot of; empty if it is none."""
    names = {path.name for path in _entries(folder)}
    if "modules.json" in names:
        return "sentence-transformers"
    if "config.json" in names:
        config = _config(folder / "config.json")
        if isinstance(config.get("architecture"), str):
            return "timm"
        return "transformers" if "model_type" in config else ""
    if names & {"tokenizer.json", "tokenizer_config.json"}:
        return "tokenizer"
    if "hubconf.py" in names:
        return "torch hub"
    return "nltk data" if folder.name == "nltk_data" else ""


def _config(path: Path) -> dict[str, object]:
    try:
        config = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _is_hub(path: Path) -> bool:
    return path.name.startswith(_HUB) and (path / "snapshots").is_dir()


def _is_of_package(path: Path) -> bool:
    """Return whether a folder has the files of a package of the shipped list, which are one model."""
    known = pretrained_model(path.name)
    return known is not None and known.source == "package"


def _torch_home(store: Path) -> Path:
    """Return the folder of torch's caches: `torch` in the store, if it is there, or the store itself."""
    return store / "torch" if (store / "torch").is_dir() else store


def _hub_cache(store: Path) -> Path:
    """Return the hub's cache folder: the store itself, or `hub` in it."""
    return store if any(_is_hub(each) for each in _entries(store)) else store / "hub"


def _entries(folder: Path) -> list[Path]:
    """Return the entries of a folder without hidden ones; none if it is not a folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))

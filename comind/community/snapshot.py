"""What a campaign keeps of a community: the view of one moment, and files that attempts can mount."""

import shutil
import tempfile
from datetime import datetime
from pathlib import Path, PurePosixPath

from comind.community.asof import as_of as seen_from
from comind.community.folder import read_community
from comind.community.items import CommunityItems, DatasetItem
from comind.community.ranking import rank
from comind.community.text import is_reference
from comind.domain.community import CommunityView, Dataset, Notebook
from comind.errors import CommunityError
from comind.system.files import copy_plain_tree, hash_tree, write_durably

__all__ = ["SnapshotFolder", "take_snapshot"]

_KEY_LENGTH = 12
_SOLUTIONS = "solutions"
_PROGRAM = "notebook.py"


class SnapshotFolder:
    """`data/community/<key>/`: `view.json`, and `items/<owner>/<name>/` for what has files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.described = root / "view.json"
        self._items = root / "items"

    @property
    def key(self) -> str:
        """Name of the folder: competition and content hash."""
        return self.root.name

    def read(self) -> CommunityView:
        """Return what is known of the community.

        Raises:
            CommunityError: there is no finished snapshot in this folder.
        """
        try:
            return CommunityView.model_validate_json(self.described.read_bytes())
        except (OSError, ValueError):
            raise CommunityError(f"{self.root}: is no finished community snapshot") from None

    def mount_of(self, ref: str) -> Path | None:
        """Return the folder of an item's files; None for what is not here or has none."""
        folder = self._items / ref
        return folder if is_reference(ref) and folder.is_dir() else None

    def place_for(self, ref: str) -> Path:
        """Return where an item's files belong."""
        return self._items / ref


def take_snapshot(
    folder: Path,
    snapshots: Path,
    *,
    competition: str,
    as_of: datetime | None,
    maximize: bool,
    notebooks: int,
    discussions: int,
) -> SnapshotFolder:
    """Keep what the community in `folder` knew at `as_of`, below the folder `snapshots`.

    The same content makes the same folder. It appears in one step; killed before, nothing is left that
    looks like a snapshot.

    Args:
        folder: the community folder.
        snapshots: where snapshots are kept.
        competition: id of the competition; an item of an owner with this name could not be mounted.
        as_of: the moment, or None for everything that is there.
        maximize: whether greater public scores are better.
        notebooks: how many of them at most.
        discussions: how many of them at most.

    Raises:
        CommunityError: the folder, or one of its files as a whole, is not what it should be.
    """
    items = read_community(folder)
    view = rank(seen_from(items, as_of), maximize=maximize, notebooks=notebooks, discussions=discussions)
    view = _without_owners(view, {competition, _SOLUTIONS})
    snapshots.mkdir(parents=True, exist_ok=True)
    staged = SnapshotFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=snapshots)))
    try:
        for notebook in view.notebooks:
            write_durably(staged.place_for(notebook.ref) / _PROGRAM, notebook.source)
        view = _with_files(view, items, folder, staged)
        write_durably(staged.described, view.model_dump_json(indent=2) + "\n")
        staged.root.chmod(0o755)
        made = SnapshotFolder(snapshots / f"{competition}-{hash_tree(staged.root)[:_KEY_LENGTH]}")
        try:
            staged.root.rename(made.root)
        except OSError:
            if not made.described.is_file():  # else it was taken before, with the same bytes
                raise
    finally:
        shutil.rmtree(staged.root, ignore_errors=True)
    return made


def _without_owners(view: CommunityView, taken: set[str]) -> CommunityView:
    """Leave out whose place under `input/` belongs to the competition itself or to solutions."""

    def free(item: Notebook | Dataset) -> bool:
        return item.ref.split("/")[0] not in taken

    refused = [item.ref for item in view.notebooks if not free(item)]
    refused += [item.ref for item in view.datasets if not free(item)]
    said = tuple(f"{ref}: its owner's name is taken below input/" for ref in dict.fromkeys(refused))
    return view.model_copy(
        update={
            "notebooks": tuple(filter(free, view.notebooks)),
            "datasets": tuple(filter(free, view.datasets)),
            "left_out": view.left_out + said,
        }
    )


def _with_files(
    view: CommunityView, items: CommunityItems, folder: Path, staged: SnapshotFolder
) -> CommunityView:
    """Copy the datasets' files; what cannot be copied is said, and the dataset stays without files."""
    versions = {(item.ref, item.version, item.created_at): item for item in reversed(items.datasets)}
    datasets, said = [], list(view.left_out)
    for dataset in view.datasets:
        item = versions[dataset.ref, dataset.version, dataset.published_at]
        reason = _copy(item, folder, staged.place_for(dataset.ref)) if dataset.files else ""
        if reason:
            said.append(f"dataset {dataset.ref}: its files are left out: {reason}")
        datasets.append(dataset.model_copy(update={"files": dataset.files and not reason}))
    return view.model_copy(update={"datasets": tuple(datasets), "left_out": tuple(said)})


def _copy(item: DatasetItem, folder: Path, target: Path) -> str:
    """Copy a dataset's file or folder as plain files; returns why not, where not."""
    assert item.path is not None
    if target.exists():
        return "a notebook has the same name"
    try:
        source = _inside(folder, item.path)
        staged = target.with_name(f".{target.name}.new")
        staged.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            staged.mkdir()
            _check_name(source.name)
            shutil.copyfile(source, staged / source.name, follow_symlinks=False)
        else:
            _check_names(source)
            copy_plain_tree(source, staged)
        staged.rename(target)
    except (OSError, ValueError) as error:
        shutil.rmtree(target.with_name(f".{target.name}.new"), ignore_errors=True)
        return (
            (error.strerror or "they cannot be read").lower()
            if isinstance(error, OSError)
            else str(error)
        )
    return ""


def _inside(folder: Path, path: PurePosixPath) -> Path:
    """Return a plain file or folder below `folder`, on a way without links."""
    outside = path.is_absolute() or ".." in path.parts or not path.parts
    if outside or "\0" in str(path):
        raise ValueError("the path leads out of the community folder")
    place = folder
    for part in path.parts:
        place /= part
        if place.is_symlink():
            raise ValueError("the path leads over a link")
    if not place.is_file() and not place.is_dir():
        raise ValueError("there is no such file or folder")
    return place


def _check_names(folder: Path) -> None:
    """Refuse what cannot be copied as it is, and names that tools further down would stumble over."""
    for entry in folder.rglob("*"):
        _check_name(entry.name)
        if entry.is_symlink():
            raise ValueError("there is a link among them")
        if not entry.is_file() and not entry.is_dir():
            raise ValueError("there is something among them that is neither file nor folder")


def _check_name(name: str) -> None:
    if not name.isprintable():
        raise ValueError("a file's name has characters that cannot be shown")

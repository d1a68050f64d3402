"""Snapshot a community for a campaign: the ranked view of one moment, and mountable files."""

import shutil
import tempfile
from datetime import datetime
from pathlib import Path, PurePosixPath

from comind.community.access import open_community
from comind.community.asof import as_of as seen_from
from comind.community.copying import copy_files
from comind.community.items import CommunityItems
from comind.community.ranking import Selection, rank
from comind.domain.community import (
    OUTPUTS_AT,
    SUBMISSION,
    CommunityView,
    Dataset,
    Notebook,
    is_reference,
    submission_among,
)
from comind.domain.problem import SAMPLE_AT
from comind.domain.resources import STORES
from comind.errors import CommunityError
from comind.system.files import hash_tree, write_atomically

_KEY_LENGTH = 12
_SOLUTIONS = "solutions"
_PROGRAM = "notebook.py"
_OUTPUT = "output"


class SnapshotFolder:
    """`data/community/<key>/`: `view.json`, and `items/<owner>/<name>/` for items with files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.view_file = root / "view.json"
        self._items = root / "items"

    @property
    def key(self) -> str:
        """Folder name: competition and content hash."""
        return self.root.name

    def read(self) -> CommunityView:
        """Return the view.

        Raises:
            CommunityError: the snapshot is missing or unfinished.
        """
        try:
            return CommunityView.model_validate_json(self.view_file.read_bytes())
        except (OSError, ValueError):
            raise CommunityError(f"{self.root}: is no finished community snapshot") from None

    def mount_path(self, ref: str) -> Path | None:
        """Return the folder of an item's files; None if the item is unknown or has none."""
        folder = self._items / ref
        return folder if is_reference(ref) and folder.is_dir() else None

    def path_for(self, ref: str) -> Path:
        """Return the path of an item's files."""
        return self._items / ref


def take_snapshot(
    folder: Path,
    snapshots: Path,
    *,
    competition: str,
    as_of: datetime | None,
    maximize: bool,
    selection: Selection,
) -> SnapshotFolder:
    """Take a snapshot of the community in `folder` as of a moment, below the folder `snapshots`.

    Content-addressed: the same content gives the same folder. Atomic: a killed call leaves nothing that
    looks like a snapshot. `rank` selects the items; an item whose owner has the competition's name is
    left out, as its mount path is taken.

    Raises:
        CommunityError: the folder, or a file as a whole, is invalid.
    """
    items, view = ranked_view(
        folder,
        competition=competition,
        as_of=as_of,
        maximize=maximize,
        selection=selection,
    )
    snapshots.mkdir(parents=True, exist_ok=True)
    staged = SnapshotFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=snapshots)))
    try:
        for notebook in view.all_notebooks:
            write_atomically(staged.path_for(notebook.ref) / _PROGRAM, notebook.source)
        view = _with_files(view, items, folder, staged)
        if selection.datasets:
            view = _with_outputs(view, folder, staged)
        write_atomically(staged.view_file, view.model_dump_json(indent=2) + "\n")
        staged.root.chmod(0o755)
        made = SnapshotFolder(snapshots / f"{competition}-{hash_tree(staged.root)[:_KEY_LENGTH]}")
        try:
            staged.root.rename(made.root)
        except OSError:
            if not made.view_file.is_file():  # else the same content was snapshotted before
                raise
    finally:
        shutil.rmtree(staged.root, ignore_errors=True)
    return made


def ranked_view(
    folder: Path,
    *,
    competition: str,
    as_of: datetime | None,
    maximize: bool,
    selection: Selection,
) -> tuple[CommunityItems, CommunityView]:
    """Return the items of a community, and what a campaign would read of them, best first.

    Raises:
        CommunityError: the folder, or a file as a whole, is invalid.
    """
    community = open_community(folder)
    items = community.items(competition, as_of)
    item_of = items.notebook_index()
    view = rank(
        seen_from(items, as_of),
        selection,
        maximize=maximize,
        source_of=lambda each: community.source_of(item_of(each)),
    )
    return items, without_reserved_owners(view, competition)


def without_reserved_owners(view: CommunityView, competition: str) -> CommunityView:
    """Leave out items whose mount path is taken by the competition, its sample, solutions or the store.

    A further notebook does not take that of a dataset either, whose files others would miss.
    """
    taken = {competition, _SOLUTIONS, PurePosixPath(SAMPLE_AT).name, *STORES}

    def free(item: Notebook | Dataset) -> bool:
        return item.ref.split("/")[0] not in taken

    refused = [item.ref for item in view.all_notebooks if not free(item)]
    refused += [item.ref for item in view.datasets if not free(item)]
    notes = tuple(f"{ref}: its owner's name is taken below input/" for ref in dict.fromkeys(refused))
    data = {each.ref for each in view.datasets}
    notes += tuple(
        f"notebook {each.ref}: a dataset has the same name"
        for each in view.further_notebooks
        if each.ref in data
    )
    return view.model_copy(
        update={
            "notebooks": tuple(filter(free, view.notebooks)),
            "further_notebooks": tuple(
                each for each in view.further_notebooks if free(each) and each.ref not in data
            ),
            "datasets": tuple(filter(free, view.datasets)),
            "left_out": view.left_out + notes,
        }
    )


def _with_files(
    view: CommunityView, items: CommunityItems, folder: Path, staged: SnapshotFolder
) -> CommunityView:
    """Copy the datasets' files; a dataset whose files cannot be copied has none, which is noted."""
    versions = {(item.ref, item.version, item.created_at): item for item in reversed(items.datasets)}
    datasets, notes = [], list(view.left_out)
    for dataset in view.datasets:
        item = versions[dataset.ref, dataset.version, dataset.published_at]
        target = staged.path_for(dataset.ref)
        reason = ""
        if dataset.files and item.path is not None:
            taken = "a notebook has the same name" if target.exists() else ""
            reason = taken or copy_files(folder, item.path, target)
        if reason:
            notes.append(f"dataset {dataset.ref}: its files are left out: {reason}")
        datasets.append(dataset.model_copy(update={"files": dataset.files and not reason}))
    return view.model_copy(update={"datasets": tuple(datasets), "left_out": tuple(notes)})


def _with_outputs(view: CommunityView, folder: Path, staged: SnapshotFolder) -> CommunityView:
    """Copy the submission that each visible version of a notebook wrote, where it is known."""
    notebooks, notes = [], list(view.left_out)
    for notebook in view.all_notebooks:
        place = f"{OUTPUTS_AT}/{notebook.ref}/{notebook.version}"
        written = (folder / place).iterdir() if (folder / place).is_dir() else ()
        files = (each.name for each in written if each.is_file() and not each.is_symlink())
        name, reason = submission_among(files), ""
        if name is not None:
            target = staged.path_for(notebook.ref) / _OUTPUT
            reason = copy_files(folder, PurePosixPath(place, name), target)
        if reason:
            notes.append(f"notebook {notebook.ref}: its submission is left out: {reason}")
        elif name is not None:
            (target / name).rename(target / SUBMISSION)
            output = f"{_OUTPUT}/{SUBMISSION}"
            notebook = notebook.model_copy(update={"output": output})  # noqa: PLW2901
        notebooks.append(notebook)
    first = len(view.notebooks)
    return view.model_copy(
        update={
            "notebooks": tuple(notebooks[:first]),
            "further_notebooks": tuple(notebooks[first:]),
            "left_out": tuple(notes),
        }
    )

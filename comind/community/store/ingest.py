"""What can be taken into a store, one function each; the same content is taken once."""

from pathlib import Path

from comind.community.store.folder_import import folder_source, listing_source
from comind.community.store.importing import ImportResult, import_into
from comind.community.store.manifest import Manifest, is_community_store, read_manifest, write_manifest
from comind.community.store.meta_kaggle import dump_source
from comind.errors import CommunityError

__all__ = ["ingest_dump", "ingest_folder", "ingest_listing", "set_code_folder"]


def ingest_folder(root: Path, folder: Path, competition: str) -> ImportResult:
    """Take a competition's community folder into the store in `root`, which is made where it is not.

    A folder that is written anew from time to time, with `observed_at`, may be taken each time: what is
    new of it is added, and earlier moments stay as they were.

    Raises:
        CommunityError: the folder is not what it should be, or another import is running.
        DiskError: there is no room.
    """
    return import_into(root, folder_source(folder, competition, root))


def ingest_listing(root: Path, file: Path, competition: str) -> ImportResult:
    """Take a listing of notebooks, a JSON list without code; otherwise like `ingest_folder`."""
    return import_into(root, listing_source(file, competition, root))


def ingest_dump(root: Path, folder: Path) -> ImportResult:
    """Take Meta Kaggle's tables, of all competitions; otherwise like `ingest_folder`."""
    return import_into(root, dump_source(folder))


def set_code_folder(root: Path, folder: Path) -> None:
    """Say where Meta Kaggle Code lies; it stays there, and is read a program at a time.

    Raises:
        CommunityError: there is no such folder, or it is no copy of Meta Kaggle Code.
    """
    if not any(each.is_dir() and each.name.isdigit() for each in _entries(folder)):
        raise CommunityError(
            f"{folder}: is no copy of Meta Kaggle Code",
            hint="its programs lie in folders of four digits, such as 0001/234/1234567.py",
        )
    manifest = read_manifest(root) if is_community_store(root) else Manifest()
    root.mkdir(parents=True, exist_ok=True)
    write_manifest(root, manifest.model_copy(update={"code": str(folder.absolute())}))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise CommunityError(f"{folder}: {reason}", hint="name the folder of Meta Kaggle Code") from None

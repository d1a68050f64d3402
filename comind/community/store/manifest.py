"""`store.json`: the manifest of a store's imports; files it does not list are not part of the store."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from comind.domain.value import Value
from comind.errors import CommunityError
from comind.system.files import write_atomically

_NAME = "store.json"


class Dropped(Value):
    """Rows or lines that were dropped, and the reason."""

    what: str
    reason: str
    count: int = 1


class Import(Value):
    """One import: its source and what it added."""

    id: str
    """Name of its files."""
    kind: str
    """`folder`, `listing` or `meta-kaggle`."""
    fingerprint: str
    """SHA-256 of the content; the same content is not imported again."""
    competition: str | None = None
    """None for all."""
    observed_at: datetime | None = None
    """The latest time in it that had passed at the import, for items without a time of their own."""
    taken: dict[str, int] = {}
    """New records by kind."""
    dropped: tuple[Dropped, ...] = ()


class Manifest(Value):
    """All imports, in order."""

    format: Literal[1] = 1
    imports: tuple[Import, ...] = ()
    code: str | None = None
    """Folder of Meta Kaggle Code, which is read in place."""

    def find(self, fingerprint: str) -> Import | None:
        """Return the import with this fingerprint, or None."""
        return next((each for each in self.imports if each.fingerprint == fingerprint), None)


def is_community_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / _NAME).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a store.

    Raises:
        CommunityError: it is no store, or has an unknown format.
    """
    try:
        return Manifest.model_validate_json((folder / _NAME).read_bytes())
    except OSError:
        raise CommunityError(f"{folder}: is no community store", hint="see comind ingest") from None
    except ValueError:
        raise CommunityError(
            f"{folder / _NAME}: is no list of imports that this version can read",
            hint="restore it with dvc checkout, or import into a new store",
        ) from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, which commits a new import."""
    write_atomically(folder / _NAME, manifest.model_dump_json(indent=2) + "\n")

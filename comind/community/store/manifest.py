"""`store.json`: the imports of a store, in their order. What it does not name is not in the store."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from comind.domain.value import Value
from comind.errors import CommunityError
from comind.system.files import write_atomically

__all__ = ["Dropped", "Import", "Manifest", "is_community_store", "read_manifest", "write_manifest"]

_NAME = "store.json"


class Dropped(Value):
    """Rows or lines that were not taken, and why."""

    what: str
    reason: str
    count: int = 1


class Import(Value):
    """One import: what it took from where."""

    id: str
    """Name of its parts."""
    kind: str
    """`folder`, `listing` or `meta-kaggle`."""
    fingerprint: str
    """SHA-256 over what was read; the same again is not taken again."""
    competition: str | None = None
    """The one it is about; None for all."""
    observed_at: datetime | None = None
    """The latest time in it, for what has no time of its own."""
    taken: dict[str, int] = {}
    """New records by kind."""
    dropped: tuple[Dropped, ...] = ()


class Manifest(Value):
    """All imports."""

    format: Literal[1] = 1
    imports: tuple[Import, ...] = ()
    code: str | None = None
    """Folder of Meta Kaggle Code; it stays where it is."""

    def find(self, fingerprint: str) -> Import | None:
        """Return the import of just this content."""
        return next((each for each in self.imports if each.fingerprint == fingerprint), None)


def is_community_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / _NAME).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Return the imports of a store.

    Raises:
        CommunityError: it is no store, or one of another format.
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
    """Replace the list of imports; only then is a new import in the store."""
    write_atomically(folder / _NAME, manifest.model_dump_json(indent=2) + "\n")

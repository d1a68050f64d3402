"""Read an as-of store."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from comind.community.items import CommunityItems, NotebookItem
from comind.community.store.engine import Engine
from comind.community.store.manifest import Manifest, read_manifest
from comind.community.store.queries import query_items
from comind.community.store.source_code import SourceCodeStore
from comind.community.store.writing import create_views
from comind.errors import CommunityError

_QUERY_MEGABYTES = 512
_NAMED = 5


class CommunityStore:
    """A store, opened read-only.

        store = CommunityStore.open(Path("data/knowledge/kaggle"))
        items = store.items("titanic", datetime(2023, 4, 1, tzinfo=UTC))
        source = store.source_of(items.notebooks[0])

    Items have no source code: it is loaded one by one, as most is never needed.
    """

    resolution = timedelta(minutes=1)

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest
        self._source_code = SourceCodeStore(root, None if manifest.code is None else Path(manifest.code))

    @classmethod
    def open(cls, root: Path) -> "CommunityStore":
        """Open the store in a folder with its current imports.

        Raises:
            CommunityError: it is no store.
        """
        return cls(root, read_manifest(root))

    def items(self, competition: str, as_of: datetime | None) -> CommunityItems:
        """Return the items of a competition, each notebook and dataset in its current version.

        Raises:
            CommunityError: the store contains nothing of this competition, at any time.
        """
        with self._engine() as engine:
            found = query_items(engine, competition, as_of)
        if found == CommunityItems():
            self.check(competition)
        return found

    def competitions(self) -> tuple[str, ...]:
        """Return the slugs of all competitions in the store."""
        with self._engine() as engine:
            return tuple(row["competition"] for row in engine.rows("competitions"))

    @contextmanager
    def _engine(self) -> Iterator[Engine]:
        """Open an engine with views of all records."""
        with (
            TemporaryDirectory(prefix="comind-store-", ignore_cleanup_errors=True) as scratch,
            Engine(Path(scratch), megabytes=_QUERY_MEGABYTES) as engine,
        ):
            create_views(engine, self.root, self.manifest)
            yield engine

    def source_of(self, item: NotebookItem) -> str | None:
        """Return the sanitized source code of a notebook; None if it is not available."""
        return item.source or self._source_code.read(item.code)

    def check(self, competition: str) -> None:
        """Check that the store contains a competition.

        Raises:
            CommunityError: it contains nothing of it.
        """
        known = self.competitions()
        if competition not in known:
            some = ", ".join(known[:_NAMED]) + (", ..." if len(known) > _NAMED else "")
            raise CommunityError(
                f"{self.root}: contains nothing of the competition {competition!r}",
                hint=f"it contains {some}" if known else "it is empty: see comind ingest",
            )

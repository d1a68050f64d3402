"""Query the community of one competition as of the simulated time."""

from datetime import UTC, datetime

from comind.community.access import Community
from comind.community.asof import as_of
from comind.community.items import CommunityItems
from comind.community.snapshot import without_reserved_owners
from comind.domain.community import OUTPUTS_AT, CommunityView, Notebook
from comind.live.plain_files import PlainFiles

_EPOCH = datetime.min.replace(tzinfo=UTC)


class PointInTimeCommunity:
    """A community of one competition, cut off at a moment; None disables the cutoff.

    Queries and views are cached for the source's `resolution`: an answer is at most that much out of
    date, and never contains anything later than the moment.

    Beside the community's own files, its folder may hold `outputs/<owner>/<name>/<version>/`, the output
    files of a version of a notebook.
    """

    def __init__(self, source: Community, competition: str) -> None:
        """Check that the source can be read.

        Raises:
            CommunityError: it cannot be read, or contains nothing of this competition.
        """
        source.check(competition)
        self._source = source
        self._competition = competition
        self._cached: tuple[datetime | None, CommunityItems, CommunityView] | None = None

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was visible, each item in its current version.

        The source code of notebooks may be missing; `version` loads it.
        """
        return self._query(moment)[1]

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return a version of a notebook with its source code; None if it was not visible yet.

        A store knows the current version alone.
        """
        items, view = self._query(moment)
        versions = (
            item.model_copy(update={"source": self._source.source_of(item) or ""})
            for item in items.notebooks
            if (item.ref, item.version) == (ref, version)
        )
        found = as_of(CommunityItems(notebooks=tuple(versions)), moment).notebooks
        whole = next((each for each in view.notebooks if each.ref == ref), None)
        if not found or whole is None:
            return None
        # Votes and tier belong to the notebook, not to a version.
        shared = {"votes": whole.votes, "author_tier": whole.author_tier}
        return found[0].model_copy(update=shared)

    def dataset_files(self, ref: str, moment: datetime | None) -> PlainFiles | None:
        """Return the files of a dataset's current version; None if it has none."""
        items, view = self._query(moment)
        current = next((d for d in view.datasets if d.ref == ref and d.files), None)
        if current is None:
            return None
        item = next(
            item
            for item in items.datasets
            if (item.ref, item.version, item.created_at)
            == (current.ref, current.version, current.published_at)
        )
        return PlainFiles.below(self._source.root, str(item.path))

    def output_files(self, ref: str, version: int) -> PlainFiles | None:
        """Return the output files of a version of a notebook; None if none were kept."""
        return PlainFiles.below(self._source.root, f"{OUTPUTS_AT}/{ref}/{version}")

    def _query(self, moment: datetime | None) -> tuple[CommunityItems, CommunityView]:
        if moment is not None and self._source.resolution:
            moment -= (moment - _EPOCH) % self._source.resolution
        cached = self._cached
        if cached is None or cached[0] != moment:
            items = self._source.items(self._competition, moment)
            view = without_reserved_owners(as_of(items, moment), self._competition)
            cached = self._cached = (moment, items, view)
        return cached[1], cached[2]

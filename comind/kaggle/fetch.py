"""Fetch a competition from Kaggle into a competition folder, incrementally.

<slug>/competition.yaml, public/     see docs/competition-folder.md
<slug>/leaderboard/public.csv        the public leaderboard, and snapshots/ of it
<slug>/community/                    see docs/community-folder.md
<slug>/fetched.json                  what was fetched, and when
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from comind.competitions.download.archives import describe_left_out
from comind.competitions.download.table_roles import TableColumns, arrange_tables
from comind.domain.value import Value
from comind.errors import CompetitionError, KaggleRefusedError
from comind.kaggle.client_errors import rules_error
from comind.kaggle.community_fetch import CommunityNews, fetch_community
from comind.kaggle.data_files import DataFolder, FetchRecord, describe_changes
from comind.kaggle.describe import competition_yaml, description, numeric_scores, pages_hash
from comind.kaggle.leaderboard_fetch import save_leaderboard
from comind.kaggle.port import CompetitionFacts, DataFile, Kaggle, LeaderboardRow, Page
from comind.kaggle.rate_limit import paginate
from comind.kaggle.settings import FetchLimits
from comind.system.files import hash_file, write_atomically
from comind.system.timing import Clock

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?kaggle\.com/(?:c|competitions)/([^/?#]+).*")
_FILE_CHUNKS, _BOARD_CHUNKS = 25, 100
"""Pages of lists that are read; further files are downloaded, but not compared."""


class Fetched(Value):
    """The result of a fetch; `notes` are lines for the user."""

    folder: Path
    facts: CompetitionFacts
    notes: tuple[str, ...] = ()
    community: CommunityNews = CommunityNews()


def slug_of(name: str) -> str | None:
    """Return the slug in the name or URL of a competition, or None if it is neither."""
    address = _ADDRESS.fullmatch(name.strip())
    slug = address[1] if address else name
    return slug if _SLUG.fullmatch(slug) and len(slug) <= 100 else None  # noqa: PLR2004 - of a name


def fetch_competition(
    kaggle: Kaggle,
    slug: str,
    place: Path,
    *,
    limits: FetchLimits = FetchLimits(),  # noqa: B008 - frozen
    clock: Clock | None = None,
) -> Fetched:
    """Fetch a competition into `place/slug`, or update what is there.

    Raises:
        KaggleError: Kaggle cannot be reached, or refuses.
        CompetitionError: there is no such competition, its tables are ambiguous, or another process
            is fetching it.
        DiskError: there is not enough disk space.
    """
    place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place / f".{slug}.lock")
    try:
        with lock.acquire(blocking=False):
            return _Fetch(kaggle, slug, place / slug, limits, clock or Clock()).run()
    except Timeout:
        raise CompetitionError(
            f"{place / slug}: is being fetched by another process", hint="wait until it has ended"
        ) from None


class _Fetch:
    """One fetch of one competition."""

    def __init__(
        self, kaggle: Kaggle, slug: str, folder: Path, limits: FetchLimits, clock: Clock
    ) -> None:
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._limits = limits
        self._clock = clock
        self._data = DataFolder(kaggle, slug, folder)
        self._notes: list[str] = []

    def run(self) -> Fetched:
        facts = self._kaggle.competition(self._slug)
        self._note_conditions(facts)
        pages = self._kaggle.pages(self._slug)
        listed = self._listed(facts)
        self._folder.mkdir(exist_ok=True)
        self._data.recover()
        record = FetchRecord.read(self._folder)
        if record is not None and record.rules_sha256 != pages_hash(pages, "rules"):
            self._notes.append(f"the rules have changed since they were fetched: {facts.rules_url}")
        rows = self._leaderboard()
        scores = numeric_scores(rows)
        self._update(facts, pages, listed, record, scores)
        lower = scores[0] < scores[-1] if scores and scores[0] != scores[-1] else None
        news = fetch_community(
            self._kaggle,
            self._slug,
            self._folder / "community",
            limits=self._limits,
            clock=self._clock,
            lower=lower,
        )
        if news.stopped:
            self._notes.append(f"the community was not read to the end: {news.stopped}")
        return Fetched(folder=self._folder, facts=facts, notes=tuple(self._notes), community=news)

    def _note_conditions(self, facts: CompetitionFacts) -> None:
        if facts.code_only:
            self._notes.append(
                "Kaggle accepts only notebooks that run there: results can be graded here, but not "
                "submitted as a file"
            )
        if facts.submissions_closed:
            self._notes.append("Kaggle accepts no submissions")
        elif facts.is_over(self._clock.now()) and facts.deadline is not None:
            self._notes.append(
                f"it closed on {facts.deadline:%Y-%m-%d}: a submission would be late and not ranked"
            )

    def _listed(self, facts: CompetitionFacts) -> list[DataFile]:
        """Return the list of data files."""
        try:
            listed = list(paginate(partial(self._kaggle.files, self._slug), chunks=_FILE_CHUNKS))
        except KaggleRefusedError as error:
            raise self._refused(facts, error) from None
        if not listed:
            raise KaggleRefusedError(
                f"{self._slug}: Kaggle lists no data files", hint=f"see {facts.url}/data"
            )
        return listed

    def _refused(self, facts: CompetitionFacts, error: KaggleRefusedError) -> KaggleRefusedError:
        """Return the error for refused data: mostly that the rules are not accepted."""
        return error if facts.entered else rules_error(self._slug, facts.rules_url)

    def _leaderboard(self) -> list[LeaderboardRow]:
        try:
            rows = list(paginate(partial(self._kaggle.leaderboard, self._slug), chunks=_BOARD_CHUNKS))
        except KaggleRefusedError as error:
            self._notes.append(str(error))
            return []
        save_leaderboard(self._folder / "leaderboard", rows, self._clock.now())
        return rows

    def _update(
        self,
        facts: CompetitionFacts,
        pages: Sequence[Page],
        listed: list[DataFile],
        record: FetchRecord | None,
        scores: Sequence[float],
    ) -> None:
        """Update data and description; the record is written last."""
        described = self._folder / "competition.yaml"
        own = described.is_file() and (record is None or hash_file(described) != record.described_sha256)
        same = record is not None and record.files == tuple(listed)
        unclear: CompetitionError | None = None
        made = record.made if record is not None else {}
        release = record.release if record is not None else tuple(listed)
        described_sha256 = record.described_sha256 if record is not None else ""
        there = (self._folder / "public").is_dir()
        if (own and same and there) or self._data.is_current(listed, record):
            columns = None if described.is_file() else self._arranged(self._folder / "public")
            path, text = self._folder / "public" / "description.md", description(facts, pages)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_atomically(path, text)
        else:
            made, columns, unclear = self._next_data(facts, pages, listed, record)
            if not same and not self._data.has_same_content():
                release = tuple(listed)
                self._notes += [note] if (note := describe_changes(listed, record)) else []
            self._data.put_in_place()
        text, match = competition_yaml(facts, pages, columns, scores) if columns else ("", None)
        # An identical one is ours, too: a crash came between it and the record.
        own = own and described.read_text(encoding="utf-8") != text
        if own:
            self._notes.append("competition.yaml was changed by hand and is left as it is")
        elif match is not None:
            if match.metric is None:
                self._notes.append(f"the metric is not certain ({match.reason}), so none is named")
            write_atomically(described, text)
            described_sha256 = hash_file(described)
        FetchRecord(
            facts=facts,
            fetched_at=self._clock.now(),
            files=tuple(listed),
            released=release,
            made=made,
            pages_sha256=pages_hash(pages),
            rules_sha256=pages_hash(pages, "rules"),
            described_sha256=described_sha256,
        ).write(self._folder)
        self._data.clean_up()
        if unclear is not None and not own:
            raise unclear

    def _next_data(
        self,
        facts: CompetitionFacts,
        pages: Sequence[Page],
        listed: list[DataFile],
        record: FetchRecord | None,
    ) -> tuple[dict[str, tuple[str, ...]], TableColumns | None, CompetitionError | None]:
        """Build the next `public/`; return what files became, the columns, or why they are unclear."""
        try:
            made = self._data.gather(listed, record)
        except KaggleRefusedError as error:
            raise self._refused(facts, error) from None
        if self._data.left_out:
            self._notes.append(describe_left_out(self._data.left_out))
        write_atomically(self._data.next_public / "description.md", description(facts, pages))
        try:
            columns = self._arranged(self._data.next_public)
        except CompetitionError as error:
            return _renamed(made, None), None, error
        return _renamed(made, columns), columns, None

    def _arranged(self, public: Path) -> TableColumns:
        try:
            columns = arrange_tables(public)
        except CompetitionError as error:
            shown = str(error).replace(str(public), str(self._folder / "public"))
            raise CompetitionError(shown, hint=error.hint) from None
        for usual, before in columns.renamed.items():
            what = f"{before} is called {usual} here" if before else f"{usual} was made from its ids"
            self._notes.append(what)
        return columns


def _renamed(
    made: dict[str, tuple[str, ...]], columns: TableColumns | None
) -> dict[str, tuple[str, ...]]:
    """Return the files that each data file became, by their present names."""
    now = {before: usual for usual, before in columns.renamed.items() if before} if columns else {}
    return {name: tuple(now.get(each, each) for each in files) for name, files in made.items()}

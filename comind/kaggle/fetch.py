"""From a name on Kaggle to a competition folder that can be solved; again, only for what is new.

<slug>/competition.yaml, public/     as docs/competition-folder.md has it
<slug>/leaderboard/public.csv        the public leaderboard, and snapshots/ of it
<slug>/community/                    as docs/community-folder.md has it
<slug>/fetched.json                  what is there, and of when
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from comind.domain.value import Value
from comind.errors import CompetitionError, KaggleRefusedError
from comind.kaggle.arrange_tables import Form, arrange
from comind.kaggle.client_errors import rules_error
from comind.kaggle.community_fetch import CommunityNews, Wanted, fetch_community
from comind.kaggle.data_files import DataFolder, told_changes
from comind.kaggle.describe import competition_yaml, description, numbers_of, pages_hash
from comind.kaggle.leaderboard import keep_snapshot
from comind.kaggle.port import CompetitionFacts, DataFile, Kaggle, LeaderboardRow, Page
from comind.kaggle.rate_limit import paginate
from comind.kaggle.record import FetchRecord
from comind.system.files import hash_file, write_atomically
from comind.system.timing import Clock

__all__ = ["Fetched", "fetch_competition", "slug_of"]

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?kaggle\.com/(?:c|competitions)/([^/?#]+).*")
_FILE_CHUNKS, _BOARD_CHUNKS = 25, 100
"""Parts of lists that are read; of more files the rest is not compared, but comes with the others."""


class Fetched(Value):
    """What came of it; `notes` are lines for whoever asked."""

    folder: Path
    facts: CompetitionFacts
    notes: tuple[str, ...] = ()
    community: CommunityNews = CommunityNews()


def slug_of(name: str) -> str | None:
    """Return the competition's name on Kaggle that a user may mean, or None: a name, or its address."""
    address = _ADDRESS.fullmatch(name.strip())
    slug = address[1] if address else name
    return slug if _SLUG.fullmatch(slug) and len(slug) <= 100 else None  # noqa: PLR2004 - of a name


def fetch_competition(
    kaggle: Kaggle,
    slug: str,
    place: Path,
    *,
    wanted: Wanted = Wanted(),  # noqa: B008 - frozen
    clock: Clock | None = None,
) -> Fetched:
    """Fetch a competition into `place/slug`, or what is new of it, with as much community as is wanted.

    Raises:
        KaggleError: Kaggle cannot be reached, or refuses.
        CompetitionError: there is no such competition, or its files do not show what is what.
        DiskError: there is no room.
    """
    place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place / f".{slug}.lock")
    try:
        with lock.acquire(blocking=False):
            return _Fetch(kaggle, slug, place / slug, wanted, clock or Clock()).run()
    except Timeout:
        raise CompetitionError(
            f"{place / slug}: is being fetched by another process", hint="wait until it has ended"
        ) from None


class _Fetch:
    """One fetch of one competition."""

    def __init__(self, kaggle: Kaggle, slug: str, folder: Path, wanted: Wanted, clock: Clock) -> None:
        self._kaggle = kaggle
        self._slug = slug
        self._folder = folder
        self._wanted = wanted
        self._clock = clock
        self._data = DataFolder(kaggle, slug, folder)
        self._notes: list[str] = []

    def run(self) -> Fetched:
        facts = self._kaggle.competition(self._slug)
        self._tell_conditions(facts)
        pages = self._kaggle.pages(self._slug)
        listed = self._listed(facts)
        self._folder.mkdir(exist_ok=True)
        self._data.recover()
        record = FetchRecord.read(self._folder)
        if record is not None and record.rules_sha256 != pages_hash(pages, "rules"):
            self._notes.append(f"the rules have changed since they were fetched: {facts.rules_url}")
        rows = self._leaderboard()
        scores = numbers_of(rows)
        self._update(facts, pages, listed, record, scores)
        lower = scores[0] < scores[-1] if scores and scores[0] != scores[-1] else None
        news = fetch_community(
            self._kaggle,
            self._slug,
            self._folder / "community",
            wanted=self._wanted,
            clock=self._clock,
            lower=lower,
        )
        if news.stopped:
            self._notes.append(f"the community was not read to the end: {news.stopped}")
        return Fetched(folder=self._folder, facts=facts, notes=tuple(self._notes), community=news)

    def _tell_conditions(self, facts: CompetitionFacts) -> None:
        if facts.code_only:
            self._notes.append(
                "Kaggle takes only code that runs there: what comes out here can be graded and kept, "
                "but not handed in as a file"
            )
        if facts.submissions_closed:
            self._notes.append("Kaggle takes no submissions for it")
        elif facts.is_over(self._clock.now()) and facts.deadline is not None:
            self._notes.append(
                f"it closed on {facts.deadline:%Y-%m-%d}: a submission would be late, out of the ranking"
            )

    def _listed(self, facts: CompetitionFacts) -> list[DataFile]:
        """Return the list of data files; whoever has not accepted the rules is told so."""
        try:
            listed = list(paginate(partial(self._kaggle.files, self._slug), chunks=_FILE_CHUNKS))
        except KaggleRefusedError as error:
            raise self._refused(facts, error) from None
        if not listed:
            raise KaggleRefusedError(
                f"{self._slug}: Kaggle gives out no data for it", hint=f"see {facts.url}/data"
            )
        return listed

    def _refused(self, facts: CompetitionFacts, error: KaggleRefusedError) -> KaggleRefusedError:
        """Return what a refusal of data means: mostly that somebody has to accept the rules first."""
        return error if facts.entered else rules_error(self._slug, facts.rules_url)

    def _leaderboard(self) -> list[LeaderboardRow]:
        try:
            rows = list(paginate(partial(self._kaggle.leaderboard, self._slug), chunks=_BOARD_CHUNKS))
        except KaggleRefusedError as error:
            self._notes.append(str(error))
            return []
        keep_snapshot(self._folder / "leaderboard", rows, self._clock.now())
        return rows

    def _update(
        self,
        facts: CompetitionFacts,
        pages: Sequence[Page],
        listed: list[DataFile],
        record: FetchRecord | None,
        scores: Sequence[float],
    ) -> None:
        """Bring data and description up to date; the record is written last."""
        described = self._folder / "competition.yaml"
        own = described.is_file() and (record is None or hash_file(described) != record.described_sha256)
        same = record is not None and record.files == tuple(listed)
        unclear: CompetitionError | None = None
        made = record.made if record is not None else {}
        described_sha256 = record.described_sha256 if record is not None else ""
        there = (self._folder / "public").is_dir()
        if (own and same and there) or self._data.is_current(listed, record):
            form = None if described.is_file() else self._arranged(self._folder / "public")
            told, text = self._folder / "public" / "description.md", description(facts, pages)
            if not told.is_file() or told.read_text(encoding="utf-8") != text:
                write_atomically(told, text)
        else:
            self._notes += [note] if (note := told_changes(listed, record)) else []
            try:
                made = self._data.gather(listed, record)
            except KaggleRefusedError as error:
                raise self._refused(facts, error) from None
            write_atomically(self._data.next_public / "description.md", description(facts, pages))
            form = None
            try:
                form = self._arranged(self._data.next_public)
            except CompetitionError as error:
                unclear = error
            made = _renamed(made, form)
            self._data.put_in_place()
        text, reading = competition_yaml(facts, pages, form, scores) if form else ("", None)
        # One that is just what we would write is ours: a kill came between it and the record.
        own = own and described.read_text(encoding="utf-8") != text
        if own:
            self._notes.append("competition.yaml was changed by hand and is left as it is")
        elif reading is not None:
            if reading.metric is None:
                self._notes.append(f"the metric is not certain ({reading.reason}), so none is named")
            write_atomically(described, text)
            described_sha256 = hash_file(described)
        FetchRecord(
            facts=facts,
            fetched_at=self._clock.now(),
            files=tuple(listed),
            made=made,
            pages_sha256=pages_hash(pages),
            rules_sha256=pages_hash(pages, "rules"),
            described_sha256=described_sha256,
        ).write(self._folder)
        self._data.clean_up()
        if unclear is not None and not own:
            raise unclear

    def _arranged(self, public: Path) -> Form:
        try:
            form = arrange(public)
        except CompetitionError as error:
            shown = str(error).replace(str(public), str(self._folder / "public"))
            raise CompetitionError(shown, hint=error.hint) from None
        for usual, before in form.renamed.items():
            what = f"{before} is called {usual} here" if before else f"{usual} was made from its ids"
            self._notes.append(what)
        return form


def _renamed(made: dict[str, tuple[str, ...]], form: Form | None) -> dict[str, tuple[str, ...]]:
    """Return what the data files became, by the names that they have now."""
    now = {before: usual for usual, before in form.renamed.items() if before} if form else {}
    return {name: tuple(now.get(each, each) for each in files) for name, files in made.items()}

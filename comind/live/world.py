"""MLE-Live: one past competition, lived through in time.

What can be seen is what could be seen at the world's time: the community, and the public leaderboard.
Submissions are graded when they come. With `sealed` scores nobody is told before the end, as they are
scores on test labels; with `public` scores the score on the public rows is told at once, as on Kaggle.
After the end everything is told: both scores, and the private leaderboard.
"""

import hashlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from comind.domain.community import CommunityView
from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import ComindError, LiveError
from comind.evaluation.metrics import find_metric
from comind.live.clock import Clock
from comind.live.community import Community, FolderCommunity
from comind.live.scoring import HiddenAnswers, Marks
from comind.live.standings import Board, Entry, Standings, utc_time
from comind.live.submissions import Submission, SubmissionBook

__all__ = ["TEAM", "Limits", "LiveBudget", "MLELive", "Scores", "deadline_of", "own_team_id"]

Scores = Literal["sealed", "public"]
TEAM = "you"
"""Whose submissions they are where nobody says so."""


class LiveBudget(Value):
    """What may be spent in a world, by its own clock; None is without limit."""

    submissions_per_day: int = Field(default=5, ge=0)
    """From midnight to midnight UTC; one that could not be graded is given back."""
    submissions: int | None = Field(default=None, ge=0)
    queries: int | None = Field(default=None, ge=0)
    """How often the community and the leaderboard may be looked at."""
    hours: float | None = Field(default=None, gt=0)
    """How long after the beginning the world ends, where the deadline is not earlier."""


class Limits(Value):
    """How many submissions somebody has made, and may still make now."""

    today: int
    total: int
    left: int
    by_total: bool
    """Whether it is the total that leaves so few."""


class MLELive:
    """One competition at one time; safe to use from many threads."""

    def __init__(
        self,
        competition: Competition,
        as_of: datetime | Clock | None = None,
        budget: LiveBudget | None = None,
        *,
        scores: Scores = "sealed",
        book: SubmissionBook | None = None,
        community: Community | None = None,
    ) -> None:
        """Open the world.

        Args:
            competition: a past competition; without answers, submissions cannot be graded.
            as_of: the time, which stands still; or a clock; or None, with everything visible as it is.
            budget: what may be spent.
            scores: whether submissions are told their score on the public rows before the end.
            book: where submissions are kept; without one, they are forgotten with the world.
            community: who else is there; by default the competition's own folder `community`. Whoever
                asks it directly says the moment, and is not counted.

        Raises:
            ComindError: a file of the competition is not what it should be.
        """
        self.competition = competition
        self.clock = as_of if isinstance(as_of, Clock) else Clock(as_of)
        self.budget = budget or LiveBudget()
        self.scores = scores
        self._book = book or self._book_of_its_own()
        self.community = community or FolderCommunity(competition.folder / "community")
        self.maximize = find_metric(competition).maximize
        self._standings = Standings(competition.folder, maximize=self.maximize)
        self._answers: HiddenAnswers | None = None
        self._lock = threading.RLock()
        self._queries = 0
        self._closed = False
        self.deadline = deadline_of(competition)
        self.end = self._end()

    def _book_of_its_own(self) -> SubmissionBook:
        """Return a book that is gone when the world is."""
        folder = Path(tempfile.mkdtemp(prefix="comind-live-"))
        book = SubmissionBook(folder)
        weakref.finalize(self, _forget, book, folder)
        return book

    def _end(self) -> datetime | None:
        """Return when the world ends; None where nobody says so."""
        hours = self.budget.hours
        spent = None if hours is None else self.clock.now() + timedelta(hours=hours)
        return min((time for time in (self.deadline, spent) if time), default=None)

    @property
    def over(self) -> bool:
        """Whether the end has come: nothing more is accepted, and all scores of submissions are told."""
        return self._closed or _reached(self.end, self.clock)

    @property
    def final(self) -> bool:
        """Whether the competition itself has ended, so that its final leaderboards are no secret."""
        return self._closed or _reached(self.deadline, self.clock)

    def close(self) -> None:
        """End the world and its competition now, whatever the clock says."""
        self._closed = True

    # --- looking around --------------------------------------------------------------------------

    def view(self) -> CommunityView:
        """Return what the community knows by now, unranked.

        Raises:
            LiveError: the budget's queries are spent.
        """
        self._count_query()
        return self.community.view(self.clock.moment)

    def leaderboard(self, kind: Literal["public", "private"] = "public") -> Board:
        """Return a leaderboard as it stands, with the teams of this world where their scores are told.

        Raises:
            LiveError: the queries are spent, or the private one is asked for before the deadline.
        """
        self._count_query()
        return self.board(kind)

    def board(self, kind: Literal["public", "private"] = "public") -> Board:
        """Return the same, uncounted."""
        final, moment = self.final, self.clock.moment
        if kind == "private" and not final:
            raise LiveError("the private leaderboard is not told before the deadline", reason="sealed")
        if final and self.deadline and moment:
            moment = min(moment, self.deadline)
        board = self._standings.private() if kind == "private" else None
        board = board or self._standings.public(moment, over=final).model_copy(update={"kind": kind})
        if not self.competition.leaderboard_comparable:
            said = "scored on other rows than the submissions here, so none of them stands on it"
            return board.model_copy(update={"message": "; ".join(filter(None, (board.message, said)))})
        return board.with_teams(self._own_entries(kind), maximize=self.maximize)

    def rank(self, user: str = TEAM) -> int | None:
        """Return the place of a team on the leaderboard that is told by now; None without one."""
        board = self.board("private" if self.final else "public")
        own = own_team_id(user)
        return next((place for place, e in enumerate(board.entries, 1) if e.team_id == own), None)

    def _own_entries(self, kind: Literal["public", "private"]) -> Iterator[Entry]:
        for submission in self.submissions(None):
            marks = submission.marks or Marks(valid=False)
            score = marks.public if kind == "public" else marks.private
            if score is not None:
                yield Entry(
                    team_id=own_team_id(submission.user),
                    team=submission.user,
                    score=score,
                    written=f"{score:.5f}",
                    at=submission.at,
                )

    def _count_query(self) -> None:
        with self._lock:
            if self.budget.queries is not None and self._queries >= self.budget.queries:
                raise LiveError(f"all {self.budget.queries} queries are spent", reason="budget")
            self._queries += 1

    # --- handing in ------------------------------------------------------------------------------

    def submit(
        self, file: Path, description: str = "", *, user: str = TEAM, file_name: str = ""
    ) -> Submission:
        """Hand in a file and have it graded; what comes back is what its owner may know.

        Raises:
            LiveError: there is no submission left, or the world is over.
        """
        content = file.read_bytes()
        accepted = self.accept(content, description, user=user, file_name=file_name or file.name)
        return self.grade(accepted.ref)

    def accept(self, content: bytes, description: str, *, user: str, file_name: str) -> Submission:
        """Take a file in, to be graded later.

        Raises:
            LiveError: there is no submission left, or the world is over.
        """
        with self._lock:
            self.check_open(user)
            submission = Submission(
                ref=0,
                competition=self.competition.id,
                user=user,
                at=self.clock.now(),
                file_name=file_name,
                description=description,
            )
            return self._book.accept(submission, content)

    def check_open(self, user: str = TEAM) -> None:
        """Make sure that a submission would be taken now.

        Raises:
            LiveError: there is no submission left, or the world is over.
        """
        if self.over:
            raise LiveError(
                "Submission not allowed: the deadline of this competition has passed.", reason="over"
            )
        limits = self.limits(user)
        if not limits.left:
            allowance = self.budget.submissions if limits.by_total else self.budget.submissions_per_day
            used = limits.total if limits.by_total else limits.today
            until = "" if limits.by_total else f" {_until_midnight(self.clock.now())}"
            raise LiveError(
                f"Submission not allowed: Your team has used its Submission allowance "
                f"({used} of {allowance}).{until}",
                reason="budget",
            )

    def grade(self, ref: int) -> Submission:
        """Grade what was taken in; once graded, it stays as it is."""
        submission = self._book.find(ref)
        if submission is None:
            raise LiveError(f"there is no submission {ref}", reason="unknown")
        if submission.marks is None:
            self._book.grade(ref, self._mark(self._book.file_of(ref)))
        found = self._book.find(ref)
        assert found is not None
        return self._told(found)

    def pending(self) -> list[int]:
        """Return the numbers of what was taken in and never graded, as after a crash."""
        return [s.ref for s in self._book.of(self.competition.id) if s.marks is None]

    def _mark(self, file: Path) -> Marks:
        try:
            with self._lock:
                if self._answers is None:
                    self._answers = HiddenAnswers(self.competition)
            return self._answers.mark(file)
        except ComindError:
            return Marks(valid=False, message="this competition cannot be graded here")

    def submissions(self, user: str | None = TEAM) -> list[Submission]:
        """Return what a team, or everybody, has handed in, oldest first; scores as far as told."""
        now = self.clock.moment
        made = self._book.of(self.competition.id, user)
        return [self._told(each) for each in made if now is None or each.at <= now]

    def submission(self, ref: int) -> Submission | None:
        """Return one of them; None where this world has none of this number."""
        found, now = self._book.find(ref), self.clock.moment
        if found is None or found.competition != self.competition.id or (now and found.at > now):
            return None
        return self._told(found)

    def file_of(self, ref: int) -> Path:
        """Return the file that was handed in."""
        return self._book.file_of(ref)

    def limits(self, user: str = TEAM) -> Limits:
        """Return how many submissions a team has made, and has left."""
        now = self.clock.now()
        made = [s for s in self.submissions(user) if s.status != "error"]
        today = sum(s.at.date() == now.date() for s in made)
        by_day = self.budget.submissions_per_day - today
        most = self.budget.submissions
        in_all = by_day if most is None else most - len(made)
        left = 0 if self.over else max(0, min(by_day, in_all))
        return Limits(today=today, total=len(made), left=left, by_total=in_all < by_day)

    def _told(self, submission: Submission) -> Submission:
        """Return a submission without what its owner may not know yet."""
        marks = submission.marks
        if marks is None or self.over:
            return submission
        public = marks.public if self.scores == "public" else None
        told = marks.model_copy(update={"public": public, "private": None, "score": None})
        return submission.model_copy(update={"marks": told})


def own_team_id(user: str) -> int:
    """Return a number for a team of this world, beyond those that a real leaderboard has."""
    return (1 << 40) + int.from_bytes(hashlib.sha256(user.encode()).digest()[:4])


def deadline_of(competition: Competition) -> datetime | None:
    """Return the deadline that a competition's folder names; a day alone means its last minute, UTC.

    The key is written for people: what is no time is no deadline.
    """
    text = (competition.deadline or "").strip()
    try:
        time = utc_time(text)
    except ValueError:
        return None
    return time + timedelta(hours=23, minutes=59) if len(text) == len("2023-04-01") else time


def _forget(book: SubmissionBook, folder: Path) -> None:
    book.close()
    shutil.rmtree(folder, ignore_errors=True)


def _reached(time: datetime | None, clock: Clock) -> bool:
    return time is not None and clock.now() >= time


def _until_midnight(now: datetime) -> str:
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    return f"This resets at midnight UTC ({(midnight - now).total_seconds() / 3600:.1f} hours from now)."

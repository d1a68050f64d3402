"""MLE-Live: replay one past competition in simulated time.

Only what was visible at the simulated time can be seen: the community, and the public leaderboard.
Submissions are graded on arrival. With `sealed` scores, no score is shown before the deadline, as they
are scores on test labels; with `public` scores, the score on the public rows is shown at once, as on
Kaggle. After the deadline both scores and the private leaderboard are shown.
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

from comind.community.access import Community, FolderCommunity
from comind.domain.community import CommunityView
from comind.domain.competition import Competition
from comind.domain.value import Value
from comind.errors import ComindError, LiveError
from comind.live.leaderboards import Leaderboard, LeaderboardEntry, LeaderboardHistory
from comind.live.point_in_time import PointInTimeCommunity
from comind.live.scoring import AnswerKey, GradingResult
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import Submission, SubmissionStore
from comind.metrics import find_metric
from comind.tables.mapped_table import trim_memory

_DEFAULT_USER = "you"


class LiveBudget(Value):
    """Limits by the simulated clock; None for no limit."""

    submissions_per_day: int = Field(default=5, ge=0)
    """From midnight to midnight UTC; one that could not be graded does not count."""
    submissions: int | None = Field(default=None, ge=0)
    queries: int | None = Field(default=None, ge=0)
    """Queries of the community and the leaderboard."""
    hours: float | None = Field(default=None, gt=0)
    """Simulated hours from the start to the end, unless the deadline is earlier."""


class _SubmissionLimits(Value):
    """Submissions that a user has made today and in total, and has left now."""

    today: int
    total: int
    left: int
    by_total: bool
    """Whether the total limit, not the daily one, is the tighter."""


class MLELive:
    """One competition in simulated time; thread-safe."""

    def __init__(
        self,
        competition: Competition,
        as_of: datetime | SimulatedClock | None = None,
        budget: LiveBudget | None = None,
        *,
        scores: Literal["sealed", "public"] = "sealed",
        store: SubmissionStore | None = None,
        community: Community | None = None,
    ) -> None:
        """Load the competition.

        Args:
            competition: a past competition; without answers, submissions cannot be graded.
            as_of: a frozen time, or a clock, or None for the real time with everything visible.
            budget: limits on submissions, queries and time.
            scores: whether scores on the public rows are shown before the deadline.
            store: where submissions are kept; by default a temporary folder.
            community: default the competition's own folder `community`. Queries to it do not count
                against the budget.

        Raises:
            ComindError: a file of the competition is invalid, or the community contains nothing of it.
        """
        self.competition = competition
        self.clock = as_of if isinstance(as_of, SimulatedClock) else SimulatedClock(as_of)
        self.budget = budget or LiveBudget()
        self.scores = scores
        self._store = store or self._temporary_store()
        source = community or FolderCommunity(competition.folder / "community", missing_ok=True)
        self.community = PointInTimeCommunity(source, competition.id)
        self.maximize = find_metric(competition).maximize
        self._leaderboards = LeaderboardHistory(competition.folder, maximize=self.maximize)
        self._answer_key: AnswerKey | None = None
        self._lock = threading.RLock()
        self._grading = threading.Lock()
        self._queries = 0
        self._closed = False
        self.deadline = competition.ends_at
        self.end = self._end()

    def _temporary_store(self) -> SubmissionStore:
        """Return a store that is deleted with this object."""
        folder = Path(tempfile.mkdtemp(prefix="comind-live-"))
        store = SubmissionStore(folder)
        weakref.finalize(self, _delete_store, store, folder)
        return store

    def _end(self) -> datetime | None:
        hours = self.budget.hours
        time_limit = None if hours is None else self.clock.now() + timedelta(hours=hours)
        return min((time for time in (self.deadline, time_limit) if time), default=None)

    @property
    def over(self) -> bool:
        """Whether the deadline or time limit has passed: submissions are refused, all scores shown."""
        return self._closed or _has_passed(self.end, self.clock)

    @property
    def final(self) -> bool:
        """Whether the competition's deadline has passed, so that its final leaderboards are public."""
        return self._closed or _has_passed(self.deadline, self.clock)

    def close(self) -> None:
        """End the competition now, whatever the simulated time."""
        self._closed = True

    # --- queries ---------------------------------------------------------------------------------

    def view(self) -> CommunityView:
        """Return what is visible of the community, unranked.

        Raises:
            LiveError: the query budget is exhausted.
        """
        self._count_query()
        return self.community.view(self.clock.moment)

    def leaderboard(self, half: Literal["public", "private"] = "public") -> Leaderboard:
        """Return a leaderboard as of now, including this server's users whose scores are visible.

        Raises:
            LiveError: the query budget is exhausted, or the private one is still hidden.
        """
        self._count_query()
        return self.board(half)

    def board(self, half: Literal["public", "private"] = "public") -> Leaderboard:
        """Return the leaderboard without counting a query."""
        final, moment = self.final, self.clock.moment
        if half == "private" and not final:
            raise LiveError("the private leaderboard is hidden before the deadline", reason="sealed")
        if final and self.deadline and moment:
            moment = min(moment, self.deadline)
        board = self._leaderboards.private() if half == "private" else None
        board = board or self._leaderboards.public(moment, over=final).model_copy(update={"half": half})
        if not self.competition.leaderboard_comparable:
            note = "scored on other rows than the submissions here, so these are not listed on it"
            return board.model_copy(update={"message": "; ".join(filter(None, (board.message, note)))})
        return board.with_teams(self._own_entries(half), maximize=self.maximize)

    def rank(self, user: str = _DEFAULT_USER) -> int | None:
        """Return a user's rank on the leaderboard visible now; None without a score."""
        board = self.board("private" if self.final else "public")
        own = _team_id(user)
        return next((rank for rank, e in enumerate(board.entries, 1) if e.team_id == own), None)

    def _own_entries(self, half: Literal["public", "private"]) -> Iterator[LeaderboardEntry]:
        for submission in self.submissions(None):
            marks = submission.marks or GradingResult(valid=False)
            score = marks.public if half == "public" else marks.private
            if score is not None:
                yield LeaderboardEntry(
                    team_id=_team_id(submission.user),
                    team=submission.user,
                    score=score,
                    written=f"{score:.5f}",
                    at=submission.at,
                )

    def _count_query(self) -> None:
        with self._lock:
            if self.budget.queries is not None and self._queries >= self.budget.queries:
                raise LiveError(f"all {self.budget.queries} queries are used", reason="budget")
            self._queries += 1

    # --- submissions -----------------------------------------------------------------------------

    def submit(
        self, file: Path, description: str = "", *, user: str = _DEFAULT_USER, file_name: str = ""
    ) -> Submission:
        """Accept and grade a file; returns it with the scores that are visible now.

        Raises:
            LiveError: no submission is left, or the competition is over.
        """
        accepted = self.accept(file, description, user=user, file_name=file_name or file.name)
        return self.grade(accepted.ref)

    def accept(self, file: Path, description: str, *, user: str, file_name: str) -> Submission:
        """Store a submission, to be graded later; its file is copied.

        Raises:
            LiveError: no submission is left, or the competition is over.
        """
        while True:
            self.check_open(user)  # without the lock, which a grading needs
            with self._lock:
                if not self.limits(user).left:  # another submission took it meanwhile
                    continue
                submission = Submission(
                    ref=0,
                    competition=self.competition.id,
                    user=user,
                    at=self.clock.now(),
                    file_name=file_name,
                    description=description,
                )
                return self._store.accept(submission, file)

    def check_open(self, user: str = _DEFAULT_USER) -> None:
        """Check that a submission would be accepted now.

        Raises:
            LiveError: no submission is left, or the competition is over.
        """
        if self.over:
            raise LiveError(
                "Submission not allowed: the deadline of this competition has passed.", reason="over"
            )
        limits = self.limits(user)
        if not limits.left and self._grade_pending(user):  # those that turn out invalid do not count
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
        """Grade a stored submission; idempotent."""
        submission = self._store.find(ref)
        if submission is None:
            raise LiveError(f"there is no submission {ref}", reason="unknown")
        with self._grading:  # a submission at the limit and the queue may both grade one
            found = self._store.find(ref)
            if found is not None and found.marks is None:
                self._store.grade(ref, self._grade_file(self._store.path(ref)))
        found = self._store.find(ref)
        assert found is not None
        return self._redacted(found)

    def _grade_pending(self, user: str) -> bool:
        """Grade a user's submissions that wait for it; returns whether there were any."""
        waiting = [s.ref for s in self._store.select(self.competition.id, user) if s.marks is None]
        for ref in waiting:
            self.grade(ref)
        return bool(waiting)

    def pending(self) -> list[int]:
        """Return the refs of submissions that were stored and never graded, as after a crash."""
        return [s.ref for s in self._store.select(self.competition.id) if s.marks is None]

    def _grade_file(self, file: Path) -> GradingResult:
        try:
            with self._lock:
                if self._answer_key is None:
                    self._answer_key = AnswerKey(self.competition)
            return self._answer_key.grade(file)
        except ComindError:
            return GradingResult(valid=False, message="this competition cannot be graded here")
        finally:
            trim_memory()  # a large submission may be followed by another

    def submissions(self, user: str | None = _DEFAULT_USER) -> list[Submission]:
        """Return the submissions of one user, or of all, oldest first, with the visible scores."""
        now = self.clock.moment
        found = self._store.select(self.competition.id, user)
        return [self._redacted(each) for each in found if now is None or each.at <= now]

    def submission(self, ref: int) -> Submission | None:
        """Return a submission to this competition with the visible scores, or None."""
        found, now = self._store.find(ref), self.clock.moment
        if found is None or found.competition != self.competition.id or (now and found.at > now):
            return None
        return self._redacted(found)

    def submission_path(self, ref: int) -> Path:
        """Return the path of a submitted file."""
        return self._store.path(ref)

    def limits(self, user: str = _DEFAULT_USER) -> _SubmissionLimits:
        """Return how many submissions a user has made, and has left."""
        now = self.clock.now()
        counted = [s for s in self.submissions(user) if s.status != "error"]
        today = sum(s.at.date() == now.date() for s in counted)
        left_today = self.budget.submissions_per_day - today
        limit = self.budget.submissions
        left_in_total = left_today if limit is None else limit - len(counted)
        return _SubmissionLimits(
            today=today,
            total=len(counted),
            left=0 if self.over else max(0, min(left_today, left_in_total)),
            by_total=left_in_total < left_today,
        )

    def _redacted(self, submission: Submission) -> Submission:
        """Return a submission without the scores that are not visible yet."""
        marks = submission.marks
        if marks is None or self.over:
            return submission
        public = marks.public if self.scores == "public" else None
        visible = marks.model_copy(update={"public": public, "private": None, "score": None})
        return submission.model_copy(update={"marks": visible})


def _team_id(user: str) -> int:
    """Return a team id for a user of this server, above those of real leaderboards."""
    return (1 << 40) + int.from_bytes(hashlib.sha256(user.encode()).digest()[:4])


def _delete_store(store: SubmissionStore, folder: Path) -> None:
    store.close()
    shutil.rmtree(folder, ignore_errors=True)


def _has_passed(time: datetime | None, clock: SimulatedClock) -> bool:
    return time is not None and clock.now() >= time


def _until_midnight(now: datetime) -> str:
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    return f"This resets at midnight UTC ({(midnight - now).total_seconds() / 3600:.1f} hours from now)."

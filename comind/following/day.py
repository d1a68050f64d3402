"""Run one day of following a competition.

    observe ─► reconcile ─► a slice of the campaign ─► decide ─► submit ─► score ─► select ─► standing

Each step is logged before the next begins, so a killed day is resumed by running it again: nothing is
done twice, and an interrupted slice continues within its own time budget.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field

from comind.domain.community import ItemOutcome
from comind.domain.metric import Paired
from comind.domain.value import Value
from comind.errors import KaggleError, KaggleRefusedError, KaggleUnknownError
from comind.following.decide import Policy, decide, submissions_used_up
from comind.following.events import (
    Candidate,
    CompetitionObserved,
    NoticeRecorded,
    NoticeSubject,
    SliceEnded,
    SliceStarted,
    StandingRecorded,
    SubmissionDecided,
)
from comind.following.final_selection import select_submissions, valid_submissions
from comind.following.state import FollowingLog
from comind.following.submission import (
    leaderboard_standing,
    reconcile_submissions,
    submit_candidate,
    wait_for_scores,
)
from comind.kaggle.port import Kaggle, LeaderboardRow
from comind.kaggle.submittable import check_submittable
from comind.system.failpoints import failpoint
from comind.system.files import hash_file
from comind.system.timing import Clock

_MIN_SLICE_SECONDS = 1.0
_WARNING_DAYS = (1, 7)  # before the deadline, ascending


class DayPlan(Value):
    """Budget of a day, and the policy for submissions."""

    submit: Policy = "never"
    minutes: float = Field(default=240, gt=0)
    """Campaign time per day (UTC); the same for dollars, None for no limit."""
    usd: float | None = Field(default=None, ge=0)
    score_minutes: float = Field(default=10, ge=0)
    """Timeout for a score; the next day polls again."""
    score_every_seconds: float = Field(default=15, gt=0)
    submissions: int | None = Field(default=None, ge=0)
    """Submissions until the deadline, spread evenly over the days; None for no limit but Kaggle's."""


class ObservedCompetition(Value):
    """Result of an observation."""

    observation: CompetitionObserved
    competition: Path
    """Folder of the competition as it is now."""
    leaderboard: tuple[LeaderboardRow, ...]


class CampaignStatus(Value):
    """A campaign's total spend, and the candidate it would submit."""

    seconds: float = 0.0
    usd: float = 0.0
    attempts: int = 0
    candidate: Candidate | None = None


class CampaignSlices(Protocol):
    """Port to observe a competition and run campaigns."""

    def observe(self) -> ObservedCompetition:
        """Fetch what is new.

        Raises:
            KaggleError: Kaggle is unreachable or refuses.
        """

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        """Open a campaign with this budget; returns its name."""

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        """Raise a campaign's budget to what it has spent plus these amounts."""

    def status(self, campaign: str) -> CampaignStatus:
        """Return the status of a campaign."""

    def items(self, campaign: str) -> Sequence[ItemOutcome]:
        """Return all community items that a campaign could read."""

    def run(self, campaign: str) -> None:
        """Run or resume a campaign to the end of its budget."""

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        """Return the paired difference of the first to the second; None if their rows differ."""

    def correlations(self, one: Candidate, others: Sequence[Candidate]) -> Sequence[float | None]:
        """Return the correlations of a candidate's errors with those of others; None where unknown."""

    def submission_file(self, candidate: Candidate) -> Path:
        """Return the file to send for a candidate, in the form of the sample submission."""


StepName = Literal[
    "observe", "reconcile", "plan slice", "decide", "submit", "score", "select", "standing"
]
SINGLE_STEPS: tuple[StepName, ...] = ("observe", "plan slice", "submit")
"""Steps that are not retried: requests of the first were, the others open a campaign and send a file."""


class RunStep(Protocol):
    """Runs a step of a day by its name, such as in a task of an orchestrator."""

    def __call__(self, name: StepName, *values: Any) -> Any:
        """Return what `Day.perform` returns for a step and its values."""
        ...


def _no_limit(_day: date) -> None:
    return None


@dataclass(frozen=True)
class Day:
    """One day of one competition."""

    _slug: str
    _log: FollowingLog
    _kaggle: Kaggle
    _slices: CampaignSlices
    _plan: DayPlan
    _clock: Clock
    _run_step: RunStep | None = None
    """None: a step is run at once."""
    _submissions_on: Callable[[date], int | None] = _no_limit
    """Returns how many submissions the limits of all followed competitions allow on a day."""

    def run(self) -> None:
        """Run the day; if Kaggle fails, only the campaign continues, on the last observation.

        Raises:
            KaggleError: Kaggle was unreachable; the day's slice has been run if there was one to run.
        """
        try:
            seen: ObservedCompetition = self._step("observe")
            self._step("reconcile")
        except (KaggleError, KaggleUnknownError) as error:
            self._log.record(NoticeRecorded(at=self._clock.now(), subject="kaggle", text=str(error)))
            last = self._log.state.observation
            if last is not None and not last.is_over:
                self._run_slice(None)
            raise
        approved = None
        if not seen.observation.is_over:
            approved = self._log.state.approved_candidate
            if approved is not None:  # before a slice replaces it
                self._submit(approved)
            self._run_slice(seen.competition)
        if approved is None or approved != self._log.state.candidate:  # else it was decided on above
            self._submit(self._log.state.candidate)
        self._step("score")
        self._step("select")
        self._step("standing", seen.leaderboard)

    def perform(self, name: StepName, *values: Any) -> Any:
        """Run one step and return its result; it writes what it did to the log before it ends."""
        steps: dict[StepName, Callable[..., Any]] = {
            "observe": self._observe,
            "reconcile": self._reconcile,
            "plan slice": self._plan_slice,
            "decide": self._decide,
            "submit": self._send,
            "score": self._wait_for_scores,
            "select": self._select,
            "standing": self._record_standing,
        }
        return steps[name](*values)

    def _step(self, name: StepName, *values: Any) -> Any:
        return (self._run_step or self.perform)(name, *values)

    def _reconcile(self) -> None:
        reconcile_submissions(self._log, self._kaggle, self._slug, self._clock.now())

    def _wait_for_scores(self) -> None:
        wait_for_scores(
            self._log,
            self._kaggle,
            self._slug,
            self._clock,
            seconds=60 * self._plan.score_minutes,
            every=self._plan.score_every_seconds,
        )

    def _select(self) -> None:
        """Select the submissions that should count, again only after another was scored."""
        state = self._log.state
        if state.observation is None or state.observation.is_over:
            return
        among = sorted(each.candidate.sha256 for each in valid_submissions(state.submissions))
        if state.selection is not None and among == list(state.selection.among):
            return
        found = select_submissions(state.submissions, self._slices.correlations, self._clock.now())
        if found is not None:
            self._log.record(found)

    def _observe(self) -> ObservedCompetition:
        seen = self._slices.observe()
        for notice in notices_of(self._log.state.observation, seen.observation):
            self._log.record(notice)  # first, as a kill may come before the observation is logged
        self._log.record(seen.observation)
        return seen

    def _run_slice(self, competition: Path | None) -> None:
        """Run the campaign for what is left of the day's budget; new data start a new campaign."""
        state = self._log.state
        if not state.slice_running:
            planned: SliceStarted | None = self._step("plan slice", competition)
            if planned is None:
                return
            self._log.record(planned)
        failpoint("slice-begun")
        current = self._log.state.last_slice
        assert current is not None
        self._slices.run(current.campaign)
        status = self._slices.status(current.campaign)
        known = self._log.state.items
        self._log.record(
            SliceEnded(
                at=self._clock.now(),
                campaign=current.campaign,
                seconds=max(0.0, status.seconds - current.seconds_before),
                usd=max(0.0, status.usd - current.usd_before),
                attempts=status.attempts,
                candidate=status.candidate,
                items=tuple(
                    each
                    for each in self._slices.items(current.campaign)
                    if known.get((current.campaign, each.item_type, each.name)) != each
                ),
            )
        )

    def _plan_slice(self, competition: Path | None) -> SliceStarted | None:
        state, now = self._log.state, self._clock.now()
        assert state.observation is not None
        took, cost = state.spent_on(now.date())
        seconds = 60 * self._plan.minutes - took
        usd = None if self._plan.usd is None else max(0.0, self._plan.usd - cost)
        if seconds < _MIN_SLICE_SECONDS or (usd == 0 and cost > 0):
            return None
        data = state.observation.data_sha256
        campaign, before = state.campaign_on(data), CampaignStatus()
        if campaign is not None:
            before = self._slices.status(campaign)
            self._slices.extend(campaign, seconds, usd)
        elif competition is not None:
            campaign = self._slices.open(competition, seconds, usd)
        else:
            return None
        return SliceStarted(
            at=now,
            campaign=campaign,
            seconds=seconds,
            usd=usd,
            seconds_before=before.seconds,
            usd_before=before.usd,
            data_sha256=data,
        )

    def _submit(self, candidate: Candidate | None) -> None:
        decision: SubmissionDecided = self._step("decide", candidate)
        if decision.verdict != "submit" or decision.candidate is None:
            return
        chosen = decision.candidate
        self._step("submit", chosen)

    def _decide(self, candidate: Candidate | None) -> SubmissionDecided:
        plan, state = self._plan, self._log.state
        assert state.observation is not None
        today = self._submissions_on(state.observation.at.astimezone(UTC).date())
        spent = submissions_used_up(state, plan.submissions, today)
        now = self._clock.now()
        decision = decide(state, candidate, plan.submit, self._slices.compare, now, spent)
        if decision.verdict != "keep" and self._was_sent(decision.candidate):
            reason = "the same file was submitted before"
            decision = decision.model_copy(update={"verdict": "keep", "reason": reason})
        if decision.verdict == "submit":
            decision = self._recheck(decision)
        self._log.record(decision)
        return decision

    def _was_sent(self, candidate: Candidate | None) -> bool:
        """Return whether another command sent the candidate's file."""
        if candidate is None:
            return False
        sha256 = hash_file(self._slices.submission_file(candidate))
        return self._log.state.submission_of(candidate, sha256) is not None

    def _send(self, candidate: Candidate) -> None:
        file = self._slices.submission_file(candidate)
        submit_candidate(self._log, self._kaggle, self._slug, candidate, file, self._clock.now())

    def _recheck(self, decision: SubmissionDecided) -> SubmissionDecided:
        """Check again that Kaggle accepts a file: the slice may have taken hours."""
        facts, limits = self._kaggle.competition(self._slug), self._kaggle.limits(self._slug)
        try:
            check_submittable(facts, limits, self._clock.now())
        except KaggleRefusedError as error:
            return decision.model_copy(update={"verdict": "keep", "reason": str(error)})
        return decision

    def _record_standing(self, rows: Sequence[LeaderboardRow]) -> None:
        candidate = self._log.state.candidate
        if candidate is None:
            return
        maximize, state = candidate.validation.value.maximize, self._log.state
        over = state.observation is not None and state.observation.is_over
        # The leaderboard after the end is the private one, on which a public score has no rank.
        score = state.final_score(maximize=maximize) if over else state.best_public(maximize=maximize)
        if score is None:
            return
        now = self._clock.now()
        standing = leaderboard_standing(score, rows, now, maximize=maximize, final=over)
        if standing is not None and not _is_known(standing, state.standing):
            self._log.record(standing)


def _is_known(found: StandingRecorded, last: StandingRecorded | None) -> bool:
    """Return whether a final standing is the last one, which each run after the end finds again."""
    return found.final and last is not None and found == last.model_copy(update={"at": found.at})


def notices_of(before: CompetitionObserved | None, now: CompetitionObserved) -> list[NoticeRecorded]:
    """Return notices for the user on what changed since the last observation, each once."""
    return [NoticeRecorded(at=now.at, subject=about, text=text) for about, text in _changes(before, now)]


def _changes(
    before: CompetitionObserved | None, now: CompetitionObserved
) -> Iterator[tuple[NoticeSubject, str]]:
    if before is not None and before.deadline != now.deadline:
        yield "deadline", f"the deadline has moved: {_deadline_text(before)}, now {_deadline_text(now)}"
    days = _days_left(now)
    if days is not None and (before is None or days != _days_left(before)):
        yield "deadline", f"the deadline is near: {_deadline_text(now)}"
    notified = before is not None and before.is_over and before.deadline == now.deadline
    if now.is_over and not notified:
        yield "deadline", f"the deadline has passed ({_deadline_text(now)}); nothing more is submitted"
    if before is not None and before.rules_sha256 != now.rules_sha256:
        yield "rules", "the rules have changed; nothing is submitted until you approve: --allow rules"
    if before is not None and before.data_sha256 != now.data_sha256:
        yield "data", "the data have been replaced; a new campaign starts on them"
    if now.closed and not now.is_over and (before is None or before.closed != now.closed):
        yield "closed", now.closed


def _days_left(observed: CompetitionObserved) -> int | None:
    """Return the deadline warning that an observation calls for, in days; None for none."""
    if observed.deadline is None or observed.is_over:
        return None
    left = observed.deadline - observed.at
    return next((days for days in _WARNING_DAYS if left <= timedelta(days=days)), None)


def _deadline_text(observed: CompetitionObserved) -> str:
    return "none" if observed.deadline is None else f"{observed.deadline:%Y-%m-%d %H:%M %Z}"

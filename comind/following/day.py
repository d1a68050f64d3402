"""One day of following a competition.

    look ──► settle ──► a slice of the campaign ──► decide ──► hand in ──► score ──► where we stand

Each step is in the log before the next one begins, so a day that was killed is simply run again: what
was done is not done twice, and a slice that was interrupted goes on within the time it was given.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pydantic import Field

from comind.domain.metric import Paired
from comind.domain.value import Value
from comind.errors import KaggleError, KaggleRefusedError, KaggleUnknownError
from comind.following.decide import Policy, decide
from comind.following.events import (
    Candidate,
    CompetitionObserved,
    NoticeRecorded,
    SliceEnded,
    SliceStarted,
    SubmissionDecided,
)
from comind.following.handing import hand_in, settle, standing, wait_for_scores
from comind.following.journal import FollowingLog
from comind.following.notices import notices_of
from comind.kaggle.port import Kaggle, LeaderboardRow
from comind.kaggle.submittable import check_submittable
from comind.system.failpoints import failpoint
from comind.system.timing import Clock

__all__ = ["CampaignSlices", "CampaignStatus", "Day", "ObservedCompetition", "Plan"]

_LEAST_SECONDS = 1.0  # of a slice that is worth beginning


class Plan(Value):
    """What a day may take, and whether it may end with a submission."""

    submit: Policy = "never"
    minutes: float = Field(default=240, gt=0)
    """Of campaign on one day, UTC; the same for dollars, None for no limit."""
    usd: float | None = Field(default=None, ge=0)
    score_minutes: float = Field(default=10, ge=0)
    """How long a score is waited for; then the next day asks again."""
    score_every_seconds: float = Field(default=15, gt=0)


class ObservedCompetition(Value):
    """What a look brought."""

    looked: CompetitionObserved
    competition: Path
    """Folder of the competition as it is now."""
    leaderboard: tuple[LeaderboardRow, ...]


class CampaignStatus(Value):
    """How a campaign stands: all that it has taken, and what it would hand in."""

    seconds: float = 0.0
    usd: float = 0.0
    attempts: int = 0
    candidate: Candidate | None = None


class CampaignSlices(Protocol):
    """Whoever looks, and runs campaigns."""

    def look(self) -> ObservedCompetition:
        """Fetch what is new.

        Raises:
            KaggleError: Kaggle cannot be reached, or refuses.
        """

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        """Open a campaign with this budget; return its name."""

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        """Raise the budget of a campaign by so much above what it has spent."""

    def stand(self, campaign: str) -> CampaignStatus:
        """Return how a campaign stands."""

    def run(self, campaign: str) -> None:
        """Run a campaign to the end of its budget, from wherever it stands."""

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        """Return how much better the first is than the second; None where rows differ."""

    def file_of(self, candidate: Candidate) -> Path:
        """Return the file that would be handed in."""


class Day:
    """Carries out one day."""

    def __init__(
        self,
        slug: str,
        log: FollowingLog,
        kaggle: Kaggle,
        slices: CampaignSlices,
        plan: Plan,
        clock: Clock,
    ) -> None:
        self._slug = slug
        self._log = log
        self._kaggle = kaggle
        self._slices = slices
        self._plan = plan
        self._clock = clock

    def run(self) -> None:
        """Go through the day; without Kaggle, only the campaign goes on, on what was seen before.

        Raises:
            KaggleError: Kaggle could not be reached; the day's slice was run if there was one to run.
        """
        try:
            seen = self._look()
            settle(self._log, self._kaggle, self._slug, self._clock.now())
        except (KaggleError, KaggleUnknownError) as error:
            self._log.record(NoticeRecorded(at=self._clock.now(), kind="kaggle", text=str(error)))
            last = self._log.state.looked
            if last is not None and not last.is_over:
                self._slice(None)
            raise
        if not seen.looked.is_over:
            if self._log.state.agreed is not None:  # before a slice puts something in its place
                self._hand_in(self._log.state.agreed)
            self._slice(seen.competition)
        self._hand_in(self._log.state.candidate)
        self._wait()
        self._stand(seen.leaderboard)

    def _look(self) -> ObservedCompetition:
        seen = self._slices.look()
        for notice in notices_of(self._log.state.looked, seen.looked):
            self._log.record(notice)  # first, as a kill may come before the look is written
        self._log.record(seen.looked)
        return seen

    def _slice(self, competition: Path | None) -> None:
        """Give the campaign what is left of the day's budget; a new one begins on new data."""
        state = self._log.state
        if not state.going_on:
            planned = self._begun(competition)
            if planned is None:
                return
            self._log.record(planned)
        failpoint("slice-begun")
        begun = self._log.state.begun
        assert begun is not None
        self._slices.run(begun.campaign)
        stand = self._slices.stand(begun.campaign)
        self._log.record(
            SliceEnded(
                at=self._clock.now(),
                campaign=begun.campaign,
                seconds=max(0.0, stand.seconds - begun.seconds_before),
                usd=max(0.0, stand.usd - begun.usd_before),
                attempts=stand.attempts,
                candidate=stand.candidate,
            )
        )

    def _begun(self, competition: Path | None) -> SliceStarted | None:
        state, now = self._log.state, self._clock.now()
        assert state.looked is not None
        took, cost = state.spent_on(now.date())
        seconds = 60 * self._plan.minutes - took
        usd = None if self._plan.usd is None else max(0.0, self._plan.usd - cost)
        if seconds < _LEAST_SECONDS or (usd == 0 and cost > 0):
            return None
        data = state.looked.data_sha256
        campaign, before = state.campaign_on(data), CampaignStatus()
        if campaign is not None:
            before = self._slices.stand(campaign)
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

    def _hand_in(self, candidate: Candidate | None) -> None:
        decided = decide(self._log.state, candidate, self._plan.submit, self._slices.compare)
        if decided.verdict == "submit":
            decided = self._checked(decided)
        self._log.record(decided)
        if decided.verdict != "submit" or decided.candidate is None:
            return
        file = self._slices.file_of(decided.candidate)
        hand_in(self._log, self._kaggle, self._slug, decided.candidate, file, self._clock.now())

    def _checked(self, decided: SubmissionDecided) -> SubmissionDecided:
        """Ask again whether a file is taken: since the look, the slice may have taken hours."""
        facts, limits = self._kaggle.competition(self._slug), self._kaggle.limits(self._slug)
        try:
            check_submittable(facts, limits, self._clock.now())
        except KaggleRefusedError as error:
            return decided.model_copy(update={"verdict": "keep", "reason": str(error)})
        return decided

    def _wait(self) -> None:
        wait_for_scores(
            self._log,
            self._kaggle,
            self._slug,
            self._clock,
            seconds=60 * self._plan.score_minutes,
            every=self._plan.score_every_seconds,
        )

    def _stand(self, rows: Sequence[LeaderboardRow]) -> None:
        candidate = self._log.state.candidate
        if candidate is None:
            return
        maximize = candidate.validation.value.maximize
        best = self._log.state.best_public(maximize=maximize)
        stood = None if best is None else standing(best, rows, self._clock.now(), maximize=maximize)
        if stood is not None:
            self._log.record(stood)

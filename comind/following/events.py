"""Everything that can happen while a competition is followed, in the past tense."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, TypeAdapter

from comind.domain.metric import Paired, ValidationScore
from comind.domain.value import Name, Value

__all__ = [
    "FOLLOWING_EVENTS",
    "Candidate",
    "CompetitionObserved",
    "FollowingEvent",
    "NoticeKind",
    "NoticeRecorded",
    "Scored",
    "Sending",
    "Sent",
    "SliceEnded",
    "SliceStarted",
    "StandingRecorded",
    "SubmissionApproved",
    "SubmissionDecided",
    "Verdict",
]


class CompetitionObserved(Value):
    """The competition was looked at; everything that was found is in DVC under these hashes."""

    type: Literal["looked"] = "looked"
    at: AwareDatetime
    """By the clock of the place that was asked."""
    deadline: AwareDatetime | None = None
    rules_sha256: str
    data_sha256: str
    """Of names, sizes and dates of the data files."""
    community_sha256: str
    leaderboard_sha256: str
    notebooks: int
    discussions: int
    new_items: int
    """How many of these were not there, or not as they are, at the look before."""
    teams: int
    submissions_left: int
    closed: str = ""
    """Why nothing can be handed in; empty where something can."""

    @property
    def is_over(self) -> bool:
        """Whether the deadline had passed."""
        return self.deadline is not None and self.at > self.deadline


NoticeKind = Literal["deadline", "rules", "data", "closed", "kaggle"]


class NoticeRecorded(Value):
    """Something has changed that whoever runs this should know."""

    type: Literal["noticed"] = "noticed"
    at: AwareDatetime
    kind: NoticeKind
    text: str


class SliceStarted(Value):
    """The campaign was given more time."""

    type: Literal["slice-begun"] = "slice-begun"
    at: AwareDatetime
    campaign: Name
    seconds: float = Field(ge=0)
    """How much more; the same for money."""
    usd: float | None = None
    seconds_before: float = Field(default=0.0, ge=0)
    """What the campaign had taken before; the same for money."""
    usd_before: float = Field(default=0.0, ge=0)
    data_sha256: str


class Candidate(Value):
    """What a campaign would hand in."""

    campaign: Name
    attempt: Name
    sha256: str
    """Of the file."""
    validation: ValidationScore


class SliceEnded(Value):
    """The campaign's slice is over; `candidate` is None where no attempt is valid."""

    type: Literal["slice-ended"] = "slice-ended"
    at: AwareDatetime
    campaign: Name
    seconds: float = Field(ge=0)
    """What it took; the same for money."""
    usd: float = Field(ge=0)
    attempts: int
    candidate: Candidate | None = None


Verdict = Literal["keep", "ask", "submit"]


class SubmissionDecided(Value):
    """Whether the candidate is handed in, and why."""

    type: Literal["decided"] = "decided"
    at: AwareDatetime
    verdict: Verdict
    reason: str
    candidate: Candidate | None = None
    ahead: Paired | None = None
    """How much better it is than what was handed in last, on the same validation rows."""


class SubmissionApproved(Value):
    """A person agrees that a file is handed in, or with the rules as they are now."""

    type: Literal["allowed"] = "allowed"
    at: AwareDatetime
    sha256: str = ""
    rules_sha256: str = ""


class Sending(Value):
    """A file is about to be handed in; from now on only the list of submissions knows whether it was."""

    type: Literal["sending"] = "sending"
    at: AwareDatetime
    candidate: Candidate
    message: str
    """What it is sent with; no two are the same."""


class Sent(Value):
    """A file was handed in; `reference` is empty where it turned out that it was not."""

    type: Literal["sent"] = "sent"
    at: AwareDatetime
    sha256: str
    reference: str


class Scored(Value):
    """A submission was graded, or refused; both scores are leaderboard scores."""

    type: Literal["scored"] = "scored"
    at: AwareDatetime
    reference: str
    public_score: float | None = None
    private_score: float | None = None
    error: str = ""


class StandingRecorded(Value):
    """Where the best of our public scores stands on the leaderboard of that moment."""

    type: Literal["stood"] = "stood"
    at: AwareDatetime
    public_score: float
    rank: int = Field(ge=1)
    teams: int = Field(ge=1)

    @property
    def percentile(self) -> float:
        """Share of teams that are not better, 0 to 100."""
        return 100.0 * (self.teams - self.rank + 1) / self.teams


FollowingEvent = Annotated[
    CompetitionObserved
    | NoticeRecorded
    | SliceStarted
    | SliceEnded
    | SubmissionDecided
    | SubmissionApproved
    | Sending
    | Sent
    | Scored
    | StandingRecorded,
    Field(discriminator="type"),
]

FOLLOWING_EVENTS: TypeAdapter[FollowingEvent] = TypeAdapter(FollowingEvent)

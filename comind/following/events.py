"""Define the events of a followed competition."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, TypeAdapter

from comind.domain.community import ItemOutcome
from comind.domain.metric import Paired, ValidationScore
from comind.domain.value import Name, Value
from comind.grading.leaderboard import Thresholds


class _Event(Value):
    type: str
    at: AwareDatetime


class CompetitionObserved(_Event):
    """The competition was fetched, at a time of the server; the data are in DVC under these hashes."""

    type: Literal["looked"] = "looked"
    deadline: AwareDatetime | None = None
    rules_sha256: str
    data_sha256: str
    """Over names, sizes and dates of the data files."""
    community_sha256: str
    leaderboard_sha256: str
    notebooks: int
    discussions: int
    new_items: int
    """Notebooks and discussions that are new or changed since the last observation."""
    teams: int
    submissions_left: int
    closed: str = ""
    """Reason why submissions are refused; empty if they are not."""

    @property
    def is_over(self) -> bool:
        """Whether the deadline had passed."""
        return self.deadline is not None and self.at > self.deadline


NoticeSubject = Literal["deadline", "rules", "data", "closed", "kaggle"]


class NoticeRecorded(_Event):
    """Something changed that the user should know."""

    type: Literal["noticed"] = "noticed"
    subject: NoticeSubject = Field(alias="kind")
    text: str


class SliceStarted(_Event):
    """The campaign was given more time."""

    type: Literal["slice-begun"] = "slice-begun"
    campaign: Name
    seconds: float = Field(ge=0)
    """Budget of this slice; the same for dollars."""
    usd: float | None = None
    seconds_before: float = Field(default=0.0, ge=0)
    """Spent by the campaign before; the same for dollars."""
    usd_before: float = Field(default=0.0, ge=0)
    data_sha256: str


class Candidate(Value):
    """The file that a campaign would submit."""

    campaign: Name
    attempt: Name
    sha256: str
    """Of the graded file."""
    validation: ValidationScore


class SubmittedFile(Value):
    """A file that a person submits, of which no campaign knows a score."""

    name: str
    sha256: str


class SliceEnded(_Event):
    """The slice ended; `candidate` is None if no attempt is valid."""

    type: Literal["slice-ended"] = "slice-ended"
    campaign: Name
    seconds: float = Field(ge=0)
    """Spent by this slice; the same for dollars."""
    usd: float = Field(ge=0)
    attempts: int
    candidate: Candidate | None = None
    items: tuple[ItemOutcome, ...] = ()
    """Community items that are new to the campaign, or of which more came since its last slice."""


Verdict = Literal["keep", "ask", "submit"]


class SubmissionDecided(_Event):
    """Decision whether to submit the candidate, with the reason."""

    type: Literal["decided"] = "decided"
    verdict: Verdict
    reason: str
    candidate: Candidate | None = None
    ahead: Paired | None = None
    """Paired difference to the last submission on the same validation rows."""


class SubmissionApproved(_Event):
    """The user approved a file, or the current rules."""

    type: Literal["allowed"] = "allowed"
    sha256: str = ""
    rules_sha256: str = ""


class SubmissionStarted(_Event):
    """A file is about to be uploaded; until reconciled, it is uncertain whether Kaggle accepted it."""

    type: Literal["sending"] = "sending"
    candidate: Candidate | SubmittedFile
    file_sha256: str = ""
    """Of the file that is sent, which may be the graded one in another form; empty in older logs."""
    message: str
    """Unique description of the submission, by which it is reconciled."""


class SubmissionSent(_Event):
    """Kaggle accepted the submission; an empty `reference` means that it turned out not to have."""

    type: Literal["sent"] = "sent"
    sha256: str
    reference: str


class SubmissionScored(_Event):
    """A submission was graded or rejected, with Kaggle's scores."""

    type: Literal["scored"] = "scored"
    reference: str
    public_score: float | None = None
    private_score: float | None = None
    error: str = ""


class SubmissionsSelected(_Event):
    """The submissions that should be selected on Kaggle's page for the end."""

    type: Literal["selected"] = "selected"
    first: Candidate
    """The best by validation."""
    second: Candidate | None = None
    correlation: float | None = None
    """Of the errors of both on the validation rows, 0 to 1; None if the second has another reason."""
    among: tuple[str, ...]
    """Hashes of all scored submissions, sorted."""


class StandingRecorded(_Event):
    """Rank of a score on the leaderboard of that moment.

    That is the best public score; after the end the private score that counts.
    """

    type: Literal["stood"] = "stood"
    score: float
    """Public, or private if `final`."""
    final: bool = False
    """Whether it is a private score on the final leaderboard."""
    rank: int = Field(ge=1)
    teams: int = Field(ge=1)
    thresholds: Thresholds | None = None
    """Scores that earn a medal on that leaderboard; None in older logs."""

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
    | SubmissionStarted
    | SubmissionSent
    | SubmissionScored
    | StandingRecorded
    | SubmissionsSelected,
    Field(discriminator="type"),
]

FOLLOWING_EVENTS: TypeAdapter[FollowingEvent] = TypeAdapter(FollowingEvent)

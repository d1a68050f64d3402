"""What the roles have found so far: reports, ideas and drafts, folded from the campaign's thoughts.

Nothing is ever taken out: memory is the union of all rounds, with where an idea came from and what
became of the attempts that used it.
"""

from dataclasses import dataclass

from pydantic import Field, TypeAdapter

from comind.campaign.outcome import ThinkOutcome
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.draft import Draft
from comind.domain.value import Value

__all__ = [
    "ANALYZE",
    "COORDINATE",
    "PROPOSE",
    "Component",
    "Idea",
    "Pool",
    "Ratings",
    "Report",
    "ideas_of",
    "pool_of",
    "result_of",
]

# Purposes of the three kinds of thinking, in the order of a round.
ANALYZE = "analyze"
PROPOSE = "propose"
COORDINATE = "coordinate"


class Ratings(Value):
    """The four dimensions of an analysis (paper, section 4.2), 0 to 10, and why."""

    novelty: int = Field(ge=0, le=10)
    feasibility: int = Field(ge=0, le=10)
    effectiveness: int = Field(ge=0, le=10)
    efficiency: int = Field(ge=0, le=10)
    reasons: str = ""


class Component(Ratings):
    """One part of a solution, rated for itself."""

    name: str


class Report(Ratings):
    """What the Analyzer made of one community item or published solution."""

    item: str
    kind: str
    title: str
    summary: str
    components: tuple[Component, ...] = ()
    ideas: tuple[str, ...] = ()
    claim: str = ""
    """The score that its author says it has."""
    reproduced: str = ""
    """What attempts that start from it have scored here; empty while none has."""
    confidence: int = Field(ge=0, le=10)
    """Never more than 5 for what nobody has reproduced here."""


class Idea(Value):
    """The smallest unit that can be tried."""

    id: str
    text: str
    value: int = Field(ge=0, le=10)
    sources: tuple[str, ...] = ()
    """Items of the reports and ids of earlier ideas that it came from."""


@dataclass(frozen=True, slots=True)
class Pool:
    """All reports, ideas and drafts of a campaign, oldest first."""

    reports: tuple[Report, ...] = ()
    ideas: tuple[Idea, ...] = ()
    latest: tuple[str, ...] = ()
    """Ids of the ideas that the last round selected."""
    drafts: tuple[Draft, ...] = ()

    def uses_of(self, idea: str, state: CampaignState) -> list[str]:
        """Return what became of the attempts that used an idea, in words."""
        attempts = (a for a in state.works.attempts() if idea in a.work.draft.sources)
        return [f"{attempt.id}: {result_of(attempt)}" for attempt in attempts]


_REPORTS = TypeAdapter(list[Report])
_IDEAS = TypeAdapter(list[Idea])
_DRAFTS = TypeAdapter(list[Draft])


def pool_of(state: CampaignState) -> Pool:
    """Return what the finished thoughts of `state` amount to."""
    reports, ideas, drafts = [], [], []
    latest: tuple[str, ...] = ()
    for thought in state.works.thoughts(ANALYZE):
        if thought.outcome is not None:
            reports += _REPORTS.validate_python(thought.outcome.result.get("reports", []))
    for thought in state.works.thoughts(PROPOSE):
        if thought.outcome is not None:
            found = ideas_of(thought.outcome)
            latest = tuple(idea.id for idea in found) or latest
            ideas += found
    for thought in state.works.thoughts(COORDINATE):
        if thought.outcome is not None:
            drafts += _DRAFTS.validate_python(thought.outcome.result.get("drafts", []))
    return Pool(tuple(reports), tuple(ideas), latest, tuple(drafts))


def ideas_of(outcome: ThinkOutcome) -> list[Idea]:
    """Return the ideas that a thought came to; none for one of another purpose."""
    return _IDEAS.validate_python(outcome.result.get("ideas", []))


def result_of(attempt: Attempt) -> str:
    """Return in words how an attempt ended, or that it has not."""
    if attempt.outcome is None:
        return "running"
    if attempt.outcome.score is not None:
        return str(attempt.outcome.score)
    return attempt.outcome.failure.message if attempt.outcome.failure else "no score"

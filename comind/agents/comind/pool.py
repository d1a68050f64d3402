"""What the roles have found so far: reports, ideas and drafts, collected from the campaign's thoughts.

Nothing is ever taken out: memory is the union of all rounds, with where an idea came from and what
became of the attempts that used it.
"""

from dataclasses import dataclass

from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE, Idea, Report
from comind.campaign.log.campaign_state import CampaignState
from comind.domain.draft import Draft

__all__ = ["Pool", "pool_of", "runs_of"]


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
        return [f"{attempt.id}: {attempt.result}" for attempt in attempts]


def runs_of(item: str, state: CampaignState) -> list[str]:
    """Return what attempts that started from a community item have scored here, in words."""
    found = []
    for attempt in state.works.attempts():
        if item in attempt.work.draft.sources and attempt.outcome and attempt.outcome.score:
            first = attempt.outcome.opening_score
            as_it_is = f"as it is {first}, then " if first else ""
            found.append(f"{attempt.id}: {as_it_is}{attempt.outcome.score}")
    return found


def pool_of(state: CampaignState) -> Pool:
    """Return what the finished thoughts of `state` amount to; each was validated once."""
    works = state.works
    proposed = [each.result.ideas for each in works.thoughts(PROPOSE) if each.result]
    selected = [tuple(idea.id for idea in ideas) for ideas in proposed if ideas]
    return Pool(
        reports=tuple(r for each in works.thoughts(ANALYZE) if each.result for r in each.result.reports),
        ideas=tuple(idea for ideas in proposed for idea in ideas),
        latest=selected[-1] if selected else (),
        drafts=tuple(
            d for each in works.thoughts(COORDINATE) if each.result for d in each.result.drafts
        ),
    )

"""The end of a campaign: runs on folds, a blend, the final pick, and its refit on all labelled rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from comind.campaign.blend import Blender, blend, members_on_validation
from comind.campaign.events import FinalPicked, Ranked, WorkPlanned
from comind.campaign.expected import BEYOND, best_expected, blend_reason
from comind.campaign.folder import CampaignFolder
from comind.campaign.folds import Offer, no_folds, run_folds
from comind.campaign.loop import Campaign, Executor, finish_begun
from comind.campaign.plan import Code
from comind.campaign.race import Compared, Comparing
from comind.campaign.refit import plan_refit
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.metric import Paired
from comind.system.failpoints import failpoint

__all__ = ["Comparer", "as_csv", "finish", "leaderboard", "pick"]


class Comparer(Blender, Protocol):
    """Whoever can say how much better one validation submission is than another, and than averages."""

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better the first submission is than the second, on the same rows."""
        ...

    def fold(self, number: int) -> Comparing:
        """Return who compares submissions for a fold."""
        ...


def finish(
    campaign: Campaign,
    executor: Executor,
    comparer: Comparer,
    progress: Callable[[CampaignState], None] | None = None,
    offer: Offer = no_folds,
) -> str:
    """Run finalists on folds, blend, pick the final submission, and refit it, as is wanted and paid for.

    Returns why there is no refit, in one line; empty where there is one, or none is wanted. Why there is
    no blend, and no fold, is in the campaign's log.
    """
    if campaign.state.picked is None and campaign.state.best is not None:
        compared = Compared(comparer)
        members = partial(members_on_validation, campaign, comparer)
        why = run_folds(campaign, executor, compared, offer, members, progress)
        blend(campaign, executor, comparer, progress)
        ranked = leaderboard(campaign.state, campaign.folder, compared)
        if campaign.state.spec.pick == "simplest":
            picked = pick(ranked, campaign.state.works.blend())
        else:
            picked = best_expected(ranked, campaign.state, campaign.folder, compared)
        notes = tuple(filter(None, (*picked.notes, why)))
        campaign.record(picked.model_copy(update={"notes": notes}))
        failpoint("final-picked")
    if not campaign.state.spec.refit or campaign.state.picked is None:
        return ""
    planned = plan_refit(campaign.state)
    if isinstance(planned, Code):
        campaign.record(WorkPlanned(id=campaign.state.next_id(planned), work=planned))
        failpoint("work-planned")
    finish_begun(campaign, executor, progress)
    if campaign.state.refit() is not None:
        return ""
    why = campaign.state.works.refits()[-1].result if isinstance(planned, Code) else planned
    return f"no refit: {why}"


def leaderboard(state: CampaignState, folder: CampaignFolder, comparer: Comparing) -> tuple[Ranked, ...]:
    """Return attempts and blends with a score, the best first, compared with it on the same rows."""
    scored = state.works.best_first(blends=True)
    ranked = []
    for attempt in scored:
        assert attempt.outcome is not None
        assert attempt.outcome.score is not None
        behind = None
        if attempt is not scored[0]:
            behind = comparer.compare(folder.validation_of(scored[0]), folder.validation_of(attempt))
        ranked.append(
            Ranked(
                work_id=attempt.id,
                score=attempt.outcome.score,
                code_lines=_code_lines(attempt.outcome.code),
                seconds=attempt.outcome.code_seconds,
                behind=behind,
            )
        )
    return tuple(ranked)


def pick(ranked: tuple[Ranked, ...], blended: Attempt | None = None) -> FinalPicked:
    """Return the pick of the rule `simplest`: of all that tie with the best score the simplest.

    Then the fastest. A difference within one standard error of the paired difference is a tie (the
    one-standard-error rule, Breiman et al. 1984, section 3.4.3). A blend was compared by that rule
    before it was planned, on rows that it was not selected on; so it is the pick where it scores best.
    """
    if blended is not None and blended.work.blend and blended.id == ranked[0].work_id:
        reason = blend_reason(blended.work.blend)
        return FinalPicked(work_id=blended.id, reason=reason, leaderboard=ranked)
    tied = [each for each in ranked if each.tied]
    chosen = min(tied, key=lambda each: (each.code_lines, each.seconds, each.work_id))
    best = ranked[0]
    if len(ranked) == 1:
        reason = "the only attempt with a score"
    elif len(tied) == 1:
        reason = BEYOND
    elif chosen is best:
        reason = f"the best validation score, and the simplest of {len(tied)} that tie with it"
    else:
        reason = (
            f"within the noise of the best score ({best.work_id}) and the simplest of {len(tied)} "
            f"that tie: {chosen.code_lines} lines of code instead of {best.code_lines}"
        )
    return FinalPicked(work_id=chosen.work_id, reason=reason, leaderboard=ranked)


def as_csv(ranked: tuple[Ranked, ...]) -> str:
    """Return the campaign's leaderboard as a table, best score first."""
    rows = ["rank,attempt,score,low,high,behind,standard_error,code_lines,seconds,folds,expected"]
    for rank, each in enumerate(ranked, start=1):
        interval, behind = each.score.interval, each.behind
        cells = [rank, each.work_id, each.score.value.value, interval.low, interval.high]
        cells += [behind.difference, behind.standard_error] if behind else [0.0, 0.0]
        cells += [each.code_lines, round(each.seconds, 1), " ".join(map(str, each.folds))]
        cells.append("" if each.expected is None else each.expected)
        rows.append(",".join(map(str, cells)))
    return "\n".join(rows) + "\n"


def _code_lines(code: str) -> int:
    lines = (line.strip() for line in code.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))

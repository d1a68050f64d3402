"""The end of a campaign: a blend, the final pick, and its refit on all labelled rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from comind.campaign.blend import Blender, blend
from comind.campaign.events import FinalPicked, Ranked
from comind.campaign.folder import CampaignFolder
from comind.campaign.loop import Campaign, Executor, run
from comind.campaign.refit import Refit
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.metric import Paired
from comind.system.killpoints import passed

__all__ = ["Comparer", "as_csv", "finish", "leaderboard", "pick"]


class Comparer(Blender, Protocol):
    """Whoever can say how much better one validation submission is than another, and than averages."""

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better the first submission is than the second, on the same rows."""
        ...


def finish(
    campaign: Campaign,
    executor: Executor,
    comparer: Comparer,
    progress: Callable[[CampaignState], None] | None = None,
) -> str:
    """Blend what was scored, pick the final submission, and refit it where that is wanted and paid for.

    Returns why there is no refit, in one line; empty where there is one, or none is wanted. Why there is
    no blend is in the campaign's log.
    """
    if campaign.state.picked is None and campaign.state.best is not None:
        blend(campaign, executor, comparer, progress)
        ranked = leaderboard(campaign.state, campaign.folder, comparer)
        campaign.record(pick(ranked, campaign.state.works.blend()))
        passed("final-picked")
    if not campaign.state.spec.refit or campaign.state.picked is None:
        return ""
    ending = run(campaign, Refit(), executor, progress)
    if campaign.state.refit() is not None:
        return ""
    tried = [each.result for each in campaign.state.works.refits()]
    return f"no refit: {tried[-1] if tried else ending.detail}"


def leaderboard(state: CampaignState, folder: CampaignFolder, comparer: Comparer) -> tuple[Ranked, ...]:
    """Return attempts and blends with a score, the best first, compared with it on the same rows."""
    scored = state.works.best_first(blends=True)
    ranked = []
    for attempt in scored:
        assert attempt.outcome is not None
        assert attempt.outcome.score is not None
        behind = None
        if attempt is not scored[0]:
            behind = comparer.compare(_validation(scored[0], folder), _validation(attempt, folder))
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
    """Return the pick: of all that cannot be told from the best score, the simplest, then the fastest.

    A difference within one standard error of the paired difference is a tie (the one-standard-error
    rule, Breiman et al. 1984, section 3.4.3). A blend was compared by that rule before it was planned,
    on rows that it was not selected on; so it is the pick where it has the best score.
    """
    if blended is not None and blended.work.blend and blended.id == ranked[0].work_id:
        gain = blended.work.blend.gain
        reason = (
            f"an average of {len(blended.work.blend.members)} scored steps, better than the best of "
            f"them by {gain.difference:.3g} (standard error {gain.standard_error:.3g}) on rows that "
            "it was not selected on"
        )
        return FinalPicked(work_id=blended.id, reason=reason, leaderboard=ranked)
    tied = [each for each in ranked if each.tied]
    chosen = min(tied, key=lambda each: (each.code_lines, each.seconds, each.work_id))
    best = ranked[0]
    if len(ranked) == 1:
        reason = "the only attempt with a score"
    elif len(tied) == 1:
        reason = "the best validation score, beyond the noise of all others"
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
    rows = ["rank,attempt,score,low,high,behind,standard_error,code_lines,seconds"]
    for rank, each in enumerate(ranked, start=1):
        interval, behind = each.score.interval, each.behind
        cells = [rank, each.work_id, each.score.value.value, interval.low, interval.high]
        cells += [behind.difference, behind.standard_error] if behind else [0.0, 0.0]
        rows.append(",".join(map(str, [*cells, each.code_lines, round(each.seconds, 1)])))
    return "\n".join(rows) + "\n"


def _validation(attempt: Attempt, folder: CampaignFolder) -> Path:
    assert attempt.submitted is not None
    return folder.work(attempt.id).validation_submission(attempt.submitted.step)


def _code_lines(code: str) -> int:
    lines = (line.strip() for line in code.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))

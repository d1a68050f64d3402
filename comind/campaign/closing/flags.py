"""Flag attempts whose validation score cannot be trusted, so that another one is picked.

Only the final phase does, so no agent sees a flag; in a campaign that is resumed after its end it sees
which attempts were rejected, a bit each. What the platform has measured itself rejects an attempt, as an
agent may; out-of-fold predictions are an agent's own file, and may be wrong by mistake, so there is only
a warning for these.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from comind.campaign.closing.fold_runs import fold_runs
from comind.campaign.log.campaign_events import AttemptRejected, Flag, SubmissionsFlagged
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.loop import Campaign
from comind.domain.metric import ValidationScore
from comind.grading.coded_submissions import LEAST_STEPS
from comind.grading.grader_port import CampaignGrader
from comind.metrics import METRICS

_REJECTED = "the platform: its validation score cannot be trusted"
_FAR = 5.0  # standard errors between a score and its own score elsewhere
_SHARE = 0.5  # of the loss elsewhere; a score with a smaller one is suspicious
_USUAL = 2.0  # times the largest such difference of another attempt


def flag_before_folds(campaign: Campaign, grader: CampaignGrader) -> None:
    """Record which attempts query labels by their submissions, or exceed their out-of-fold score by far.

    Raises:
        GraderError: the grader is gone.
    """
    scored = campaign.state.works.best_first()
    flags = [
        Flag(work_id=each.id, reason=reason, excludes=True)
        for each in scored
        if (reason := _coded(each, campaign.folder, grader))
    ]
    own = {
        each.id: (each.score, [each.outcome.out_of_fold])
        for each in scored
        if each.score is not None and each.outcome is not None and each.outcome.out_of_fold is not None
    }
    flags += _far_from_own(own, "its out-of-fold score", excludes=False)
    _record(campaign, flags)


def flag_by_folds(campaign: Campaign) -> bool:
    """Record which attempts' scores exceed by far those of their scripts on folds; returns if any do."""
    ran = fold_runs(campaign.state).runs
    own = {}
    for work_id, runs in ran.items():
        score = campaign.state.works.attempt(work_id).score
        found = [each.score for each in runs if each.score is not None]
        if score is not None and found:
            own[work_id] = (score, found)
    return _record(campaign, _far_from_own(own, "the score of its script on folds", excludes=True))


def _record(campaign: Campaign, flags: Iterable[Flag]) -> bool:
    """Record the flags that the log does not have, and rejections; returns whether there are any."""
    new = tuple(each for each in flags if each not in campaign.state.flags)
    if new:
        campaign.record(SubmissionsFlagged(flags=new))
    rejected = [each for each in campaign.state.flags if each.excludes]
    rejected = [each for each in rejected if not campaign.state.works.attempt(each.work_id).rejected]
    for each in rejected:
        campaign.record(AttemptRejected(id=each.work_id, reason=_REJECTED))
    return bool(rejected)


def _coded(attempt: Attempt, folder: CampaignFolder, grader: CampaignGrader) -> str:
    """Return why the step that is an attempt's result looks like a query of labels; empty if not."""
    assert attempt.submitted is not None
    place = folder.work(attempt.id)
    graded = {
        cell.step: cell.submitted
        for cell in WORK_LOG.read(place.log).cells
        if cell.submitted is not None and cell.report is not None and cell.report.score is not None
    }
    if len(graded) < LEAST_STEPS or attempt.submitted.step not in graded:
        return ""
    for submitted in graded.values():
        place.verify(submitted)
    files = [(place.validation_submission(step), place.test_submission(step)) for step in graded]
    reasons = dict(zip(graded, grader.coded(files).reasons, strict=False))
    return reasons.get(attempt.submitted.step, "")


def _far_from_own(
    scores: Mapping[str, tuple[ValidationScore, Sequence[ValidationScore]]], what: str, *, excludes: bool
) -> Iterator[Flag]:
    """Yield a flag for each score that exceeds by far its own ones elsewhere, and more than others."""
    metric = METRICS.get(next((score.metric for score, _ in scores.values()), ""))
    if metric is None or metric.best is None:
        return
    best = metric.best if metric.maximize else -metric.best
    gaps = {work_id: _gap(score, elsewhere, best) for work_id, (score, elsewhere) in scores.items()}
    for work_id, (gap, far) in gaps.items():
        usual = max((abs(other) for each, (other, _) in gaps.items() if each != work_id), default=0.0)
        if far and gap > _USUAL * usual:
            score, elsewhere = scores[work_id]
            values = ", ".join(str(each.shown) for each in elsewhere)
            reason = f"its validation score of {score.shown} is far from {what}: {values}"
            yield Flag(work_id=work_id, reason=reason, excludes=excludes)


def _gap(
    score: ValidationScore, elsewhere: Sequence[ValidationScore], best: float
) -> tuple[float, bool]:
    """Return by how much a score is better than its mean elsewhere, and whether chance excludes that."""
    other = fmean(each.value.signed for each in elsewhere)
    variance = fmean(each.interval.standard_error**2 for each in elsewhere) / len(elsewhere)
    error = math.sqrt(score.interval.standard_error**2 + variance)
    gap = score.value.signed - other
    return gap, gap > _FAR * error and best - score.value.signed <= _SHARE * (best - other)

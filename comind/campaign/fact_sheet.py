"""Fold what finished attempts measured to the sheet of facts that all roles are given."""

from collections.abc import Iterator

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.domain.facts import Fact, FactSheet
from comind.grading.grader_port import ScoreBreakdown

_MOST = 10
"""Facts on a sheet."""
_PARTS_SHOWN = 6
_MORE = 0.1
"""Seconds of earlier cells from which they are told."""


def measured_facts(state: CampaignState) -> FactSheet:
    """Return what the attempts measured that have ended, at most ten lines; pure.

    Those of the baseline come first, then the preparation, then the attempts, the best first. Agents'
    rejected attempts and platform work at the campaign's end are left out.
    """
    folds = state.split.folds if state.split is not None else 0
    first = [each for each in state.works.attempts() if each.work.is_attempt_0]
    baseline = [fact for each in first for fact in _of_baseline(each)]
    own = [each for each in state.works.best_first() if not (each.work.is_attempt_0 or each.rejected)]
    found = [*_preparation(state)]
    for number, each in enumerate(own):
        found += _of_attempt(each, folds, best=number == 0)
    return FactSheet(baseline=tuple(baseline), attempts=tuple(found[: _MOST - len(baseline)]))


def _of_baseline(attempt: Attempt) -> Iterator[Fact]:
    """Yield seconds and score of the baseline, and its error by part."""
    outcome = attempt.outcome
    timing = outcome.timing if outcome is not None else None
    if outcome is None or timing is None:
        return
    models = ", ".join(f"{name} {_seconds(took)}" for name, took in timing.of_models.items())
    which = f"; fitting its models: {models}" if models else ""
    yield Fact(
        text=f"The baseline ran {_seconds(timing.seconds)} and scored {timing.score}{which}",
        source=attempt.id,
    )
    for parts in outcome.parts:
        yield Fact(text=f"The baseline's score {_by(parts)}", source=attempt.id)


def _preparation(state: CampaignState) -> Iterator[Fact]:
    """Yield the running time of the latest preparation that ran to its end."""
    for attempt in reversed(state.works.attempts()):
        if attempt.outcome is not None and attempt.outcome.prepared_seconds is not None:
            took = _seconds(attempt.outcome.prepared_seconds)
            text = f"The preparation ran {took}, once in each attempt that begins with it"
            yield Fact(text=text, source=attempt.id)
            return


def _of_attempt(attempt: Attempt, folds: int, *, best: bool) -> Iterator[Fact]:
    """Yield what the best step of an attempt took; of the best attempt also its score by part."""
    outcome = attempt.outcome
    timing = outcome.timing if outcome is not None else None
    if outcome is None or timing is None:
        return
    total, whole = outcome.code_seconds, ""
    if total > timing.seconds + _MORE:
        whole = f" ({_seconds(total)} with the cells that it follows)"
    made = f"; models that these make: {', '.join(timing.models)}" if timing.models else ""
    text = f"Step {timing.step} ran {_seconds(timing.seconds)}{whole} and scored {timing.score}{made}"
    if timing.out_of_fold is not None:
        text += f"; out of fold {timing.out_of_fold}"
        if folds and total:
            text += f", at most {_seconds(total / folds)} for each of {folds} folds"
    yield Fact(text=text, source=attempt.id)
    if best:
        for parts in outcome.parts:
            yield Fact(text=f"The best score {_by(parts)}", source=attempt.id)


def _by(parts: ScoreBreakdown) -> str:
    shown = parts.worst[:_PARTS_SHOWN]
    order = "the worst first" if len(shown) == parts.count else f"the worst of {parts.count}"
    values = ", ".join(f"{part.name} {part.value:.3g}" for part in shown)
    return f"by {parts.by}, {order}: {values}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - digits

"""The pick of the best expected score: what `choice.py` is told of attempts, folds and differences."""

from collections.abc import Sequence

from comind.campaign.choice import Choice, Contender, choose, pooled_error
from comind.campaign.events import FinalPicked, Ranked
from comind.campaign.folder import CampaignFolder
from comind.campaign.folds import FoldRuns, fold_runs
from comind.campaign.race import Compared
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.draft import Blend
from comind.domain.metric import Paired

__all__ = ["BEYOND", "best_expected", "blend_reason"]

_ASKED = 20  # of the best by validation score

BEYOND = "the best validation score, beyond the noise of all others"


def best_expected(
    ranked: tuple[Ranked, ...], state: CampaignState, folder: CampaignFolder, compared: Compared
) -> FinalPicked:
    """Return the pick of the rule `best`: the best expected score on other rows (`choice.py`).

    Asked about are those that ran on folds, and the first ones by validation score.
    """
    ran, fold_plan = fold_runs(state), state.fold_plan
    close = [each for place, each in enumerate(ranked) if place < _ASKED or each.work_id in ran.runs]
    rows = [ranked[0].score.rows, *_rows_of(ran)]

    def error(one: str, other: str) -> float:
        gains = (_gain(each, state, ran) for each in (one, other))
        known = [each.standard_error for each in gains if each is not None]
        return known[0] if known else _error(one, other, state, folder, compared)

    choice = choose([_contender(each, state, ran) for each in close], rows, error)
    return FinalPicked(
        work_id=choice.pick,
        reason=_reason(choice, state, rows, ranked),
        leaderboard=tuple(_told(each, choice, ran) for each in ranked),
        folds=len(ran.folds),
        confidence=choice.confidence if len(ranked) > 1 else None,
        shrinkage=choice.shrinkage,
        notes=(*(fold_plan.left_out if fold_plan else ()), *ran.notes),
    )


def blend_reason(blended: Blend) -> str:
    """Return why a blend is the pick, in one line."""
    gain = blended.gain
    return (
        f"an average of {len(blended.members)} scored steps, better than the best of them by "
        f"{gain.difference:.3g} (standard error {gain.standard_error:.3g}) on rows that it was not "
        "selected on"
    )


def _contender(each: Ranked, state: CampaignState, ran: FoldRuns) -> Contender:
    attempt, sign = state.works.attempt(each.work_id), _sign(each)
    outcome, gain = attempt.outcome, _gain(each.work_id, state, ran)
    assert outcome is not None
    assert outcome.submitted is not None
    own = outcome.out_of_fold
    return Contender(
        work_id=each.work_id,
        holdout=sign * each.score.value.value,
        folds=tuple(sign * _value(run) for run in ran.runs.get(each.work_id, ())),
        gain=None if gain is None else gain.difference,
        out_of_fold=sign * own.value.value if own else None,
        nominated=outcome.submitted.nominated,
        code_lines=each.code_lines,
        seconds=each.seconds,
    )


def _gain(work_id: str, state: CampaignState, ran: FoldRuns) -> Paired | None:
    """Return what the newest blend gains on rows that it was not selected on; None for all else.

    Also None where others have scores on folds, and the blend was judged on validation alone.
    """
    newest, judged = state.works.blend(), state.judged
    if newest is None or newest.id != work_id or newest.work.blend is None:
        return None
    on_folds = judged is not None and judged.folds > 0
    return newest.work.blend.gain if on_folds or not ran.folds else None


def _told(each: Ranked, choice: Choice, ran: FoldRuns) -> Ranked:
    """Return a place on the leaderboard with what folds say of it."""
    expected = choice.expected.get(each.work_id)
    found = {
        "folds": tuple(_value(run) for run in ran.runs.get(each.work_id, ())),
        "expected": None if expected is None else _sign(each) * expected,
    }
    return each.model_copy(update=found)


def _error(
    one: str, other: str, state: CampaignState, folder: CampaignFolder, compared: Compared
) -> float:
    """Return the standard error of a difference, over the rows that both have scores on."""
    attempts, ran = [state.works.attempt(each) for each in (one, other)], fold_runs(state)
    first, second = (folder.validation_of(each) for each in attempts)
    errors = [compared.compare(first, second).standard_error]
    if one in ran.runs and other in ran.runs:
        for number, pair in zip(
            ran.folds, zip(ran.runs[one], ran.runs[other], strict=False), strict=False
        ):
            first, second = (folder.validation_of(each) for each in pair)
            errors.append(compared.compare(first, second, number).standard_error)
    score = attempts[0].score
    assert score is not None
    return pooled_error(errors, [score.rows, *_rows_of(ran)])


def _reason(choice: Choice, state: CampaignState, rows: Sequence[int], ranked: Sequence[Ranked]) -> str:
    """Return why the pick was picked, in one line."""
    blended = state.works.attempt(choice.pick).work.blend
    if blended is not None:
        return blend_reason(blended)
    if len(ranked) == 1:
        return "the only attempt with a score"
    if len(rows) == 1:
        clear = all(each.behind.clear for each in ranked if each.behind is not None)
        return BEYOND if clear else "the best validation score"
    over = f"over {sum(rows)} rows: the first validation rows and those of {len(rows) - 1} folds"
    leader = next(iter(choice.expected))
    if choice.pick == leader:
        return f"the best expected score, {over}"
    return (
        f"it cannot be told from the best expected score ({leader}), {over}; out-of-fold score, "
        "nomination and length of code decide"
    )


def _rows_of(ran: FoldRuns) -> list[int]:
    """Return how many validation rows each fold has."""
    runs = max(ran.runs.values(), key=len, default=())
    return [each.score.rows for each in runs if each.score is not None]


def _value(attempt: Attempt) -> float:
    assert attempt.score is not None
    return attempt.score.value.value


def _sign(each: Ranked) -> int:
    """Return what a score is multiplied with so that more is better."""
    return 1 if each.score.value.maximize else -1

"""Rank scored attempts and pick the final one: by the one-standard-error rule, or by expected score."""

import csv
import io
from collections.abc import Sequence

from comind.campaign.closing.expected_score import Choice, Contender, choose, pooled_error
from comind.campaign.closing.fold_runs import FoldRuns, fold_runs
from comind.campaign.comparison import Comparisons
from comind.campaign.log.campaign_events import FinalPicked, Ranked
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Blend
from comind.domain.metric import Paired
from comind.domain.value import one_line
from comind.system.plurals import quantity

_COLUMNS = "rank attempt score low high behind standard_error code_lines seconds folds expected rejected"
_REASON_LENGTH = 300
_CANDIDATES = 20  # of the best by validation score

_CLEAR = "the best validation score, beyond the noise of all others"


def leaderboard(
    state: CampaignState, folder: CampaignFolder, comparisons: Comparisons
) -> tuple[Ranked, ...]:
    """Return attempts and blends with a score, best first, each compared with the best one.

    Those that were rejected come last.
    """
    scored = state.works.best_first(blends=True)
    rejected = [each for each in state.works.rejected() if each not in scored]
    ranked = []
    for attempt in (*scored, *rejected):
        assert attempt.outcome is not None
        assert attempt.outcome.score is not None
        behind = None
        if attempt is not scored[0]:
            behind = comparisons.compare(folder.validation_of(scored[0]), folder.validation_of(attempt))
        ranked.append(
            Ranked(
                work_id=attempt.id,
                score=attempt.outcome.score,
                code_lines=_code_lines(attempt.outcome.code),
                seconds=attempt.outcome.code_seconds,
                behind=behind,
                rejected=attempt.rejected,
            )
        )
    return tuple(ranked)


def leaderboard_csv(ranked: tuple[Ranked, ...]) -> str:
    """Return the leaderboard as CSV, best score first; what was rejected is last, with the reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS.split())
    for rank, each in enumerate(ranked, start=1):
        interval, behind = each.score.interval, each.behind
        cells = [rank, each.work_id, each.score.value.value, interval.low, interval.high]
        cells += [behind.difference, behind.standard_error] if behind else [0.0, 0.0]
        cells += [each.code_lines, round(each.seconds, 1), " ".join(map(str, each.folds))]
        expected = "" if each.expected is None else each.expected
        writer.writerow([*cells, expected, one_line(each.rejected, _REASON_LENGTH)])
    return text.getvalue()


def pick_simplest(ranked: tuple[Ranked, ...], blended: Attempt | None = None) -> FinalPicked:
    """Return the pick of the rule `simplest`: the fewest code lines, then the least time, of all ties.

    A difference within one standard error of the paired difference is a tie (the one-standard-error
    rule, Breiman et al. 1984, section 3.4.3). A blend was compared before it was planned, on rows that
    it was not selected on, so it is picked wherever it scores best.
    """
    if blended is not None and blended.work.blend and blended.id == ranked[0].work_id:
        reason = _blend_reason(blended.work.blend)
        return FinalPicked(work_id=blended.id, reason=reason, leaderboard=ranked)
    tied = [each for each in ranked if each.tied]
    chosen = min(tied, key=lambda each: (each.code_lines, each.seconds, each.work_id))
    best = ranked[0]
    if len(ranked) == 1:
        reason = "the only attempt with a score"
    elif len(tied) == 1:
        reason = _CLEAR
    elif chosen is best:
        reason = f"the best validation score, and the simplest of {len(tied)} that tie with it"
    else:
        reason = (
            f"within the noise of the best score ({best.work_id}) and the simplest of {len(tied)} "
            f"that tie: {chosen.code_lines} lines of code instead of {best.code_lines}"
        )
    return FinalPicked(work_id=chosen.work_id, reason=reason, leaderboard=ranked)


def pick_expected(
    ranked: tuple[Ranked, ...], state: CampaignState, folder: CampaignFolder, comparisons: Comparisons
) -> FinalPicked:
    """Return the pick of the rule `best`: the best expected score on other rows (`expected_score.py`).

    The candidates are all that ran on folds, and the best by validation score.
    """
    ran, fold_plan = fold_runs(state), state.fold_plan
    close = [
        each for place, each in enumerate(ranked) if place < _CANDIDATES or each.work_id in ran.runs
    ]
    rows = [ranked[0].score.rows, *_rows_of(ran)]

    def error(one: str, other: str) -> float:
        gains = (_gain(each, state, ran) for each in (one, other))
        known = [each.standard_error for each in gains if each is not None]
        return known[0] if known else _error(one, other, state, folder, comparisons)

    choice = choose([_contender(each, state, ran) for each in close], rows, error)
    return FinalPicked(
        work_id=choice.pick,
        reason=_reason(choice, state, rows, ranked),
        leaderboard=tuple(_with_folds(each, choice, ran) for each in ranked),
        folds=len(ran.folds),
        confidence=choice.confidence if len(ranked) > 1 else None,
        shrinkage=choice.shrinkage,
        notes=(*(fold_plan.left_out if fold_plan else ()), *ran.notes),
    )


def _code_lines(code: str) -> int:
    lines = (line.strip() for line in code.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))


def _blend_reason(blended: Blend) -> str:
    gain = blended.gain
    what = "a stack" if blended.stacked else "an average"
    compared = f"better than the best of them by {gain.difference:.3g}"
    if gain.difference <= 0:
        compared = f"tied with the best of them, {-gain.difference:.3g} behind"
    return (
        f"{what} of {len(blended.members)} scored steps, {compared} (standard error "
        f"{gain.standard_error:.3g}) on rows that it was not selected on"
    )


def _contender(each: Ranked, state: CampaignState, ran: FoldRuns) -> Contender:
    attempt, gain = state.works.attempt(each.work_id), _gain(each.work_id, state, ran)
    assert attempt.outcome is not None
    assert attempt.submitted is not None
    own = attempt.outcome.out_of_fold
    return Contender(
        work_id=each.work_id,
        holdout=each.score.value.signed,
        folds=tuple(value.signed for value in ran.values(each.work_id)),
        gain=None if gain is None else gain.expected_of_combination,
        out_of_fold=own.value.signed if own else None,
        nominated=attempt.submitted.nominated,
        code_lines=each.code_lines,
        seconds=each.seconds,
    )


def _gain(work_id: str, state: CampaignState, ran: FoldRuns) -> Paired | None:
    """Return what the newest blend gains on rows that it was not selected on; None for other work.

    Also None where others have scores on folds and the blend was selected and judged on validation
    alone.
    """
    newest, judged = state.works.blend(), state.judged
    if newest is None or newest.id != work_id or newest.work.blend is None:
        return None
    blend = newest.work.blend
    on_more = blend.stacked or blend.out_of_fold_rows > 0 or (judged is not None and judged.folds > 0)
    return blend.gain if on_more or not ran.folds else None


def _with_folds(each: Ranked, choice: Choice, ran: FoldRuns) -> Ranked:
    """Return a leaderboard entry with its fold scores and its expected score."""
    expected = choice.expected.get(each.work_id)
    if expected is not None and not each.score.value.maximize:
        expected = -expected
    folds = tuple(value.value for value in ran.values(each.work_id))
    return each.model_copy(update={"folds": folds, "expected": expected})


def _error(
    one: str, other: str, state: CampaignState, folder: CampaignFolder, comparisons: Comparisons
) -> float:
    """Return the standard error of a difference, over the rows that both have scores on."""
    attempts, ran = [state.works.attempt(each) for each in (one, other)], fold_runs(state)
    first, second = (folder.validation_of(each) for each in attempts)
    errors = [comparisons.compare(first, second).standard_error]
    if one in ran.runs and other in ran.runs:
        for number, *pair in zip(ran.folds, ran.runs[one], ran.runs[other], strict=False):
            first, second = (folder.validation_of(each) for each in pair)
            errors.append(comparisons.compare(first, second, number).standard_error)
    score = attempts[0].score
    assert score is not None
    return pooled_error(errors, [score.rows, *_rows_of(ran)])


def _reason(choice: Choice, state: CampaignState, rows: Sequence[int], ranked: Sequence[Ranked]) -> str:
    blended = state.works.attempt(choice.pick).work.blend
    if blended is not None:
        return _blend_reason(blended)
    if len(ranked) == 1:
        return "the only attempt with a score"
    if len(rows) == 1:
        clear = all(each.behind.clear for each in ranked if each.behind is not None)
        return _CLEAR if clear else "the best validation score"
    more = quantity(len(rows) - 1, "fold")
    over = f"over {sum(rows)} rows: the first validation rows and those of {more}"
    leader = next(iter(choice.expected))
    if choice.pick == leader:
        return f"the best expected score, {over}"
    return (
        f"it does not differ measurably from the best expected score ({leader}), {over}; "
        "out-of-fold score, nomination and length of code decide"
    )


def _rows_of(ran: FoldRuns) -> list[int]:
    """Return the number of validation rows of each fold."""
    runs = max(ran.runs.values(), key=len, default=())
    return [each.score.rows for each in runs if each.score is not None]

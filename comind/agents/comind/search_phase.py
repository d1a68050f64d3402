"""Decide from the campaign's state what a round is for, and what is worth extending.

    explore    the first third: a robust baseline and something new
    improve    then: extensions come first
    stalled    the latest attempts gained nothing beyond noise: other approaches, in shorter attempts
    combine    the last third: the two best are extended, and solutions are combined; no baselines

Pure functions; scores count in the digits that agents see.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from comind.agents.comind.critic import is_rerun
from comind.agents.comind.draft_replies import BASELINE, EXTEND, NOVEL
from comind.agents.comind.ensembles import ENSEMBLE
from comind.agents.comind.gains import Gain, gain_over
from comind.agents.comind.opening import START_SHARE
from comind.agents.comind.pool import round_budget
from comind.agents.comind.thoughts import Asked
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Draft
from comind.domain.metric import rounded
from comind.domain.spend import WorkBudget

_EXPLORE_UNTIL, _COMBINE_FROM = 1 / 3, 2 / 3  # shares of the campaign's time, or of its rounds
_KEPT_RATE = 0.5  # of what a lineage gained a minute, expected of its next attempt, as gains shrink
_STALLED_SHARE, _LEAST_SECONDS = 0.5, 300.0  # of an attempt's time without gains, and at least
_LEADERS = 2


class Phase(StrEnum):
    """What a round is for."""

    EXPLORE = "explore"
    IMPROVE = "improve"
    STALLED = "stalled"
    COMBINE = "combine"


class Start(NamedTuple):
    """A solution that a draft can extend."""

    attempt: Attempt
    gain: Gain | None
    """Over its best parent, else over the platform's baseline; None without either."""
    expected: float
    """Gain over the best score that another attempt is expected to make, per minute."""

    def __str__(self) -> str:
        parts = []
        if self.gain is not None:
            gained, error = rounded(self.gain.difference, self.gain.error), self.gain.error
            errors = f" ({self.gain.difference / error:.1f} standard errors)" if error else ""
            parts.append(
                f"gained {gained:g}{errors} over {self.gain.over} in {_minutes(self.attempt):.0f} min"
            )
        parts.append(f"extending it is expected to gain {self.expected:.1g} a minute over the best")
        return "; ".join(parts)


def phase_of(state: CampaignState, rounds: int) -> Phase:
    """Return the phase by the larger share that is used: of the time, or of the rounds with drafts.

    Without a limit on either, the first round explores and the others improve.
    """
    shares = []
    if state.budget.seconds:
        shares.append(state.spend.seconds / state.budget.seconds)
    if state.spec.iterations:
        shares.append(rounds / state.spec.iterations)
    used = max(shares) if shares else _EXPLORE_UNTIL * bool(rounds)
    if used >= _COMBINE_FROM:
        return Phase.COMBINE
    if is_stalled(state):
        return Phase.STALLED
    return Phase.EXPLORE if used < _EXPLORE_UNTIL else Phase.IMPROVE


def is_stalled(state: CampaignState) -> bool:
    """Whether the latest scored attempts, one for each coder and at least two, gained nothing real.

    Their best is compared with the best before them, which some attempt of the agent has to be among.
    """
    scored = [
        each
        for each in state.works.attempts()
        if each.score is not None and not each.rejected and not is_rerun(each.work)
    ]
    latest = max(2, state.spec.coders)
    before, after = scored[:-latest], scored[-latest:]
    if all(each.work.is_baseline for each in before):
        return False
    best, other = max(after, key=_value), max(before, key=_value)
    gain = gain_over(best, other, state)
    return gain is None or not gain.real


def ranked_starts(state: CampaignState) -> list[Start]:
    """Return the solutions to extend, the highest expected gain per minute first.

    Another attempt is expected to gain half as much a minute as the solution's attempt and those that
    extended it have. Its deficit to the best score counts against that.
    """
    candidates = state.works.best_first()
    own = [each for each in candidates if not each.work.is_attempt_0] or candidates
    if not own:
        return []
    minutes = round_budget(state).seconds / 60
    best = _value(own[0])
    starts = []
    for each in own:
        gain = _gain_over_parent(each, state)
        expected = _KEPT_RATE * _rate(each, gain, state) - (best - _value(each)) / minutes
        starts.append(Start(each, gain, expected))
    return sorted(starts, key=lambda start: -start.expected)


def leaders(state: CampaignState) -> list[str]:
    """Return the two solutions with the best expected score.

    It is the mean of validation and out-of-fold score by rows where all solutions have both, as the
    latter have many more rows; else the validation score.
    """
    scored = [each for each in state.works.best_first() if not each.work.is_attempt_0]
    found = [each.outcome.out_of_fold if each.outcome else None for each in scored]
    if all(each is not None for each in found):
        scored.sort(key=lambda each: -_expected_score(each))
    return [each.id for each in scored[:_LEADERS]]


def asked_drafts(
    phase: Phase, starts: Sequence[str], best: Sequence[str], *, combines: bool
) -> list[Asked]:
    """Return the kinds of drafts of a round, the most important first.

    `starts` are what can be extended and `best` the two leaders. Where there is nothing to extend, the
    other kinds are asked for.
    """
    baseline, novel = Asked(name=BASELINE), Asked(name=NOVEL)
    extend = [Asked(name=EXTEND)] if starts else []
    if phase is Phase.COMBINE and best:
        each = [Asked(name=EXTEND, start=name) for name in best]
        return [*each, *([Asked(name=ENSEMBLE)] if combines else [])]
    match phase:
        case Phase.STALLED:
            return [novel, *extend]
        case Phase.EXPLORE:
            return [baseline, novel, *extend]
        case _:
            return [*extend, novel, baseline]


def attempt_budget(state: CampaignState, phase: str, draft: Draft | None = None) -> WorkBudget:
    """Return the limits of an attempt: half the time where gains have stalled, as far as that fits.

    It fits if the program that the draft starts from can still be run at its beginning.
    """
    budget = round_budget(state)
    if phase != Phase.STALLED:
        return budget
    run = (draft.codebase_seconds or 0.0) if draft else 0.0
    seconds = max(_STALLED_SHARE * budget.seconds, _LEAST_SECONDS, run / START_SHARE)
    seconds = min(budget.seconds, seconds)
    cell_seconds = min(budget.cell_seconds, seconds)
    return budget.model_copy(update={"seconds": seconds, "cell_seconds": cell_seconds})


def _gain_over_parent(attempt: Attempt, state: CampaignState) -> Gain | None:
    parents = [state.works.attempt(name) for name in attempt.work.parents]
    if attempt.work.is_attempt_0:
        return None
    if not any(each.score for each in parents):
        parents = [each for each in state.works.attempts() if each.work.is_attempt_0]
    scored = [each for each in parents if each.score is not None]
    return gain_over(attempt, max(scored, key=_value), state) if scored else None


def _rate(attempt: Attempt, gain: Gain | None, state: CampaignState) -> float:
    """Return what an attempt and those that extended it gained a minute."""
    tries = [each for each in state.works.attempts() if attempt.id in each.work.parents and each.outcome]
    gained = max(0.0, gain.difference) if gain else 0.0
    gained += sum(max(0.0, _value(each) - _value(attempt)) for each in tries if each.score)
    minutes = (_minutes(attempt) if gain else 0.0) + sum(map(_minutes, tries))
    return gained / max(1.0, minutes)


def _value(attempt: Attempt) -> float:
    assert attempt.score is not None
    return attempt.score.shown.signed


def _minutes(attempt: Attempt) -> float:
    return attempt.outcome.spend.seconds / 60 if attempt.outcome else 0.0


def _expected_score(attempt: Attempt) -> float:
    outcome = attempt.outcome
    known = [each for each in (attempt.score, outcome.out_of_fold if outcome else None) if each]
    rows = sum(each.rows for each in known)
    return sum(each.rows * each.shown.signed for each in known) / rows if rows else _value(attempt)

"""What the baseline's search tries next, as a function of the campaign's log.

The first step tries each kind of model on one fold, with settings that are often good, and averages the
best of those that there is time for. Then a round searches the settings of each kind, the best first, an
attempt each, with a fixed number of evaluations that doubles from round to round, and averages the best
of all kinds. Time decides which steps are begun and where a search is cut; all of that is in the log.
Rounds end where time does, or where one has found nothing better.
"""

import math
from statistics import median
from typing import NamedTuple

from comind.baseline import (
    Found,
    Screened,
    fit_program,
    found_in,
    screen_program,
    screened_in,
    search_program,
)
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Done, Think, Wait
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.draft import Draft, Operator
from comind.domain.problem import Problem

__all__ = ["AVERAGE", "FIRST", "MEMBERS", "SEARCH_SHARE", "Search"]

AVERAGE = "average"
"""Kind of the drafts that average models of several kinds."""
FIRST = "first average"
"""Kind of the draft that screens kinds before it averages them."""
MEMBERS = 6
"""Of an average, at most."""
SEARCH_SHARE = 0.6
"""Of an attempt's time; the rest is to fit with what was found."""

_EVALUATIONS = (8, 16, 32, 64, 128)  # of each kind, by round
_KINDS = (5, 4, 3, 3)  # that rounds after the first try: those whose settings had the least loss
_BESIDE_ROUNDS = 2  # of a campaign's iterations: attempt 0 and the first average
_HOPELESS = 3.0  # times the least loss on one fold: such a kind is not searched
_EVALUATED = 2  # settings, at least, that a search has time for
_LEAST_SECONDS = 10.0  # of an attempt
_START_SECONDS = 5.0  # of an interpreter of its own
_CLOSING_SECONDS, _CLOSING_SHARE = 20.0, 0.1  # of the campaign: to compare, blend and pick
_REFIT_FACTOR = 1.5  # of what code took, for more rows
_NOTHING_FITTED = "no settings of any kind could be fitted"


class _Tried(NamedTuple):
    """An attempt of the search, and what it found; nothing where it failed or still runs."""

    attempt: Attempt
    found: Found | None

    @property
    def kind(self) -> str:
        return self.attempt.work.draft.kind

    @property
    def seconds(self) -> float:
        """How long all of it took; 0 while it runs."""
        return self.attempt.outcome.spend.seconds if self.attempt.outcome else 0.0

    @property
    def fit_seconds(self) -> float:
        """How long its program takes that hands in."""
        return self.attempt.outcome.code_seconds if self.attempt.outcome else 0.0


class Search:
    """Plans one step of a search."""

    def __init__(
        self, problem: Problem, seed: int, state: CampaignState, kinds: tuple[str, ...]
    ) -> None:
        """Read what was tried from the state; `kinds` are in the order in which to try them."""
        self._problem = problem
        self._seed = seed
        self._state = state
        self._kinds = kinds
        mine = [each for each in state.works.attempts() if each.work.draft.codebase]
        self._tried = [_Tried(each, _found(each)) for each in mine]
        self._ends = [n for n, each in enumerate(self._tried) if each.kind in (AVERAGE, FIRST)]
        begun = self._ends[-1] + 1 if self._ends else 0
        self._before, self._now = self._tried[:begun], self._tried[begun:]
        self._rounds = len(self._ends) - 1  # that were made; the first average ends none
        self._screened = {each.kind: each for each in _screened(self._tried[:1])}

    def next(self) -> Decision:
        """Return the attempts to begin now, or why the search is over."""
        if any(each.attempt.outcome is None for each in self._before):
            return Wait()
        if not self._tried:
            return [self._first()] if self._first_room() >= _LEAST_SECONDS else self._late()
        if not self._now and (reason := self._why_no_round()):
            return Done(reason=reason)
        fitting, slots = [kind for kind in self._wanted() if self._fits(kind)], self._slots()
        if fitting and slots > 0:
            planned: list[Think | Code] = [self._search(kind) for kind in fitting[:slots]]
            return planned
        if any(each.attempt.outcome is None for each in self._now):
            return Wait()
        if not self._members():
            return Done(reason=_NOTHING_FITTED)
        if self._now and self._average_seconds() <= self._room():
            return [self._average()]
        return self._late()

    def _late(self) -> Done:
        left = self._state.seconds_left()
        return Done(reason=f"{left:.0f} s are left, too few for another step of the search and the end")

    def _slots(self) -> int:
        """Return how many attempts to begin at once: a core each, as each is busy all the time."""
        given = self._state.resources()
        running = sum(each.attempt.outcome is None for each in self._now)
        return min(self._state.free_slots(), (given.machine_cores if given else 1) - running)

    def _why_no_round(self) -> str:
        """Return why no round is to follow those that were made; empty if one is."""
        given = self._state.spec.iterations
        limit = math.inf if given is None else given - _BESIDE_ROUNDS
        if self._rounds >= min(len(_EVALUATIONS), limit):
            return f"all {self._rounds} rounds of the search are made"
        if not self._members():
            return _NOTHING_FITTED
        if self._rounds > 1 and not self._gained():
            return f"round {self._rounds} of the search found nothing better"
        return ""

    def _gained(self) -> bool:
        """Whether the last round has a better score than all before it."""
        last = self._before[self._ends[-2] + 1 :]
        scores = [each.attempt.score.value for each in last if each.attempt.score]
        latest = {each.attempt.id for each in last}
        others = [each for each in self._state.works.best_first() if each.id not in latest]
        best = others[0].score.value if others and others[0].score else None
        return any(score.better_than(best) for score in scores)

    # --- searches ---------------------------------------------------------------------------------

    def _wanted(self) -> list[str]:
        """Return the kinds that this round has still to try."""
        begun = {each.kind for each in self._now}
        if not self._rounds:
            least = min((each.loss for each in self._screened.values()), default=0.0)
            hopeless = {k for k, each in self._screened.items() if each.loss > _HOPELESS * least}
            return [kind for kind in self._screened or self._kinds if kind not in begun | hopeless]
        best = self._best(self._before)
        ordered = sorted(best, key=lambda kind: best[kind].loss)[: _KINDS[self._rounds - 1]]
        return [kind for kind in ordered if kind not in begun]

    def _fits(self, kind: str) -> bool:
        return self._search_seconds(kind) + self._average_seconds() <= self._room()

    def _search_seconds(self, kind: str) -> float:
        """Return how long a search of a kind takes that tries a few settings; it is cut at its time."""
        if kind in self._screened:
            return _START_SECONDS + _EVALUATED * self._screened[kind].fit_seconds / SEARCH_SHARE
        same = [each.seconds for each in self._tried if each.kind == kind and each.seconds]
        if same:
            return 2 * same[-1]
        others = [each.seconds for each in self._tried if each.seconds]
        return max(_LEAST_SECONDS, median(others) if others else 0.0)

    def _search(self, kind: str) -> Code:
        evaluations = _EVALUATIONS[self._rounds]
        known = self._best(self._tried).get(kind)
        start = known.settings if known else None
        draft = Draft(
            title=f"{kind}, {evaluations} evaluations",
            method=f"The best of {evaluations} settings of {kind} by cross-validation, on all folds.",
            codebase=search_program(self._problem, self._seed, kind, evaluations, start),
            kind=kind,
        )
        return self._code(draft, Operator.DRAFT, ())

    def _code(self, draft: Draft, operator: Operator, parents: tuple[str, ...]) -> Code:
        budget = self._state.work_budget()
        reserve = 0.0 if operator is Operator.ENSEMBLE else self._average_seconds()
        room = self._room() if self._tried else self._first_room()
        seconds = max(1.0, min(budget.seconds, room - reserve))
        return Code(
            operator=operator,
            draft=draft,
            role=BASELINE_ROLE,
            parents=parents,
            budget=budget.model_copy(
                update={"seconds": seconds, "cell_seconds": min(budget.cell_seconds, seconds)}
            ),
        )

    # --- averages ---------------------------------------------------------------------------------

    def _best(self, tried: list[_Tried]) -> dict[str, Found]:
        """Return the best settings of each kind."""
        best: dict[str, Found] = {}
        for each in tried:
            if each.found and (each.kind not in best or each.found.loss < best[each.kind].loss):
                best[each.kind] = each.found
        return best

    def _members(self) -> dict[str, Found | None]:
        """Return the best settings that were found, and kinds that are still to be searched."""
        best = self._best(self._tried)
        found = sorted(best, key=lambda kind: best[kind].loss)[:MEMBERS]
        searched = {each.kind for each in self._tried}
        members: dict[str, Found | None] = {kind: best[kind] for kind in found}
        others = self._screened or self._kinds
        members |= {kind: None for kind in others if kind not in searched}
        return dict(list(members.items())[:MEMBERS])

    def _average_seconds(self) -> float:
        """Return about how long it takes to fit one more average."""
        averages = [each.fit_seconds for each in self._before if each.kind in (AVERAGE, FIRST)]
        found = sum(each.seconds for each in self._members().values() if each)
        return max((averages and averages[0]) or _LEAST_SECONDS, found)

    def _first(self) -> Code:
        draft = Draft(
            title="average of the best kinds of models",
            method=f"Each of {', '.join(self._kinds)} on one fold, then a weighted average of the best.",
            codebase=screen_program(self._problem, self._seed, self._kinds),
            kind=FIRST,
        )
        return self._code(draft, Operator.ENSEMBLE, ())

    def _average(self) -> Code:
        members = self._members()
        named = ", ".join(members)
        settings = {kind: found.settings if found else None for kind, found in members.items()}
        draft = Draft(
            title=f"average of {len(members)} kinds of models",
            method=f"A weighted average of {named}; the weights are best out of fold.",
            codebase=fit_program(self._problem, self._seed, settings),
            kind=AVERAGE,
        )
        parents = tuple(
            next(each.attempt.id for each in self._tried if each.kind == kind and each.found == found)
            for kind, found in members.items()
            if found
        )
        return self._code(draft, Operator.ENSEMBLE, parents)

    def _recipe_seconds(self) -> float:
        """Return how long the program of attempt 0 took."""
        recipes = [each for each in self._state.works.attempts() if not each.work.draft.codebase]
        return max((each.outcome.code_seconds for each in recipes if each.outcome), default=0.0)

    def _room(self) -> float:
        """Return the seconds that are left beside what the campaign's end needs.

        The refit may be that of a blend of an average and the recipe; then its script is proved.
        """
        state = self._state
        average, recipe = self._average_seconds(), self._recipe_seconds() if state.spec.blend else 0.0
        refit = _REFIT_FACTOR * (average + recipe) + _START_SECONDS if state.spec.refit else 0.0
        proof = average if state.spec.prove else 0.0
        return self._left_beside(max(self._closing() + refit + proof, state.closing_seconds()))

    def _first_room(self) -> float:
        """Return the same for the first average, which leaves time for its own refit."""
        refit = self._recipe_seconds() if self._state.spec.refit else 0.0
        return self._left_beside(self._closing() + refit)

    def _closing(self) -> float:
        return min(_CLOSING_SECONDS, _CLOSING_SHARE * (self._state.budget.seconds or 0.0))

    def _left_beside(self, kept: float) -> float:
        limit = self._state.budget.seconds
        return math.inf if limit is None else max(0.0, self._state.seconds_left() - kept)


def _found(attempt: Attempt) -> Found | None:
    averaged = attempt.work.draft.kind in (AVERAGE, FIRST)
    if attempt.outcome is None or attempt.score is None or averaged:
        return None
    return found_in(attempt.outcome.report)


def _screened(tried: list[_Tried]) -> tuple[Screened, ...]:
    """Return what the first attempt has screened; nothing in logs of former versions."""
    outcomes = [each.attempt.outcome for each in tried if each.kind == FIRST]
    return screened_in(outcomes[0].report) if outcomes and outcomes[0] else ()

"""Plan and run the baseline's hyperparameter search as a function of the campaign's log.

The first step screens each family of models on one fold, with default settings, and averages the best of
those that there is time for. Then each round tunes the settings of each family, the best first, in one
attempt each, with a fixed number of evaluations that doubles from round to round, and averages the best
of all families. The time that is left decides which steps begin and when a search is stopped; this
follows from the log. The search ends on timeout, or early after a round without improvement.
"""

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from comind.agents.baseline.search_attempts import SEARCH, Found, SearchFacts, Step, Tried
from comind.baseline.search_programs import (
    SearchResult,
    affordable,
    families_for,
    fit_program,
    is_tuned,
    missing_packages,
    parse_search_result,
    screen_program,
    screened_in,
    search_program,
    unsupported_reason,
)
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import BASELINE_ROLE, Code, Decision, Done, Think, Wait
from comind.campaign.log.work_items import NoResult
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.domain.draft import Draft, Operator
from comind.domain.environment import StoreItem
from comind.domain.problem import Problem
from comind.domain.resources import Resources
from comind.domain.value import Payload, Value

_EVALUATIONS = (8, 16, 32, 64, 128)  # of each family, by round
_FAMILIES = (5, 4, 3, 3)  # families of lowest loss that rounds after the first try
_BESIDE_ROUNDS = 2  # iterations that are no rounds: attempt 0 and the first average
_MEMBERS = 6  # of an average
_HOPELESS = 3.0  # times the lowest loss on one fold: such a family is not searched
_EVALUATED = 2  # settings, at least, that a search has time for
_LEAST_SECONDS = 10.0  # of an attempt
_START_SECONDS = 5.0  # of an interpreter
_CLOSING_SECONDS, _CLOSING_SHARE = 20.0, 0.1  # of the campaign, to compare, blend and pick
_REFIT_FACTOR = 1.5  # of the code's run time, as a refit has more rows
_NOTHING_FITTED = "no settings of any family could be fitted"
_SCREEN_SHARE = 0.4  # of the first attempt's time
_FIRST_SHARE = 0.5  # of what is left of it to fit models; the rest is for their refit
_SEARCH_SHARE = 0.6  # of an attempt's time; the rest is to fit


class BaselineAgent(Agent):
    """The platform's baseline without a language model: a search until the time is over."""

    @classmethod
    def needs_model(cls, parameters: Mapping[str, Any]) -> bool:
        """Return that it calls none."""
        del parameters
        return False

    def plan(self, state: CampaignState) -> Decision:
        """Plan the next step of the search from the log alone, so that a replay plans the same."""
        if state.spec.iterations is not None and state.spec.iterations <= 1:
            return Done(
                reason="one iteration: the first recipe is all that runs without a language model"
            )
        given = state.resources() or Resources()
        families = families_for(self.problem, given.packages, given.models)
        if not families:
            reason = unsupported_reason(self.problem, given.packages)
            return Done(reason=f"{reason}: there is one recipe without a language model, and no search")
        if not state.free_slots():
            return Wait()
        return _Search(self.problem, self.seed, state, given, families).next()

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Complete a thought of a campaign that a former version planned without a model."""
        del work, context
        return NoResult()

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Run a search, then a program with its best settings; of an average the program alone."""
        draft = work.draft
        if not draft.codebase:
            return CodeResult(report="Drafts are not implemented without a language model.")
        facts = SEARCH.facts_of(work)
        assert facts is not None, "this agent has planned it"
        given = context.resources or Resources()
        if facts.step is Step.FIRST:
            return self._first_average(work, context, given.models)
        if facts.step is Step.AVERAGE:
            context.step("Average models of several families.", draft.codebase)
            return CodeResult(report=draft.method)
        seconds = _SEARCH_SHARE * context.seconds_left
        searched = context.run("Search settings.", draft.codebase, seconds=seconds, scratch=True)
        found = parse_search_result(searched.output)
        if found is None or not context.steps_left:
            return CodeResult(
                report="No settings could be fitted in time, or no step was left for them."
            )
        code = fit_program(self.problem, self.seed, {facts.family: found.settings}, given.models)
        context.step("Fit with the best settings.", code)
        settings = ", ".join(f"{name} {value}" for name, value in found.settings.items()) or "no others"
        return CodeResult(
            report=f"{draft.method} It found, with a loss of {found.loss:.6g}: {settings}.",
            result=Payload.of(Found(best=found)),
        )

    def _first_average(
        self, work: Code, context: CodeContext, models: tuple[StoreItem, ...]
    ) -> CodeResult:
        """Screen each family on one fold, then average the best of those that there is time for.

        Which these are follows from the log, so that a replay fits the same.
        """
        given = work.budget.seconds
        screening = context.run(
            "Try each family of models on one fold.",
            work.draft.codebase,
            seconds=_SCREEN_SHARE * given,
            scratch=True,
        )
        screened = screened_in(screening.output)
        result = Payload.of(Found(screened=screened))
        lines = "\n".join(f"- {each.family}: {each.loss:.6g} in {each.seconds:g} s" for each in screened)
        families = affordable(screened, _FIRST_SHARE * (given - screening.seconds), _MEMBERS)
        if not families or not context.steps_left:
            report = f"No family of models could be fitted in time.\n{lines}"
            return CodeResult(report=report, result=result)
        context.step(
            "Average models of several families.",
            fit_program(self.problem, self.seed, dict.fromkeys(families), models),
        )
        report = f"An average of {', '.join(families)}; losses on one fold:\n{lines}"
        return CodeResult(report=report, result=result)


class _Search:
    """Plans one step of the search."""

    def __init__(
        self,
        problem: Problem,
        seed: int,
        state: CampaignState,
        given: Resources,
        families: tuple[str, ...],
    ) -> None:
        """Read the attempts so far; `families` are in the order in which to try them."""
        self._problem = problem
        self._seed = seed
        self._state = state
        self._given = given
        self._families = families
        self._tried = Tried.of(state.works.attempts())
        self._ends = [number for number, each in enumerate(self._tried) if each.averages]
        begun = self._ends[-1] + 1 if self._ends else 0
        self._before, self._now = self._tried[:begun], self._tried[begun:]
        self._rounds = len(self._ends) - 1  # complete rounds; the first average ends none
        screened = self._tried[0].result.screened if self._tried else ()
        self._screened = {each.family: each for each in screened if each.family in families}

    def next(self) -> Decision:
        """Return the attempts to start now, or why the search is over."""
        if any(each.running for each in self._before):
            return Wait()
        if not self._tried:
            fits = self._available_seconds() >= _LEAST_SECONDS
            return [self._first()] if fits else self._out_of_time()
        if not self._now and (reason := self._why_no_round()):
            return Done(reason=reason)
        fitting = [family for family in self._remaining_families() if self._fits(family)]
        if fitting and (slots := self._state.free_slots()):
            planned: list[Think | Code] = [self._search(family) for family in fitting[:slots]]
            return planned
        if any(each.running for each in self._now):
            return Wait()
        if not self._members():
            return Done(reason=_NOTHING_FITTED)
        if self._now and self._average_seconds() <= self._available_seconds():
            return [self._average()]
        return self._out_of_time()

    def _out_of_time(self) -> Done:
        left = self._state.seconds_left()
        return Done(reason=f"{left:.0f} s are left, too few for another step of the search and the end")

    def _why_no_round(self) -> str:
        """Return why no further round begins; empty if one does."""
        given = self._state.spec.iterations
        limit = math.inf if given is None else given - _BESIDE_ROUNDS
        if self._rounds >= min(len(_EVALUATIONS), limit):
            return f"all {self._rounds} rounds of the search are made"
        if not self._members():
            return _NOTHING_FITTED
        if self._rounds > 1 and not self._improved():
            return f"round {self._rounds} of the search found nothing better"
        return ""

    def _improved(self) -> bool:
        """Whether the last round improved on the best score of all before it."""
        last = self._before[self._ends[-2] + 1 :]
        scores = [each.attempt.score.value for each in last if each.attempt.score]
        latest = {each.attempt.id for each in last}
        others = [each for each in self._state.works.best_first() if each.id not in latest]
        best = others[0].score.value if others and others[0].score else None
        return any(score.better_than(best) for score in scores)

    # --- searches ---------------------------------------------------------------------------------

    def _remaining_families(self) -> list[str]:
        """Return the families that this round has still to try."""
        begun = {each.family for each in self._now}
        if not self._rounds:
            least = min((each.loss for each in self._screened.values()), default=0.0)
            hopeless = {k for k, each in self._screened.items() if each.loss > _HOPELESS * least}
            return [
                family for family in self._screened or self._families if family not in begun | hopeless
            ]
        tuned = [family for family in self._best(self._before) if is_tuned(family)]
        best = tuned[: _FAMILIES[self._rounds - 1]]
        return [family for family in best if family not in begun]

    def _fits(self, family: str) -> bool:
        return self._search_seconds(family) + self._average_seconds() <= self._available_seconds()

    def _search_seconds(self, family: str) -> float:
        """Return how long a search of a family takes that tries a few settings; it stops on timeout."""
        if family in self._screened:
            return _START_SECONDS + _EVALUATED * self._screened[family].fit_seconds / _SEARCH_SHARE
        same = [each.seconds for each in self._tried if each.family == family and each.seconds]
        if same:
            return 2 * same[-1]
        others = [each.seconds for each in self._tried if each.seconds]
        return max(_LEAST_SECONDS, median(others) if others else 0.0)

    def _search(self, family: str) -> Code:
        title, method, evaluations = family, f"{family} with its one setting, on all folds.", 1
        if is_tuned(family):
            evaluations = _EVALUATIONS[self._rounds]
            title = f"{family}, {evaluations} evaluations"
            method = f"The best of {evaluations} settings of {family} by cross-validation, on all folds."
        known = self._best(self._tried).get(family)
        start = known.settings if known else None
        draft = Draft(
            title=title,
            method=method,
            codebase=search_program(
                self._problem, self._seed, family, evaluations, start, self._given.models
            ),
            strategy=family,
        )
        return self._code(draft, Operator.DRAFT, SearchFacts(step=Step.SEARCH, family=family))

    def _code(
        self, draft: Draft, operator: Operator, facts: SearchFacts, parents: tuple[str, ...] = ()
    ) -> Code:
        budget = self._state.work_budget()
        reserve = 0.0 if operator is Operator.ENSEMBLE else self._average_seconds()
        seconds = max(1.0, min(budget.seconds, self._available_seconds() - reserve))
        limits = {"seconds": seconds, "cell_seconds": min(budget.cell_seconds, seconds)}
        return Code(
            operator=operator,
            draft=draft,
            facts=Payload.of(facts),
            role=BASELINE_ROLE,
            parents=parents,
            budget=budget.model_copy(update=limits),
        )

    # --- averages ---------------------------------------------------------------------------------

    def _best(self, tried: list[Tried]) -> dict[str, SearchResult]:
        """Return the best settings found of each family, the lowest loss first.

        Families that a store or a toolbox no longer allows are left out.
        """
        best: dict[str, SearchResult] = {}
        for family, found in (
            (each.family, each.found) for each in tried if each.family in self._families
        ):
            if found and (family not in best or found.loss < best[family].loss):
                best[family] = found
        return dict(sorted(best.items(), key=lambda item: item[1].loss))

    def _members(self) -> dict[str, SearchResult | None]:
        """Return the best settings found, and None for families that are still to be searched."""
        searched = {each.family for each in self._tried}
        others = [family for family in self._screened or self._families if family not in searched]
        members = self._best(self._tried) | dict.fromkeys(others)
        return dict(list(members.items())[:_MEMBERS])

    def _average_seconds(self) -> float:
        """Return the expected run time of one more average."""
        averages = [each.fit_seconds for each in self._before if each.averages]
        found = sum(each.seconds for each in self._members().values() if each)
        return max((averages and averages[0]) or _LEAST_SECONDS, found)

    def _first(self) -> Code:
        given = self._given
        missing = missing_packages(self._problem, given.packages, given.models)
        method = f"{', '.join(self._families)}, each on one fold; a weighted average of the best."
        draft = Draft(
            title="average of the best families of models",
            method=f"{method} In the store, but {missing}." if missing else method,
            codebase=screen_program(self._problem, self._seed, self._families, given.models),
            strategy=Step.FIRST,
        )
        return self._code(draft, Operator.ENSEMBLE, SearchFacts(step=Step.FIRST))

    def _average(self) -> Code:
        members = self._members()
        named = ", ".join(members)
        settings = {family: found.settings if found else None for family, found in members.items()}
        draft = Draft(
            title=f"average of {len(members)} families of models",
            method=f"A weighted average of {named}; the weights are best out of fold.",
            codebase=fit_program(self._problem, self._seed, settings, self._given.models),
            strategy=Step.AVERAGE,
        )
        parents = tuple(
            next(
                each.attempt.id for each in self._tried if each.family == family and each.found == found
            )
            for family, found in members.items()
            if found
        )
        return self._code(draft, Operator.ENSEMBLE, SearchFacts(step=Step.AVERAGE), parents)

    def _recipe_seconds(self) -> float:
        recipes = [each for each in self._state.works.attempts() if not each.work.draft.codebase]
        return max((each.outcome.code_seconds for each in recipes if each.outcome), default=0.0)

    def _available_seconds(self) -> float:
        """Return the seconds that are left after reserving those of the campaign's end.

        The first average leaves time for a refit of the recipe. Later the refit may be that of a blend
        of an average and the recipe.
        """
        state, limit = self._state, self._state.budget.seconds
        if limit is None:
            return math.inf
        kept = min(_CLOSING_SECONDS, _CLOSING_SHARE * limit)
        if self._tried:
            average = self._average_seconds()
            blended = average + (self._recipe_seconds() if state.spec.blend else 0.0)
            kept += _REFIT_FACTOR * blended + _START_SECONDS if state.spec.refit else 0.0
            kept = max(kept, state.closing_seconds())
        elif state.spec.refit:
            kept += self._recipe_seconds()
        return max(0.0, state.seconds_left() - kept)

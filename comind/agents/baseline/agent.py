"""What the baseline does as an agent; which step comes next is said in searching.py."""

from comind.agents.baseline.searching import AVERAGE, FIRST, MEMBERS, SEARCH_SHARE, Search
from comind.baseline import (
    affordable,
    fit_program,
    found_in,
    kinds_for,
    screened_in,
    why_no_kinds,
)
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Think, Wait
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.domain.value import Value

__all__ = ["BaselineAgent", "Nothing"]

_SCREEN_SHARE = 0.4  # of the first attempt's time
_FIRST_SHARE = 0.5  # of what is left of it to fit models; the rest is for their refit


class Nothing(Value):
    """The result of a thought that nobody had."""


class BaselineAgent(Agent):
    """The platform's baseline alone, without a language model: a search that ends when time does."""

    needs_model = False

    def plan(self, state: CampaignState) -> Decision:
        """Plan what the search tries next; by the log alone, so that a replay plans the same."""
        if state.spec.iterations is not None and state.spec.iterations <= 1:
            return Done(
                reason="one iteration: the first recipe is all that runs without a language model"
            )
        given = state.resources()
        packages = given.packages if given else ()
        kinds = kinds_for(self.problem, packages)
        if not kinds:
            told = why_no_kinds(self.problem, packages)
            return Done(reason=f"{told}: there is one recipe without a language model, and no search")
        if not state.free_slots():
            return Wait()
        return Search(self.problem, self.seed, state, kinds).next()

    def think(self, work: Think, context: ThinkContext) -> Value:
        """End a thought that a campaign of a former version had begun without a model."""
        del work, context
        return Nothing()

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Run a search or a screening, then a program with what it found; or an average's program."""
        draft = work.draft
        if not draft.codebase:
            return CodeResult(report="Nobody implements drafts without a language model.")
        if draft.kind == FIRST:
            return self._first_average(work, context)
        if draft.kind == AVERAGE:
            context.step("Average models of several kinds.", draft.codebase)
            return CodeResult(report=draft.method)
        seconds = SEARCH_SHARE * context.seconds_left
        searched = context.run("Search settings.", draft.codebase, seconds=seconds, scratch=True)
        found = found_in(searched.output)
        if found is None or not context.steps_left:
            return CodeResult(
                report="No settings could be fitted in time, or no step was left for them."
            )
        code = fit_program(self.problem, self.seed, {draft.kind: found.settings})
        context.step("Fit with the best settings.", code)
        return CodeResult(report=f"{draft.method} It found:\n{found.model_dump_json()}")

    def _first_average(self, work: Code, context: CodeContext) -> CodeResult:
        """Try each kind on one fold, then average the best of those that there is time for.

        Which these are follows from what the log holds, so a replay fits the same.
        """
        given = work.budget.seconds
        screening = context.run(
            "Try each kind of model on one fold.",
            work.draft.codebase,
            seconds=_SCREEN_SHARE * given,
            scratch=True,
        )
        screened = screened_in(screening.output)
        lines = "\n".join(each.model_dump_json() for each in screened)
        kinds = affordable(screened, _FIRST_SHARE * (given - screening.seconds), MEMBERS)
        if not kinds or not context.steps_left:
            return CodeResult(report=f"No kind of model could be fitted in time.\n{lines}")
        context.step(
            "Average models of several kinds.",
            fit_program(self.problem, self.seed, dict.fromkeys(kinds)),
        )
        return CodeResult(report=f"An average of {', '.join(kinds)}; on one fold:\n{lines}")

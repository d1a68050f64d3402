"""What the baseline does as an agent; which step comes next is said in searching.py."""

from comind.agents.baseline.searching import AVERAGE, Search
from comind.baseline.search_programs import (
    fit_program,
    kinds_for,
    parse_search_result,
    unsupported_reason,
)
from comind.campaign.agent import Agent
from comind.campaign.context import CodeContext, ThinkContext
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import Code, Decision, Done, Think, Wait
from comind.campaign.state import CampaignState
from comind.domain.value import Value

__all__ = ["BaselineAgent", "Nothing"]

_SEARCH_SHARE = 0.6  # of an attempt's time; the rest is to fit


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
            told = unsupported_reason(self.problem, packages)
            return Done(reason=f"{told}: there is one recipe without a language model, and no search")
        if not state.free_slots():
            return Wait()
        return Search(self.problem, self.seed, state, kinds).next()

    def think(self, work: Think, context: ThinkContext) -> Value:
        """End a thought that a campaign of a former version had begun without a model."""
        del work, context
        return Nothing()

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Run a search, then a program with what it found; or the program of an average alone."""
        draft = work.draft
        if not draft.codebase:
            return CodeResult(report="Nobody implements drafts without a language model.")
        if draft.kind == AVERAGE:
            context.step("Average models of several kinds.", draft.codebase)
            return CodeResult(report=draft.method)
        seconds = _SEARCH_SHARE * context.seconds_left
        searched = context.run("Search settings.", draft.codebase, seconds=seconds, scratch=True)
        found = parse_search_result(searched.output)
        if found is None or not context.steps_left:
            return CodeResult(
                report="No settings could be fitted in time, or no step was left for them."
            )
        code = fit_program(self.problem, self.seed, {draft.kind: found.settings})
        context.step("Fit with the best settings.", code)
        return CodeResult(report=f"{draft.method} It found:\n{found.model_dump_json()}")

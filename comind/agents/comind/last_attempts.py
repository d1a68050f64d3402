"""Draft attempts for the end of a campaign, when too little time is left to think about a round."""

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.solutions_read import inputs_read
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Draft, Operator

_STRATEGY = "last"
_METHOD = (
    "The time left does not allow another round of ideas. Improve this solution: make the change that "
    "you expect to gain most for its running time, submit, then make the next. Predictions of other "
    "solutions may be among the inputs: an average or a stack with them is such a change."
)
_EXTENDED = 2  # of the best attempts, in turn
_MOST = 8  # such attempts


def is_last(work: Code) -> bool:
    """Return whether an attempt was drafted here, and not by the Coordinator."""
    return work.draft.strategy == _STRATEGY


def last_attempts(state: CampaignState) -> list[Code]:
    """Return an attempt that extends one of the best for each free slot.

    None after one that brought no score, so that a program or a model that fails does not go on.
    """
    before = [each for each in state.works.attempts() if is_last(each.work)]
    failed = any(each.outcome is not None and each.score is None for each in before)
    best = [each for each in state.works.best_first() if each.outcome and each.outcome.code][:_EXTENDED]
    if failed or not best:
        return []
    numbers = range(len(before), min(_MOST, len(before) + state.free_slots()))
    return [_extending(state, best[number % len(best)], number) for number in numbers]


def _extending(state: CampaignState, attempt: Attempt, number: int) -> Code:
    outcome = attempt.outcome
    assert outcome is not None
    draft = Draft(
        title=f"{attempt.id} extended, {number + 1}",
        method=_METHOD,
        codebase=outcome.code,
        codebase_seconds=outcome.code_seconds,
        codebase_result=attempt.result,
        strategy=_STRATEGY,
        sources=(attempt.id,),
        inputs=(attempt.id, *inputs_read(attempt.work, outcome.code)),
    )
    return Code(
        operator=Operator.IMPROVE,
        draft=draft,
        parents=(attempt.id,),
        inputs=draft.inputs,
        budget=state.work_budget(),
    )

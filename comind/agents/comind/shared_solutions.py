"""Mount the predictions of finished attempts, so that what all need is trained once."""

from comind.agents.comind.thoughts import CODING, CodingFacts, SolutionMemo
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt
from comind.domain.value import Payload

_MOST = 3  # attempts with out-of-fold predictions, besides the baseline
_RESULT_LENGTH = 200


def with_solutions(state: CampaignState, work: Code, *, shared: bool = True) -> Code:
    """Return an attempt that also mounts the baseline and the best solutions that can be stacked.

    These are attempts that submitted out-of-fold predictions. What is told of each mounted attempt is
    recorded with the work. The members of an ensemble, and without `shared` what a draft comes from, are
    mounted alone; programs predict nothing.
    """
    if state.submits_programs:
        return work
    if shared and not work.draft.members:
        scored = state.works.best_first()
        baseline = [each.id for each in scored if each.work.is_attempt_0]
        stacked = [each.id for each in scored if each.outcome and each.outcome.out_of_fold][:_MOST]
        work = work.model_copy(
            update={"inputs": tuple(dict.fromkeys((*work.inputs, *baseline, *stacked)))}
        )
    known = {each.id: each for each in state.works.attempts()}
    memos = tuple(_memo(known[each]) for each in work.inputs if each in known)
    return work.model_copy(update={"facts": Payload.of(CodingFacts(solutions=memos))})


def memo_of(work: Code, attempt_id: str) -> SolutionMemo | None:
    """Return what was recorded of a mounted attempt; None in older logs."""
    facts = CODING.facts_of(work)
    return next((each for each in facts.solutions if each.id == attempt_id), None) if facts else None


def _memo(attempt: Attempt) -> SolutionMemo:
    outcome = attempt.outcome
    submitted = outcome.submitted if outcome else None
    return SolutionMemo(
        id=attempt.id,
        result=" ".join(attempt.result.split())[:_RESULT_LENGTH],
        seconds=outcome.code_seconds if outcome else 0.0,
        out_of_fold=bool(submitted and submitted.out_of_fold_sha256),
        probabilities=bool(submitted and submitted.probabilities),
    )

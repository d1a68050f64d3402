"""Run an opened campaign: its environment, rounds, closing phase and proofs, with any executor."""

import logging
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.closing.finish import finish
from comind.campaign.log.campaign_events import CampaignEnded, EnvironmentRead, ScriptProved
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import Campaign, Executor, read_state, run
from comind.domain.environment import Environment
from comind.errors import ComindError
from comind.splits.extra_folds import count_folds
from comind.system.failpoints import failpoint
from comind.system.files import write_atomically
from comind.system.hardware import reference_seconds
from comind.wiring.runtime import CampaignRuntime

_PROOF_SHARE = 1 / 3  # of the campaign's time: the most for proofs of what is not delivered

_log = logging.getLogger(__name__)


def solve_to_end(
    solve: Callable[..., object], project: Path, campaign: str, *, refresh: bool = False
) -> None:
    """Run a campaign by `solve`, a flow; one that has ended is no error, however its run ends.

    Raises:
        ComindError: as `solve` does.
    """
    try:
        solve(project, campaign, refresh=refresh)
    except ComindError:
        raise
    except Exception:
        if read_state(ProjectFolder(project).campaign(campaign)).ended is None:
            raise  # else only reporting its end failed, or it has no submission
        _log.info("%s: has ended, and its flow run failed", campaign, exc_info=True)


def phase_of(state: CampaignState) -> str:
    """Return the phase of a campaign by its state: open, search or close."""
    if state.ended or state.picked or state.judged or state.fold_plan:
        return "close"
    return "search" if len(state.works) else "open"


def record_environment(running: Campaign, environment: Environment, diff: str) -> None:
    """Record the environment of the campaign's work, where it differs from the last one recorded."""
    if diff:
        write_atomically(running.folder.code_diff(environment.diff_sha256), diff)
    if running.state.environments[-1:] != (environment,):
        running.record(EnvironmentRead(environment=environment, reference_seconds=reference_seconds()))


def reads_community(state: CampaignState, *, refresh: bool) -> bool:
    """Return whether to take a snapshot now; work in flight keeps the one it was planned on."""
    if state.spec.community == NONE:
        return False
    return state.community is None or (refresh and not state.works.in_flight())


def run_rounds(
    running: Campaign,
    runtime: CampaignRuntime,
    executor: Executor,
    update: Callable[[CampaignState], None],
) -> CampaignEnded:
    """Run rounds, then the closing phase; return the end, not yet recorded."""
    ending = run(
        running,
        BaselineFirst(runtime.agent),
        executor,
        update,
        runtime.grader,
        runtime.ledger.limit_reached,
    )
    folds = partial(count_folds, runtime.split_folder)
    no_refit = finish(running, executor, runtime.grader, update, folds)
    update(running.state)
    detail = f"{ending.detail}; {no_refit}" if no_refit else ending.detail
    return ending.model_copy(update={"detail": detail})


def prove_scripts(running: Campaign, prove: Callable[[str, float], ScriptProved]) -> None:
    """Run published scripts again, after the campaign's time and apart from it.

    The final pick and its refit are proved however long they take, within the limits of their scripts.
    Then the others, best first, as long as all proofs together take no more than `_PROOF_SHARE` of the
    campaign's time; what does not fit stays unproved. They run one at a time: each needs the whole
    machine, as a script that waits for cores may exceed its time limit.
    """
    state = running.state
    if state.picked is None:
        return
    refit = state.refit()
    delivered = [state.picked.work_id, *([refit.id] if refit else [])]
    limit = state.budget.seconds
    most = math.inf if limit is None else _PROOF_SHARE * limit
    for work_id in dict.fromkeys([*delivered, *(each.work_id for each in state.picked.leaderboard)]):
        if work_id in state.proofs:
            continue
        left = math.inf
        if work_id not in delivered:
            outcome = state.works.attempt(work_id).outcome
            left = most - running.state.proof_seconds
            if left <= (outcome.code_seconds if outcome else 0.0):
                continue
        running.record(prove(work_id, left))
        failpoint("script-proved")
        running.tick()

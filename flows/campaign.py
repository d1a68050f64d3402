"""The flow that runs a campaign."""

from functools import partial
from pathlib import Path

from prefect import flow, runtime
from prefect.task_runners import ThreadPoolTaskRunner

from comind.campaign.baseline import BaselineFirst
from comind.campaign.comparison import compare_errors
from comind.campaign.events import NO_COMMUNITY, EnvironmentRead
from comind.campaign.finish import finish
from comind.campaign.folder import ProjectFolder
from comind.campaign.loop import Campaign, run
from comind.campaign.state import CampaignState
from comind.system.files import write_atomically
from comind.wiring.agents import agent_class, runs_own_code
from comind.wiring.runtime import close_runtimes, get_runtime
from flows.executor import PrefectExecutor
from flows.projections import Projections
from flows.proofs import prove_scripts
from tasks.community import ingest_community
from tasks.competitions import split_competition
from tasks.environment import read_environment
from tasks.sharing import push_campaign
from tasks.submissions import hand_in

__all__ = ["solve_competition"]

_MOST_AT_ONCE = 128  # the campaign's own slots are the limit; idle threads cost nothing


def _run_name() -> str:
    return str(runtime.flow_run.parameters["campaign"])


@flow(
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=_MOST_AT_ONCE),  # type: ignore[arg-type]
    persist_result=False,
    retries=0,  # what can be repeated is repeated from the log, by resuming
)
def solve_competition(project: Path, campaign: str, *, refresh: bool = False) -> None:
    """Run an opened campaign to its end, from wherever its log stands.

    With `refresh` the community is read again, where nothing is under way that read it before.

    Raises:
        ComindError: something is missing or refuses; the campaign can be resumed.
    """
    running = Campaign(ProjectFolder(project).campaign(campaign))
    projections = Projections(project, campaign)
    try:
        _note_environment(running)
        projections.round(running.state)
        if running.state.split is None:
            split = split_competition(project, campaign)
            projections.version_split(split.key)
            running.record(split)
        if _reads_community(running.state, refresh=refresh):
            community = ingest_community(project, campaign)
            if community != running.state.community:
                projections.version_community(community.key)
                running.record(community)
                close_runtimes()  # one that was made meanwhile does not know it
        runtime, executor = get_runtime(project, campaign), PrefectExecutor(project, campaign)
        planner = BaselineFirst(runtime.agent)
        compare = partial(compare_errors, comparer=runtime.grader)
        ending = run(running, planner, executor, projections.round, compare)
        grader, offer = runtime.grader, runtime.count_folds
        no_refit = finish(running, executor, grader, projections.round, offer)
        if no_refit:
            ending = ending.model_copy(update={"detail": f"{ending.detail}; {no_refit}"})
        projections.round(running.state)
        hand_in(project, campaign)
        if running.state.spec.prove:
            prove_scripts(running, project)
            projections.round(running.state)
        running.record(ending)
    finally:
        projections.round(running.state)
        projections.commit(running.state)
        if running.state.ended is not None and running.state.spec.push:
            push_campaign(project, campaign)
        running.close()
        close_runtimes()


def _reads_community(state: CampaignState, *, refresh: bool) -> bool:
    """Whether to take a snapshot now; work that is under way goes on with what it was planned on."""
    if state.spec.community == NO_COMMUNITY:
        return False
    return state.community is None or (refresh and not state.works.in_flight())


def _note_environment(running: Campaign) -> None:
    """Record what the campaign's work will run in, where that is not what was recorded last."""
    spec = running.state.spec
    own_code, prompts = runs_own_code(spec), agent_class(spec).prompts
    environment, diff = read_environment(
        spec.sandbox, own_code=own_code, prompts=prompts, store=spec.store
    )
    if diff:
        write_atomically(running.folder.code_diff(environment.diff_sha256), diff)
    if running.state.environments[-1:] != (environment,):
        running.record(EnvironmentRead(environment=environment))

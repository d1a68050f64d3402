"""The flow that runs a campaign, each piece of work as a Prefect task run."""

import queue
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.app.params import read_params
from comind.app.projections import Projections, ProjectionSteps
from comind.campaign.closing.finish import finish
from comind.campaign.log.campaign_events import CampaignEnded, EnvironmentRead
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_spec import NO_COMMUNITY
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import BaselineFirst, Campaign, Finished, read_state, run
from comind.errors import ComindError
from comind.evaluation.splits.extra_folds import count_folds
from comind.servers.orphans import NO_SUBMISSION
from comind.servers.stopping import stoppable
from comind.system.failpoints import failpoint
from comind.system.files import write_atomically
from comind.system.hardware import reference_seconds
from comind.wiring.agents import agent_class, runs_own_code
from comind.wiring.runtime import CampaignRuntime
from comind.wiring.session_provider import provide_sessions
from tasks.artifacts import show_results
from tasks.attempts import check_final_submission, ideate, prove_script, run_attempt
from tasks.community import ingest_community
from tasks.competitions import split_competition
from tasks.environment import read_environment
from tasks.projections import commit_campaign, deliver_submission, track_campaign, version_data
from tasks.sharing import push_campaign
from tasks.solutions import publish_solutions

__all__ = ["solve_competition", "solve_to_end"]

_MAX_WORKERS = 128  # the campaign's own slots are the limit; idle threads cost nothing
_POLL_SECONDS = 1.0
_PROJECTION_STEPS = ProjectionSteps(
    publish=publish_solutions,
    version=version_data,
    track=track_campaign,
    deliver=deliver_submission,
    commit=commit_campaign,
)


@flow(
    flow_run_name="{campaign}",
    task_runner=ThreadPoolTaskRunner(max_workers=_MAX_WORKERS),  # type: ignore[arg-type]
    persist_result=False,
    retries=0,  # resuming repeats from the log what can be repeated
)
def solve_competition(project: Path, campaign: str, *, refresh: bool = False) -> State[None] | None:
    """Run an opened campaign to its end, from the state that its log holds.

    With `refresh` the community is read again, unless work that read it before is in flight. The flow
    run ends as Failed where the campaign has ended without a submission.

    Raises:
        ComindError: an input or a service is missing or refuses; the campaign can be resumed.
    """
    here = ProjectFolder(project)
    with (
        Campaign(here.campaign(campaign)) as running,
        CampaignAlerts(running.folder, read_params(project).alerts) as alerts,
        (projections := Projections(project, campaign, alerts, _PROJECTION_STEPS)).updated_at_end(
            running
        ),
        stoppable(projections.stop),
        provide_sessions(running.folder, running.state.spec, read_params(project).nodes) as sessions,
    ):
        _record_environment(running)
        projections.update(running.state)
        _read_inputs(running, project, projections, refresh=refresh)
        with CampaignRuntime(here, running.folder, sessions=sessions) as runtime:
            projections.runtime = runtime
            ending = _run_to_end(running, runtime, projections)
            check_final_submission(runtime)
            if running.state.spec.prove:
                _prove_scripts(running, runtime)
                projections.update(running.state)
        running.record(ending)
    show_results(running.folder, running.state, return_state=True)  # a failed page is no failure
    if running.state.spec.push:
        push_campaign(project, campaign)
    return None if running.state.delivered() else Failed(message=NO_SUBMISSION)


def solve_to_end(project: Path, campaign: str, *, refresh: bool = False) -> None:
    """Run the flow `solve_competition`; a campaign that has ended is no error, however its run ends.

    Raises:
        ComindError: as the flow does.
    """
    try:
        solve_competition(project, campaign, refresh=refresh)
    except ComindError:
        raise
    except Exception:
        if read_state(ProjectFolder(project).campaign(campaign)).ended is None:
            raise  # else only reporting its end to Prefect failed, or it has no submission


def _read_inputs(running: Campaign, project: Path, projections: Projections, *, refresh: bool) -> None:
    """Split the competition and take a snapshot of the community, where the log has none yet."""
    if running.state.split is None:
        split = split_competition(project, running.folder.name)
        projections.version_split(split.key)
        running.record(split)
    if _reads_community(running.state, refresh=refresh):
        community = ingest_community(project, running.folder.name)
        if community != running.state.community:
            projections.version_community(community.key)
            running.record(community)


def _run_to_end(running: Campaign, runtime: CampaignRuntime, projections: Projections) -> CampaignEnded:
    """Run rounds, then the closing phase; return the end, not yet recorded."""
    executor = _PrefectExecutor(runtime)
    ending = run(
        running,
        BaselineFirst(runtime.agent),
        executor,
        projections.update,
        runtime.grader,
        runtime.ledger.limit_reached,
    )
    folds = partial(count_folds, runtime.split_folder)
    no_refit = finish(running, executor, runtime.grader, projections.update, folds)
    projections.update(running.state)
    detail = f"{ending.detail}; {no_refit}" if no_refit else ending.detail
    return ending.model_copy(update={"detail": detail})


class _PrefectExecutor:
    """Submits work to the task runner of the enclosing flow."""

    def __init__(self, runtime: CampaignRuntime) -> None:
        self._runtime = runtime
        self._done: queue.Queue[tuple[str, PrefectFuture[Outcome]]] = queue.Queue()

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Start one piece of work; returns at once."""
        if isinstance(work, Code):
            future = run_attempt.submit(self._runtime, work_id, work)
        else:
            future = ideate.submit(self._runtime, work_id, work)
        future.add_done_callback(lambda done: self._done.put((work_id, done)))

    def finished(self) -> list[Finished]:
        """Wait up to `_POLL_SECONDS` for work to end; empty on timeout."""
        try:
            work_id, future = self._done.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            return []
        returned: object = future.result(raise_on_failure=False)
        if isinstance(returned, ThinkOutcome | CodeOutcome | ComindError):
            return [Finished(work_id, returned)]
        assert isinstance(returned, BaseException)
        raise returned


def _reads_community(state: CampaignState, *, refresh: bool) -> bool:
    """Return whether to take a snapshot now; work in flight keeps the one it was planned on."""
    if state.spec.community == NO_COMMUNITY:
        return False
    return state.community is None or (refresh and not state.works.in_flight())


def _record_environment(running: Campaign) -> None:
    """Record the environment of the campaign's work, where it differs from the last one recorded."""
    spec = running.state.spec
    own_code, prompts = runs_own_code(spec), agent_class(spec).prompts
    environment, diff = read_environment(
        spec.sandbox, own_code=own_code, prompts=prompts, store=spec.store
    )
    if diff:
        write_atomically(running.folder.code_diff(environment.diff_sha256), diff)
    if running.state.environments[-1:] != (environment,):
        running.record(EnvironmentRead(environment=environment, reference_seconds=reference_seconds()))


def _prove_scripts(running: Campaign, runtime: CampaignRuntime) -> None:
    """Run published scripts again until the campaign's time is over; the others stay unproved.

    The final pick comes first, then its refit, then the others, best first. They run one at a time: each
    needs the whole machine, as a script that waits for cores may exceed its time limit.
    """
    state = running.state
    if state.picked is None:
        return
    refit = state.refit()
    ranked = [each.work_id for each in state.picked.leaderboard]
    for work_id in dict.fromkeys([state.picked.work_id, *([refit.id] if refit else []), *ranked]):
        if work_id in state.proofs:
            continue
        limit = running.state.budget.seconds
        left = float("inf") if limit is None else limit - running.elapsed
        if left <= 0:
            return
        running.record(prove_script(runtime, work_id, left))
        failpoint("script-proved")
        running.tick()

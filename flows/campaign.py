"""The flow that runs a campaign, each piece of work as a Prefect task run."""

import queue
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.app.campaign_running import (
    prove_scripts,
    reads_community,
    record_environment,
    run_rounds,
)
from comind.app.log_settings import logged_beside
from comind.app.params import read_params
from comind.app.projections import Projections, ProjectionSteps
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Campaign, Finished
from comind.errors import ComindError
from comind.servers.orphans import NO_SUBMISSION
from comind.servers.stopping import stoppable
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
        logged_beside(running.folder.program_log),
        CampaignAlerts(running.folder, read_params(project).alerts) as alerts,
        (projections := Projections(project, campaign, alerts, _PROJECTION_STEPS)).updated_at_end(
            running
        ),
        stoppable(projections.stop),
        provide_sessions(running.folder, running.state.spec, read_params(project).nodes) as sessions,
    ):
        with ExitStack() as opened:
            record_environment(running, *read_environment(running.state.spec))
            projections.update(running.state)
            _read_inputs(running, project, projections, refresh=refresh)
            runtime = opened.enter_context(CampaignRuntime(here, running.folder, sessions=sessions))
            projections.runtime = runtime
            ending = run_rounds(running, runtime, _PrefectExecutor(runtime), projections.update)
            check_final_submission(runtime)
            if running.state.spec.prove:
                prove_scripts(running, partial(prove_script, runtime))
                projections.update(running.state)
        running.record(ending)
    show_results(running.folder, running.state, return_state=True)  # a failed page is no failure
    if running.state.spec.push:
        push_campaign(project, campaign)
    return None if running.state.delivered() else Failed(message=NO_SUBMISSION)


def _read_inputs(running: Campaign, project: Path, projections: Projections, *, refresh: bool) -> None:
    """Split the competition and take a snapshot of the community, where the log has none yet."""
    if running.state.split is None:
        split = split_competition(project, running.folder.name)
        projections.version_split(split.key)
        running.record(split)
    if reads_community(running.state, refresh=refresh):
        community = ingest_community(project, running.folder.name)
        if community != running.state.community:
            projections.version_community(community.key)
            running.record(community)


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

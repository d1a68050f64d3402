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
from comind.adapters.notify.channels import Alert
from comind.app.campaign_running import (
    phase_of,
    prove_scripts,
    reads_community,
    record_environment,
    run_rounds,
)
from comind.app.log_settings import logged_beside
from comind.app.open_campaigns import campaign_opened
from comind.app.params import read_params
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Campaign, Finished
from comind.errors import ComindError
from comind.servers.orphans import NO_SUBMISSION
from comind.servers.prefect_client import emit_campaign_event, tag_flow_run
from comind.servers.stopping import stoppable
from tasks.artifacts import show_results
from tasks.attempts import check_final_submission, ideate, prove_script, run_attempt, run_closing
from tasks.community import ingest_community
from tasks.competitions import split_competition
from tasks.environment import read_environment
from tasks.projections import write_projections
from tasks.sharing import push_campaign

_MAX_WORKERS = 128  # the campaign's own slots are the limit; idle threads cost nothing
_POLL_SECONDS = 1.0


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
    folder = ProjectFolder(project).campaign(campaign)
    with (
        Campaign(folder) as running,
        logged_beside(folder.program_log),
        CampaignAlerts(folder, read_params(project).alerts, emit=_emit) as alerts,
        campaign_opened(project, campaign) as opened,
    ):

        def write() -> None:
            name = f"{phase_of(running.state)}: projections"
            write_projections.with_options(task_run_name=name)(project, campaign)

        def update(_state: object = None) -> None:
            alerts.sync()
            opened.projections.update(write)

        with opened.projections.written_at_end(write), stoppable(opened.projections.stop):
            spec = running.state.spec
            tag_flow_run(competition=spec.competition, agent=spec.agent, model=spec.model)
            opened.provide_sessions()
            record_environment(running, *read_environment(project, campaign))
            update()
            _read_inputs(running, project, refresh=refresh)
            ending = run_rounds(running, opened.runtime, _PrefectExecutor(project, campaign), update)
            check_final_submission(project, campaign)
            if spec.prove:
                prove_scripts(running, partial(prove_script, project, campaign))
                update()
            running.record(ending)
    show_results(project, campaign, return_state=True)  # a failed page is no failure
    if spec.push:
        push_campaign(project, campaign)
    return None if running.state.delivered() else Failed(message=NO_SUBMISSION)


def _emit(alert: Alert) -> None:
    emit_campaign_event(alert.campaign, alert.event, alert.model_dump(mode="json"))


def _read_inputs(running: Campaign, project: Path, *, refresh: bool) -> None:
    """Split the competition and take a snapshot of the community, where the log has none yet."""
    if running.state.split is None:
        running.record(split_competition(project, running.folder.name))
    if reads_community(running.state, refresh=refresh):
        community = ingest_community(project, running.folder.name)
        if community != running.state.community:
            running.record(community)


class _PrefectExecutor:
    """Submits work to the task runner of the enclosing flow."""

    def __init__(self, project: Path, campaign: str) -> None:
        self._campaign = project, campaign
        self._done: queue.Queue[tuple[str, PrefectFuture[Outcome]]] = queue.Queue()

    def submit(self, work_id: str, work: Think | Code) -> None:
        """Start one piece of work; returns at once."""
        closing = isinstance(work, Code) and work.is_closing
        task = run_closing if closing else run_attempt if isinstance(work, Code) else ideate
        future = task.submit(*self._campaign, work_id)
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

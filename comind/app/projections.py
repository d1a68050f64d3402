"""Project a campaign's logs after every round: publish, version, track, deliver, commit.

Each of these is idempotent, so all are repeated where one fails, and after a crash.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of, recorded_md5, version
from comind.adapters.git.refs import campaign_ref, commit_files, update_experiment
from comind.adapters.mlflow.campaign import CampaignTracker
from comind.app.candidate_files import write_upload
from comind.app.publishing import publish_solution
from comind.app.reporting import page_of
from comind.app.sharing import shared_settings
from comind.campaign.closing.final_pick import leaderboard_csv
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.reports.attempt_lineage import lineage_of, script_for
from comind.campaign.reports.campaign_journal import closing_notes
from comind.campaign.reports.campaign_summary import experiment_files
from comind.campaign.reports.campaign_view import CampaignLogs, CampaignView
from comind.errors import CampaignError
from comind.eventlog.log import read_log
from comind.servers.prefect_client import current_flow_run
from comind.splits.split_folder import SplitFolder
from comind.system.disk import full_disk
from comind.system.failpoints import failpoint
from comind.system.files import hash_file, write_atomically

_log = logging.getLogger(__name__)


class Projections:
    """Updates everything that is derived from one campaign's logs."""

    def __init__(
        self,
        project: Path,
        campaign: str,
        journal: Callable[[CampaignState], str | None],
        tracker: Callable[..., CampaignTracker] = CampaignTracker,
    ) -> None:
        """Prepare; `journal` returns the agent's account as Markdown, None where there is none yet.

        `tracker` is called with project, campaign and flow run, again after it has failed.
        """
        self._project = project
        self._folder = ProjectFolder(project)
        self._campaign = self._folder.campaign(campaign)
        self._logs = CampaignLogs(self._campaign)
        self._flow_run = current_flow_run()
        self._new_tracker = partial(tracker, project, campaign, self._flow_run)
        self._tracker = self._new_tracker()
        self._journal = journal
        self._published: set[str] = set()
        self._delivered: tuple[str, Submitted] | None = None
        self._written = _results(CampaignState())
        self._committed: CampaignState | None = None
        self._lineages: dict[str, object] = {}

    @contextlib.contextmanager
    def written_at_end(self, write: Callable[[], None]) -> Iterator[None]:
        """Call `write` at the end of the block, also after an error, which stays the one raised."""
        try:
            yield
        except BaseException as error:
            try:
                if isinstance(error, Exception):  # else the process has to end soon
                    self._write_rest(write)
                self.stop(failed=isinstance(error, Exception))
            except Exception as later:  # noqa: BLE001 - the first error is the cause
                _log.exception("%s: the projections were not updated", self._campaign.name)
                error.add_note(f"the projections were not updated: {later}")
            raise
        self._write_rest(write)

    def stop(self, *, failed: bool = False) -> None:
        """Set the status of the runs in MLflow that the logs leave open, as this process ends."""
        self._tracker.stop(failed=failed)

    def _write_rest(self, write: Callable[[], None]) -> None:
        if self._committed is not self._logs.update().state:
            write()

    def update(self, write: Callable[[], None]) -> None:
        """Call `write` where work has ended, or the campaign has picked, proved or ended.

        Else only metrics and the best step of running attempts are written: this is called every second.
        """
        view = self._logs.update()
        if _results(view.state) != self._written:
            write()
            return
        try:
            self._sync()
        except Exception:  # noqa: BLE001 - `write` repeats it, and fails with what does not pass
            _log.info("%s: MLflow is written again", self._campaign.name, exc_info=True)
            write()
        self._deliver_submission(view)

    def write(self) -> None:
        """Write all projections of the log as it is now; idempotent.

        Raises:
            CampaignError: a graded submission was changed.
            OrchestrationError: git, DVC or the tracking server fails.
            DiskError: the disk is full.
        """
        view = self._logs.update()
        state = view.state
        self._publish(state)
        self.track()
        self._deliver(view)
        self._commit(view)
        self._written, self._committed = _results(state), state

    def track(self) -> None:
        """Write lineages, then new events to MLflow, and the ids of its runs to `runs.json`."""
        self._write_lineages(self._logs.state)
        self._sync()
        write_atomically(self._campaign.runs, self._tracker.run_ids_json())
        if self._logs.state.ended is not None:
            self._tracker.log_page(page_of(self._campaign))

    def _sync(self) -> None:
        """Write the logs' new events to MLflow; after an error the next call starts from the first.

        Raises:
            DiskError: the disk is full.
        """
        try:
            self._tracker.sync()
        except Exception as error:
            if full := full_disk(error, self._folder.tracking, "MLflow's database and artifacts"):
                raise full from None
            self._tracker = self._new_tracker()
            raise

    def _deliver(self, view: CampaignView) -> None:
        """Write submission, leaderboard and journal to the campaign's folder."""
        state = view.state
        self._deliver_submission(view)
        if len(state.works) and (journal := self._journal(state)) is not None:
            notes = closing_notes(state, self._tracker.tuning())
            write_atomically(self._campaign.journal, journal + notes)
        if state.delivered() is None:
            return
        if state.picked is not None:
            write_atomically(self._campaign.leaderboard, leaderboard_csv(state.picked.leaderboard))
            if state.refit() is not None:
                picked = state.works.attempt(state.picked.work_id)
                assert picked.submitted is not None
                self._copy(picked.id, picked.submitted, self._campaign.submission_before_refit)
        failpoint("submission-delivered")

    def _deliver_submission(self, view: CampaignView) -> None:
        """Copy the best submission where it has changed; it may be a step of a running attempt."""
        chosen = view.delivered
        if chosen is not None and chosen != self._delivered:
            programs = view.state.submits_programs
            target = self._campaign.program if programs else self._campaign.submission
            self._copy(*chosen, target)
            write_upload(self._folder, view.state, target, self._campaign.upload)
            self._delivered = chosen

    def _copy(self, work_id: str, submitted: Submitted, target: Path) -> None:
        source = self._campaign.work(work_id).test_submission(submitted.step)
        if hash_file(source) != submitted.test_sha256:
            raise CampaignError(f"{source} was changed after it was graded")
        write_atomically(target, source.read_bytes())

    def _commit(self, view: CampaignView) -> None:
        """Commit `.dvc` files and logs to the campaign's ref, which is also a DVC experiment."""
        state = view.state
        files = [*shared_settings(self._project), self._campaign.log]
        for pattern in ("*/log.jsonl", "*/lineage.json", "*/script.*", "code-*.diff", "runs.json"):
            files += sorted(self._campaign.root.glob(pattern))
        if state.split is not None:
            split = SplitFolder(self._folder.splits / state.split.key)
            files += [pointer_of(split.public), pointer_of(split.sealed), split.metadata]
        files += [pointer_of(self._folder.communities / read.key) for read in state.communities]
        files += [pointer_of(self._solution(work_id)) for work_id in sorted(self._published)]
        done = sum(record.outcome is not None for record in state.works)
        best = f", best {view.best.score}" if view.best else ""
        name = self._campaign.name
        message = f"{name}: {done} done{best}"
        commit_files(self._project, campaign_ref(name), files, message, experiment_files(view))
        update_experiment(self._project, name)

    def _publish(self, state: CampaignState) -> None:
        """Publish newly scored attempts, and add what is published to DVC."""
        new = {
            attempt.id: (attempt.work, attempt.outcome)
            for attempt in state.works.codes()
            if attempt.outcome is not None and attempt.submitted and attempt.id not in self._published
        }
        if new:
            for work_id, (work, outcome) in new.items():
                publish_solution(self._project, self._campaign.name, work_id, work, outcome)
            version(self._project, [self._solution(work_id) for work_id in new])
            failpoint("checkpoints-versioned")
        self._published.update(new)

    def _solution(self, work_id: str) -> Path:
        return self._folder.published(self._campaign.name, work_id)

    def _write_lineages(self, state: CampaignState) -> None:
        """Write lineage and script of every attempt that has newly ended or newly been proved."""
        for attempt in state.works.codes():
            known = (attempt.outcome is not None, state.proofs.get(attempt.id))
            if attempt.outcome is None or self._lineages.get(attempt.id) == known:
                continue
            folder = self._campaign.work(attempt.id)
            pointer = pointer_of(self._solution(attempt.id))
            lineage = lineage_of(state, self._campaign, attempt.id, recorded_md5(pointer))
            script = script_for(state, read_log(folder.log, WORK_EVENTS), attempt.id)
            if script is not None:
                write_atomically(folder.script(script.file_name), script.text)
            write_atomically(folder.lineage, lineage.model_dump_json(indent=2) + "\n")
            self._lineages[attempt.id] = known


def _results(state: CampaignState) -> object:
    """Return what a round adds to a campaign: projections are written when it has changed."""
    finished = sum(record.outcome is not None for record in state.works)
    return finished, state.picked, state.proofs, state.ended

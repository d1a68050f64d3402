"""Project a campaign's logs after every round: publish, version, track, deliver, commit.

Each step is idempotent, so it is repeated where it fails, and after a crash.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of, recorded_md5
from comind.adapters.git.refs import campaign_ref, commit_files, update_experiment
from comind.adapters.mlflow.campaign import CampaignTracker
from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.app.candidate_files import write_upload
from comind.app.sharing import shared_settings
from comind.campaign.closing.final_pick import leaderboard_csv
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome, Submitted
from comind.campaign.log.running_attempts import RunningAttempts
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.loop import Campaign
from comind.campaign.reports.attempt_lineage import lineage_of, script_for
from comind.campaign.reports.campaign_journal import closing_notes
from comind.campaign.reports.campaign_summary import experiment_files
from comind.errors import CampaignError
from comind.eventlog.log import read_log
from comind.splits.split_folder import SplitFolder
from comind.system.disk import full_disk
from comind.system.failpoints import failpoint
from comind.system.files import hash_file, write_atomically
from comind.wiring.runtime import CampaignRuntime

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProjectionSteps:
    """The steps of an update: functions, or tasks that call them."""

    publish: Callable[[Path, str, Mapping[str, tuple[Code, CodeOutcome]]], None]
    version: Callable[[Path, list[Path]], object]
    """Adds files or folders to DVC."""
    track: Callable[["Projections"], None]
    deliver: Callable[["Projections"], None]
    commit: Callable[["Projections"], None]


class Projections:
    """Updates everything that is derived from one campaign's logs."""

    def __init__(
        self, project: Path, campaign: str, alerts: CampaignAlerts, steps: ProjectionSteps
    ) -> None:
        self._project = project
        self._steps = steps
        self._folder = ProjectFolder(project)
        self._campaign = self._folder.campaign(campaign)
        self._tracker = CampaignTracker(project, campaign)
        self._alerts = alerts
        self._published: set[str] = set()
        self._running = RunningAttempts(self._campaign)
        self._delivered: tuple[str, Submitted] | None = None
        self._updated: object = None
        self._committed: CampaignState | None = None
        self._state = CampaignState()
        self._lineages: dict[str, object] = {}
        self.runtime: CampaignRuntime | None = None
        """Writes the journal; None until the campaign has its split and its community."""

    @contextlib.contextmanager
    def updated_at_end(self, campaign: Campaign) -> Iterator[None]:
        """Update and commit at the end of the block, also after an error, which stays the one raised."""
        try:
            yield
        except BaseException as error:
            try:
                if isinstance(error, Exception):  # else the process has to end soon
                    self._update_and_commit(campaign.state)
                self.stop(failed=isinstance(error, Exception))
            except Exception as later:  # noqa: BLE001 - the first error is the cause
                _log.exception("%s: the projections were not updated", self._campaign.name)
                error.add_note(f"the projections were not updated: {later}")
            raise
        self._update_and_commit(campaign.state)

    def stop(self, *, failed: bool = False) -> None:
        """Set the status of the runs in MLflow that the logs leave open, as this process ends."""
        self._tracker.stop(failed=failed)

    def _update_and_commit(self, state: CampaignState) -> None:
        self.update(state)
        if self._committed is not state:
            self._steps.commit(self)

    def version_split(self, key: str) -> None:
        """Add the public and the sealed part of the split to DVC, separately."""
        split = SplitFolder(self._folder.splits / key)
        self._steps.version(self._project, [split.public, split.sealed])
        failpoint("split-versioned")

    def version_community(self, key: str) -> None:
        """Add a snapshot of the community to DVC."""
        self._steps.version(self._project, [self._folder.communities / key])
        failpoint("community-read")

    def update(self, state: CampaignState) -> None:
        """Update all projections to `state`, each by a step.

        Where no work has ended, only metrics and the best step of running attempts are written, without
        a step: this function is called every second.
        """
        self._state = state
        self._alerts.sync()
        finished = sum(record.outcome is not None for record in state.works)
        changed = (finished, state.picked, state.proofs, state.ended, self.runtime is None)
        if changed == self._updated:
            self._update_running(state)
            return
        self._publish(state)
        self._steps.track(self)
        self._steps.deliver(self)
        self._steps.commit(self)
        self._updated = changed

    def _update_running(self, state: CampaignState) -> None:
        try:
            self._sync()
        except Exception:  # noqa: BLE001 - the step repeats it, and fails with what does not pass
            _log.info("%s: MLflow is written again", self._campaign.name, exc_info=True)
            self._steps.track(self)
        self._deliver_submission(state)

    def track(self) -> None:
        """Write lineages, then new events to MLflow, and the ids of its runs to `runs.json`."""
        self._write_lineages(self._state)
        self._sync()
        write_atomically(self._campaign.runs, self._tracker.run_ids_json())

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
            self._tracker = CampaignTracker(self._project, self._campaign.name)
            raise

    def deliver(self) -> None:
        """Write submission, leaderboard and journal to the campaign's folder."""
        state = self._state
        self._deliver_submission(state)
        if self.runtime is not None and len(state.works):
            notes = closing_notes(state, self._tracker.tuning())
            write_atomically(self._campaign.journal, self.runtime.journal(state) + notes)
        if state.delivered() is None:
            return
        if state.picked is not None:
            write_atomically(self._campaign.leaderboard, leaderboard_csv(state.picked.leaderboard))
            if state.refit() is not None:
                picked = state.works.attempt(state.picked.work_id)
                assert picked.submitted is not None
                self._copy(picked.id, picked.submitted, self._campaign.submission_before_refit)
        failpoint("submission-delivered")

    def _deliver_submission(self, state: CampaignState) -> None:
        """Copy the best submission where it has changed; it may be a step of a running attempt."""
        best = state.delivered()
        chosen = (best.id, best.submitted) if best is not None and best.submitted is not None else None
        running = self._running.best(state) if state.picked is None else None
        if running is not None and running.better_than(state.best):
            chosen = (running.work_id, running.submitted)
        if chosen is not None and chosen != self._delivered:
            self._copy(*chosen, self._campaign.submission)
            write_upload(self._folder, state, self._campaign.submission, self._campaign.upload)
            self._delivered = chosen

    def _copy(self, work_id: str, submitted: Submitted, target: Path) -> None:
        source = self._campaign.work(work_id).test_submission(submitted.step)
        if hash_file(source) != submitted.test_sha256:
            raise CampaignError(f"{source} was changed after it was graded")
        write_atomically(target, source.read_bytes())

    def commit(self) -> None:
        """Commit `.dvc` files and logs to the campaign's ref, which is also a DVC experiment."""
        state = self._state
        files = [*shared_settings(self._project), self._campaign.log]
        for pattern in ("*/log.jsonl", "*/lineage.json", "*/script.*", "code-*.diff", "runs.json"):
            files += sorted(self._campaign.root.glob(pattern))
        if state.split is not None:
            split = SplitFolder(self._folder.splits / state.split.key)
            files += [pointer_of(split.public), pointer_of(split.sealed), split.metadata]
        files += [pointer_of(self._folder.communities / read.key) for read in state.communities]
        files += [pointer_of(self._solution(work_id)) for work_id in sorted(self._published)]
        done = sum(record.outcome is not None for record in state.works)
        best = f", best {state.best.score}" if state.best else ""
        name = self._campaign.name
        message = f"{name}: {done} done{best}"
        commit_files(self._project, campaign_ref(name), files, message, experiment_files(state))
        update_experiment(self._project, name)
        self._committed = state

    def _publish(self, state: CampaignState) -> None:
        """Publish newly scored attempts, and add what is published to DVC."""
        new = {
            attempt.id: (attempt.work, attempt.outcome)
            for attempt in state.works.codes()
            if attempt.outcome is not None and attempt.submitted and attempt.id not in self._published
        }
        if new:
            self._steps.publish(self._project, self._campaign.name, new)
            self._steps.version(self._project, [self._solution(work_id) for work_id in new])
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

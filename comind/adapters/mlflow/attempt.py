"""Track an attempt as a child run: metrics of its steps and outcome, and its files."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from comind.adapters.mlflow.traces import trace_work
from comind.adapters.mlflow.tracking_store import Point, RunStatus, TrackedRun
from comind.adapters.mlflow.training_curves import read_curves
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import (
    CellEnded,
    Graded,
    SampleGraded,
    SessionOpened,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.reports.attempt_lineage import AttemptLineage
from comind.campaign.reports.code_metrics import measure
from comind.domain.metric import ValidationScore
from comind.eventlog.log import Record
from comind.eventlog.store import StateTail
from comind.grading.grader_port import ScoreBreakdown
from comind.session.notebook import notebook_of
from comind.session.session_ports import CellResult

_BATCH = 1_000  # metrics in one request, the most that MLflow takes
COMMIT = "mlflow.source.git.commit"
"""Tag that MLflow's pages show as the version of a run."""


class AttemptTracker:
    """Projects the log of an attempt to its child run."""

    def __init__(self, run: TrackedRun, folder: WorkFolder, work: Code, pointer: Path) -> None:
        """Start at the beginning of the log.

        `pointer` is the `.dvc` file of the published solution; it exists once that is versioned.
        """
        self.run = run
        self._folder = folder
        self._work = work
        self._pointer: Path | None = pointer
        self._log = StateTail(folder.log, WORK_LOG)
        self._lineage = ""
        self._load_samples = 0
        self._ended = False

    def stop(self, at: datetime) -> None:
        """Set the status of a run that was stopped at a time, unless its log has an end."""
        if not self._ended:
            found = WORK_LOG.read(self._folder.log).outcome
            self.run.set_terminated(at, _status(found) if isinstance(found, CodeOutcome) else "KILLED")

    def sync(self) -> None:
        """Write the log's new events; idempotent."""
        found: list[Point] = []
        for record in self._log.read():
            found += self._track(record)
        self.run.log_metrics(found)
        self._track_lineage()
        if self._pointer is not None and self._pointer.exists():
            self.run.log_texts({"checkpoints.dvc": self._pointer.read_text()})
            self._pointer = None

    def _track_lineage(self) -> None:
        """Log lineage and script, and again when a proof has changed them."""
        try:
            text = self._folder.lineage.read_text()
        except FileNotFoundError:
            return
        if text == self._lineage:
            return
        try:
            lineage = AttemptLineage.model_validate_json(text)
        except ValidationError:
            return  # damaged; `comind repair` reports it
        files = {"lineage.json": text}
        if lineage.script is not None:
            name = lineage.script.file
            files[name] = self._folder.script(name).read_text()
        self.run.log_texts(files)
        self.run.set_tags(_lineage_tags(lineage))
        self._lineage = text

    def _track_curves(self, record: Record[WorkEvent]) -> None:
        """Log the curves that the program wrote, as metrics such as `training/loss`."""
        curves = read_curves(self._folder.workspace)
        values = [
            Point(f"training/{_plain(name)}", value, record.at, step)
            for name, value, step in curves.points
        ]
        for start in range(0, len(values), _BATCH):
            self.run.log_metrics(values[start : start + _BATCH])
        if curves.left_out:
            self.run.set_tags({"comind.training_curves": curves.left_out})

    def _track(self, record: Record[WorkEvent]) -> list[Point]:
        match record.event:
            case CellEnded(result=result):
                values = {"step/seconds": result.seconds, "step/failed": float(bool(result.error))}
                found = points(values, record, step=self._log.state.steps)
                return found + self._load_points(result, record.at)
            case Graded(report=report, out_of_fold=out_of_fold) if report.score is not None:
                values = score_values(report.score, "step/score") | _part_values(report.parts)
                if out_of_fold is not None and out_of_fold.score is not None:
                    values |= score_values(out_of_fold.score, "step/out_of_fold")
                return points(values, record, step=self._log.state.steps)
            case SampleGraded(report=report) if report.score is not None:
                values = score_values(report.score, "step/sample_score")
                return points(values, record, step=self._log.state.steps)
            case SessionOpened() as session:
                facts = {"comind.sandbox": session.sandbox, "comind.sealed": session.sealed}
                known = {"comind.threads": session.threads, "comind.node": session.node}
                self.run.set_tags(facts | {name: value for name, value in known.items() if value})
            case WorkEnded(outcome=CodeOutcome() as outcome):
                return self._end(outcome, record)
            case _:
                pass
        return []

    def _load_points(self, result: CellResult, ended: datetime) -> list[Point]:
        """Return what a cell's session used, by names that MLflow shows as system metrics."""
        found = []
        for sample in result.load:
            at = ended - timedelta(seconds=result.seconds - sample.seconds)
            values = {
                "cores_used": sample.cores,
                "memory_usage_megabytes": sample.memory_bytes / 1e6,
                "gpu_utilization_percentage": sample.gpu_percent,
                "gpu_memory_usage_megabytes": sample.gpu_memory_bytes and sample.gpu_memory_bytes / 1e6,
            }
            found += [
                Point(f"system/{name}", value, at, self._load_samples)
                for name, value in values.items()
                if value is not None
            ]
            self._load_samples += 1
        return found

    def _end(self, outcome: CodeOutcome, record: Record[WorkEvent]) -> list[Point]:
        # Computed from the calls, as in the trace; the outcome's own spend is used for the seconds only.
        spend = self._log.state.spend.model_copy(update={"seconds": outcome.spend.seconds})
        values: dict[str, float] = {"steps": outcome.steps, **spend.model_dump(mode="json")}
        if outcome.score is not None:
            values |= score_values(outcome.score, "score")
        if outcome.out_of_fold is not None:
            values |= score_values(outcome.out_of_fold, "out_of_fold")
        if outcome.code:
            measured = measure(outcome.code).model_dump()
            values |= {name: value for name, value in measured.items() if value is not None}
        if outcome.failure is not None:
            self.run.set_tags(
                {
                    "comind.failure": outcome.failure.cause.value,
                    "comind.failure_message": outcome.failure.message,
                }
            )
            if outcome.failure.traceback:
                self.run.log_texts({"traceback.txt": outcome.failure.traceback})
        if outcome.rejected:
            self.run.set_tags({"comind.rejected": outcome.rejected})
        self._track_curves(record)
        self._log_artifacts(outcome)
        self.run.log_trace(trace_work(self._folder, self._work, self._log.state))
        self._ended = True
        self.run.set_terminated(record.at, _status(outcome))
        return points(values, record, step=0)

    def _log_artifacts(self, outcome: CodeOutcome) -> None:
        self.run.log_texts(
            {
                "draft.json": self._work.draft.model_dump_json(indent=2),
                "notebook.ipynb": notebook_of(self._work.draft.title, self._log.state.cells),
                "code.py": outcome.code,
                "report.md": outcome.report,
            }
        )
        self.run.log_artifact(self._folder.log)
        if outcome.submitted is not None:
            submissions = self._folder.submissions(outcome.submitted.step)
            if submissions.is_dir():  # a clone has only the text files of the campaign's ref
                self.run.log_artifact(submissions, "submissions")


def _status(outcome: CodeOutcome) -> RunStatus:
    """Return FINISHED for work with a submission, which a refit has without a score, else FAILED."""
    return "FAILED" if outcome.submitted is None else "FINISHED"


def _part_values(divided: tuple[ScoreBreakdown, ...]) -> dict[str, float]:
    """Return the parts of a score by valid names of MLflow metrics."""
    return {
        f"step/part/{_plain(parts.by)}/{_plain(part.name)}": part.value
        for parts in divided
        for part in parts.worst
    }


def _plain(name: str) -> str:
    return re.sub(r"[^\w -]", "_", name) or "_"


def _lineage_tags(lineage: AttemptLineage) -> dict[str, str]:
    tags = {
        "comind.revision": lineage.revision + ("+changes" if lineage.diff_sha256 else ""),
        **({COMMIT: lineage.revision} if lineage.revision else {}),
        "comind.environment": lineage.environment_sha256,
        "comind.prompts": lineage.prompts_sha256,
        "comind.split": lineage.split.key,
        "comind.split_sha256": lineage.split.public_sha256,
    }
    if lineage.community is not None:
        tags["comind.community"] = lineage.community.key
    if lineage.submitted is not None:
        tags["comind.submission_sha256"] = lineage.submitted.test_sha256
    if lineage.script is not None:
        tags["comind.script"] = lineage.script.origin
        tags["comind.script_sha256"] = lineage.script.sha256
        tags["comind.script_proof"] = lineage.script.proof
    return tags


def points(values: dict[str, float], record: Record[Any], *, step: int) -> list[Point]:
    """Return `values` at the time of a record."""
    return [Point(name, value, record.at, step) for name, value in values.items()]


def score_values(score: ValidationScore, name: str) -> dict[str, float]:
    """Return a score and the bounds of its interval, by name."""
    interval = score.interval
    return {name: score.value.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def flat_values(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return values with those of nested mappings by names such as `budget.seconds`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat_values(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found

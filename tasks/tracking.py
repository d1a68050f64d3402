"""MLflow as a projection of the logs; the one module that knows MLflow.

A campaign is a parent run, each attempt a child run, found by the tags `comind.campaign` and
`comind.attempt`. Whatever is written carries the number and time of the event it comes from, so writing
it again changes nothing: after a crash, or into an empty database, everything is simply written again.

Names that hold for every agent:

    metrics of an attempt     score score_low score_high steps seconds prompt_tokens completion_tokens
                              usd calls lost_calls; per step: step/score step/score_low
                              step/score_high step/seconds step/failed
    metrics of a campaign     best_score attempts valid_attempts seconds tokens usd
    artifacts of a campaign   leaderboard.csv
    artifacts of an attempt   draft.json code.py notebook.ipynb report.md log.jsonl submissions/...
"""

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from comind.campaign.attempt import (
    WORK_EVENTS,
    CellEnded,
    CellStarted,
    Graded,
    SessionOpened,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.events import (
    CAMPAIGN_EVENTS,
    CampaignEnded,
    CampaignEvent,
    CampaignOpened,
    CampaignResumed,
    FinalPicked,
    SplitMade,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.finish import as_csv
from comind.campaign.folder import ProjectFolder, WorkFolder
from comind.campaign.log import LogTail, Record
from comind.campaign.outcome import CodeOutcome
from comind.campaign.plan import Code
from comind.campaign.state import CampaignState, apply
from comind.session.notebook import Cell, notebook_of
from comind.system.killpoints import passed

__all__ = ["CampaignTracker", "run_of", "tracking_uri"]

_CAMPAIGN, _ATTEMPT = "comind.campaign", "comind.attempt"
_PARAM_LENGTH = 500
_SOURCE = {"mlflow.source.name": "comind solve", "mlflow.source.type": "LOCAL"}
# Makes the page open on runs and their metrics rather than on chat traces.
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


def tracking_uri(project: Path) -> str:
    """Return where the project's runs are recorded."""
    return f"sqlite:///{ProjectFolder(project).tracking / 'mlflow.db'}"


def run_of(project: Path, campaign: str) -> str | None:
    """Return MLflow's id of a campaign's run, or None where none is recorded yet."""
    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    for run in client.search_runs(experiments, f"tags.`{_CAMPAIGN}` = '{campaign}'"):
        if _ATTEMPT not in run.data.tags:
            return str(run.info.run_id)
    return None


class CampaignTracker:
    """Brings MLflow up to date with the logs of one campaign."""

    def __init__(self, project: Path, campaign: str) -> None:
        """Find or make the database; the runs are made by `catch_up`."""
        folder = ProjectFolder(project)
        folder.tracking.mkdir(parents=True, exist_ok=True)
        self._folder = folder.campaign(campaign)
        self._artifacts = folder.tracking
        self._client = MlflowClient(tracking_uri=tracking_uri(project))
        self._tail: LogTail[CampaignEvent] = LogTail(self._folder.log, CAMPAIGN_EVENTS)
        self._state = CampaignState()
        self._experiment = ""
        self._parent = ""
        self._attempts: dict[str, _AttemptTracker] = {}

    @property
    def run_id(self) -> str:
        """MLflow's id of the campaign's run; empty before its first event is tracked."""
        return self._parent

    def catch_up(self) -> None:
        """Write whatever the logs hold that is not yet written."""
        for record in self._tail.read():
            self._state = apply(self._state, record)
            self._track(record)
        for attempt in self._attempts.values():
            attempt.catch_up()

    def _track(self, record: Record[CampaignEvent]) -> None:
        match record.event:
            case CampaignOpened():
                self._open(record)
            case SplitMade() as split:
                self._client.log_batch(self._parent, params=_params(split.model_dump(), "split."))
                for name in ("metric", "maximize", "key"):
                    self._client.set_tag(self._parent, f"comind.{name}", str(getattr(split, name)))
            case WorkPlanned(id=work_id, work=Code() as work):
                run_id = self._find_or_create(work_id, record, _attempt_tags(work), self._parent)
                self._client.log_batch(run_id, params=_attempt_params(work))
                folder = self._folder.work(work_id)
                self._attempts[work_id] = _AttemptTracker(self._client, run_id, folder, work)
            case WorkFinished(id=work_id):
                if work_id in self._attempts:
                    self._attempts[work_id].catch_up()
                self._log_totals(record)
                passed("run-tracked")
            case CampaignResumed():
                self._client.update_run(self._parent, status="RUNNING")
            case FinalPicked() as final:
                self._client.set_tag(self._parent, "comind.picked", final.work_id)
                self._client.set_tag(self._parent, "comind.pick_reason", final.reason)
                self._client.log_text(self._parent, as_csv(final.leaderboard), "leaderboard.csv")
            case CampaignEnded(reason=reason, detail=detail):
                self._log_totals(record)
                self._client.set_tag(self._parent, "comind.ended", f"{reason}: {detail}")
                self._client.set_terminated(self._parent, "FINISHED", _millis(record.at))
            case _:
                pass

    def _open(self, record: Record[CampaignEvent]) -> None:
        spec = self._state.spec
        self._experiment = self._find_or_create_experiment(spec.competition)
        tags = {_CAMPAIGN: spec.id, "comind.agent": spec.agent, "comind.model": spec.model}
        self._parent = self._find_or_create(spec.id, record, tags, None)
        self._client.log_batch(self._parent, params=_params(spec.model_dump(mode="json")))

    def _find_or_create_experiment(self, name: str) -> str:
        experiment = self._client.get_experiment_by_name(name)
        if experiment is None:
            location = (self._artifacts / name).absolute().as_uri()
            try:
                return str(self._client.create_experiment(name, location, _EXPERIMENT_TAGS))
            except MlflowException:  # another campaign was faster
                experiment = self._client.get_experiment_by_name(name)
                if experiment is None:
                    raise
        return str(experiment.experiment_id)

    def _find_or_create(
        self, name: str, record: Record[Any], tags: dict[str, str], parent: str | None
    ) -> str:
        """Return the id of the run with these identifying tags; they are written with the run itself."""
        identity = {_CAMPAIGN: self._folder.name} | ({_ATTEMPT: name} if parent else {})
        query = " and ".join(f"tags.`{key}` = '{value}'" for key, value in identity.items())
        for run in self._client.search_runs([self._experiment], query):
            if parent or _ATTEMPT not in run.data.tags:
                return str(run.info.run_id)
        tags = _SOURCE | identity | tags | ({"mlflow.parentRunId": parent} if parent else {})
        run = self._client.create_run(self._experiment, _millis(record.at), tags, run_name=name)
        return str(run.info.run_id)

    def _log_totals(self, record: Record[CampaignEvent]) -> None:
        state = self._state
        attempts = [attempt for attempt in state.works.attempts() if attempt.outcome]
        values = {
            "attempts": len(attempts),
            "valid_attempts": sum(1 for a in attempts if a.outcome and a.outcome.score),
            "seconds": state.spend.seconds,
            "tokens": state.spend.tokens,
            "usd": state.spend.usd,
        }
        if state.best:
            interval = state.best.score.interval
            values["best_score"] = state.best.score.value.value
            values |= {"best_score_low": interval.low, "best_score_high": interval.high}
        self._client.log_batch(self._parent, metrics=_metrics(values, record, step=record.seq))


class _AttemptTracker:
    """Brings one child run up to date with the log of its attempt."""

    def __init__(self, client: MlflowClient, run_id: str, folder: WorkFolder, work: Code) -> None:
        self._client = client
        self._run_id = run_id
        self._folder = folder
        self._work = work
        self._tail: LogTail[WorkEvent] = LogTail(folder.log, WORK_EVENTS)
        self._step = 0
        self._cells: list[Cell] = []

    def catch_up(self) -> None:
        metrics: list[Metric] = []
        for record in self._tail.read():
            metrics += self._track(record)
        if metrics:
            self._client.log_batch(self._run_id, metrics=metrics)

    def _track(self, record: Record[WorkEvent]) -> list[Metric]:
        match record.event:
            case CellStarted(step=step, goal=goal, code=code):
                self._step = step
                self._cells.append(Cell(goal=goal, code=code))
            case CellEnded(result=result):
                self._cells[-1].result = result
                values = {"step/seconds": result.seconds, "step/failed": float(bool(result.error))}
                return _metrics(values, record, step=self._step)
            case Graded(report=report) if report.score is not None:
                interval = report.score.interval
                values = {"step/score": report.score.value.value}
                values |= {"step/score_low": interval.low, "step/score_high": interval.high}
                return _metrics(values, record, step=self._step)
            case SessionOpened(sandbox=sandbox, sealed=sealed):
                self._client.set_tag(self._run_id, "comind.sandbox", sandbox)
                self._client.set_tag(self._run_id, "comind.sealed", str(sealed))
            case WorkEnded(outcome=CodeOutcome() as outcome):
                return self._end(outcome, record)
            case _:
                pass
        return []

    def _end(self, outcome: CodeOutcome, record: Record[WorkEvent]) -> list[Metric]:
        spend = outcome.spend
        values: dict[str, float] = {"steps": outcome.steps, **spend.model_dump(mode="json")}
        if outcome.score is not None:
            interval = outcome.score.interval
            values["score"] = outcome.score.value.value
            values |= {"score_low": interval.low, "score_high": interval.high}
        if outcome.failure is not None:
            tags = {
                "comind.failure": outcome.failure.kind,
                "comind.failure_message": outcome.failure.message,
            }
            self._client.log_batch(self._run_id, tags=[RunTag(k, str(v)) for k, v in tags.items()])
        self._log_artifacts(outcome)
        # A refit hands in without a score, as no labels are left to score it with.
        status = "FINISHED" if outcome.submitted is not None else "FAILED"
        self._client.log_batch(self._run_id, metrics=_metrics(values, record, step=0))
        self._client.set_terminated(self._run_id, status, _millis(record.at))
        return []

    def _log_artifacts(self, outcome: CodeOutcome) -> None:
        texts = {
            "draft.json": self._work.draft.model_dump_json(indent=2),
            "notebook.ipynb": notebook_of(self._work.draft.title, self._cells),
            "code.py": outcome.code,
            "report.md": outcome.report,
        }
        with tempfile.TemporaryDirectory() as staged:
            for name, text in texts.items():
                (Path(staged) / name).write_text(text)
            self._client.log_artifacts(self._run_id, staged)
        self._client.log_artifact(self._run_id, str(self._folder.log))
        if outcome.submitted is not None:
            submissions = self._folder.submissions(outcome.submitted.step)
            self._client.log_artifacts(self._run_id, str(submissions), "submissions")


def _attempt_tags(work: Code) -> dict[str, str]:
    return {
        "mlflow.note.content": f"{work.draft.title}\n\n{work.draft.method}",
        "comind.title": work.draft.title,
        "comind.operator": work.operator.value,
        "comind.parents": " ".join(work.parents),
    }


def _attempt_params(work: Code) -> list[Param]:
    return _params(
        {
            "title": work.draft.title,
            "operator": work.operator.value,
            "role": work.role,
            "session": work.session,
            "parents": " ".join(work.parents),
            **{f"budget.{name}": value for name, value in work.budget.model_dump().items()},
        }
    )


def _params(values: dict[str, Any], prefix: str = "") -> list[Param]:
    return [Param(prefix + name, str(value)[:_PARAM_LENGTH]) for name, value in values.items()]


def _metrics(values: dict[str, float], record: Record[Any], *, step: int) -> list[Metric]:
    return [Metric(name, float(value), _millis(record.at), step) for name, value in values.items()]


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)

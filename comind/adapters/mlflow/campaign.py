"""Track a campaign as a parent run, with the child runs of its attempts."""

import json
from datetime import UTC, datetime
from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of
from comind.adapters.mlflow.attempt import COMMIT, AttemptTracker, flat_values, points, score_values
from comind.adapters.mlflow.attempts_table import attempts_csv, rows_of
from comind.adapters.mlflow.campaign_datasets import snapshot_dataset, split_dataset
from comind.adapters.mlflow.server_errors import server_errors
from comind.adapters.mlflow.solution import register_solution
from comind.adapters.mlflow.traces import trace_work
from comind.adapters.mlflow.tracking_store import TrackedRun, TrackingStore
from comind.campaign.closing.final_pick import leaderboard_csv
from comind.campaign.log import campaign_events as events
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.campaign.reports.call_costs import calls_csv
from comind.campaign.reports.campaign_view import CampaignLogs, CampaignView
from comind.campaign.reports.tuning import Tuning, tuning_of
from comind.eventlog.log import Record
from comind.splits.split_folder import SplitFolder
from comind.system.failpoints import failpoint

_COMMANDS = """\
| to | run |
|---|---|
| continue it | `comind solve --resume {name}` |
| make its submission again, without a model | `comind reproduce {name}` |
| see what it was made from | `comind lineage {name}` |
| read prompts, replies and cells | `comind show {name}` |
"""
CAMPAIGN_TAG, ATTEMPT_TAG = "comind.campaign", "comind.attempt"
"""Tags that name a run's campaign, and its attempt."""


class CampaignTracker:
    """Projects the logs of one campaign to MLflow."""

    def __init__(self, project: Path, campaign: str, flow_run: str = "") -> None:
        """Open the database; `sync` creates the runs. `flow_run` is the campaign's run in Prefect."""
        self._flow_run = flow_run
        self._project = ProjectFolder(project)
        self._folder = self._project.campaign(campaign)
        self._store = TrackingStore(project)
        self._logs = CampaignLogs(self._folder)
        self._experiment = ""
        self._run: TrackedRun | None = None
        self._attempts: dict[str, AttemptTracker] = {}
        self._ended: list[str] = []
        self._tracked = 0
        self._spent = ""
        self._newest: Record[events.CampaignEvent] | None = None
        self._chosen: object = None

    def run_ids_json(self) -> str:
        """Return the content of `runs.json`: run ids of the campaign and its attempts, by name."""
        attempts = {name: attempt.run.id for name, attempt in self._attempts.items()}
        own = self._run.id if self._run else ""
        return json.dumps({self._folder.name: own, **attempts}, indent=2) + "\n"

    @server_errors()
    def sync(self) -> None:
        """Write the logs' new events; idempotent.

        Raises:
            OrchestrationError: the tracking server does not answer.
        """
        for record in self._logs.records():
            self._newest = record
            self._track(record)
        for attempt in self._attempts.values():
            attempt.sync()
        if self._run is not None:
            view = self._logs.update_work()
            self._tag_budget(view)
            self._track_best(view)
        if len(self._ended) > self._tracked:
            self._track_attempts()

    @server_errors()
    def stop(self, *, failed: bool = False) -> None:
        """Set the status of all runs that the logs leave open, as no process continues them.

        That is KILLED, but for the campaign FAILED if a fault has ended it; resuming reopens them.
        """
        if self._run is None or self._state.ended is not None:
            return
        now = datetime.now(UTC)
        for record in self._state.works.in_flight():
            if record.id in self._attempts:
                self._attempts[record.id].stop(now)
        self._parent.set_terminated(now, "FAILED" if failed else "KILLED")

    def tuning(self) -> Tuning:
        """Return gradings and optimism of the work that has ended, as of the last `sync`."""
        view = self._logs.update_work()
        ended = (each.id for each in view.state.works.rankable() if each.outcome is not None)
        return tuning_of(view.state, {work_id: view.works[work_id] for work_id in ended})

    @server_errors()
    def log_page(self, page: str) -> None:
        """Write the campaign's page, which any browser opens, as an artifact of its run.

        Raises:
            OrchestrationError: the tracking server does not answer.
        """
        self._parent.log_texts({"campaign.html": page})

    @property
    def _state(self) -> CampaignState:
        return self._logs.state

    @property
    def _parent(self) -> TrackedRun:
        assert self._run is not None, "a log begins with its opening"
        return self._run

    def _track(self, record: Record[events.CampaignEvent]) -> None:
        match record.event:
            case events.CampaignOpened():
                self._open(record)
            case events.EnvironmentRead() | events.ScriptProved() as found:
                self._track_environment(found)
            case events.SplitMade() | events.CommunityRead() as data:
                self._track_data(data)
            case events.WorkPlanned(id=work_id, work=work):
                if isinstance(work, Code):
                    self._attempts[work_id] = self._plan(work_id, work, record)
            case events.WorkFinished(id=work_id):
                self._finish(work_id)
                self._log_totals(work_id, record)
                failpoint("run-tracked")
            case events.CampaignResumed():
                self._reopen()
            case (
                events.AttemptRejected()
                | events.FoldsPlanned()
                | events.BlendJudged()
                | events.FinalPicked() as chosen
            ):
                self._track_choice(chosen, record)
            case events.CampaignEnded():
                self._end(record.event, record)

    def _end(self, ended: events.CampaignEnded, record: Record[events.CampaignEvent]) -> None:
        """Log totals, and register the delivered solution."""
        self._parent.log_metrics(points(self._totals(), record, step=record.seq))
        self._parent.log_texts({"ledger.csv": self._ledger()})
        delivered = self._state.delivered()
        run = self._attempts[delivered.id].run if delivered is not None else self._parent
        model = register_solution(self._store, run, self._project, self._folder.name, self._state)
        self._parent.set_tags(
            {"comind.ended": f"{ended.reason}: {ended.detail}", "comind.model_version": model}
        )
        self._parent.set_terminated(record.at, "FINISHED" if delivered is not None else "FAILED")

    def _reopen(self) -> None:
        """Set the status of the campaign, and of the attempts that continue with it, to RUNNING."""
        self._parent.reopen()
        for record in self._state.works.in_flight():
            if record.id in self._attempts:
                self._attempts[record.id].run.reopen()

    def _track_choice(
        self,
        chosen: events.AttemptRejected | events.FoldsPlanned | events.BlendJudged | events.FinalPicked,
        record: Record[events.CampaignEvent],
    ) -> None:
        """Set tags of rejections, the folds, the blend and the final pick, with their reasons."""
        match chosen:
            case events.AttemptRejected(id=work_id, reason=reason):
                self._attempts[work_id].run.set_tags({"comind.rejected": reason})
            case events.FoldsPlanned(runners=runners, reason=reason):
                folds = f"{chosen.folds} for {', '.join(runners)}" if runners else f"none: {reason}"
                self._parent.set_tags({"comind.folds": folds})
            case events.BlendJudged():
                blend = str(chosen.blend) if chosen.blend else f"none: {chosen.reason}"
                self._parent.set_tags({"comind.blend": blend})
            case events.FinalPicked():
                self._track_pick(chosen, record)

    def _track_pick(self, picked: events.FinalPicked, record: Record[events.CampaignEvent]) -> None:
        """Log the final pick and its confidence."""
        self._parent.set_tags({"comind.picked": picked.work_id, "comind.pick_reason": picked.reason})
        self._parent.log_texts({"leaderboard.csv": leaderboard_csv(picked.leaderboard)})
        self._parent.set_tags({"comind.tuning_warning": "; ".join(self.tuning().warnings) or "none"})
        expected = next(
            (each.expected for each in picked.leaderboard if each.work_id == picked.work_id), None
        )
        if expected is not None:
            self._parent.log_metrics(points({"expected_score": expected}, record, step=record.seq))
        if not picked.evidence:
            return
        self._parent.set_tags({"comind.pick_evidence": picked.evidence})
        values = {"folds": picked.folds, "confidence": picked.confidence, "shrinkage": picked.shrinkage}
        known = {f"pick/{name}": float(value) for name, value in values.items() if value is not None}
        self._parent.log_metrics(points(known, record, step=record.seq))

    def _track_data(self, data: events.SplitMade | events.CommunityRead) -> None:
        """Log a split, or a snapshot of the community, as a dataset."""
        if isinstance(data, events.CommunityRead):
            self._parent.log_input(snapshot_dataset(self._project, data))
        else:
            self._parent.log_input(split_dataset(self._project, data))
            self._track_split(data)

    def _track_split(self, split: events.SplitMade) -> None:
        """Log the split and the checks of its tables; its warnings of an easier holdout are a tag."""
        facts = split.model_dump(exclude={"warnings"})
        self._parent.log_params({f"split.{name}": value for name, value in facts.items()})
        names = ("metric", "maximize", "key")
        self._parent.set_tags({f"comind.{name}": facts[name] for name in names})
        if split.warnings:
            self._parent.set_tags({"comind.split_warning": "; ".join(split.warnings)})
        checks = SplitFolder(self._project.splits / split.key).checks
        if checks.is_dir():  # older splits have none, nor have clones
            self._parent.log_artifact(checks, checks.name)

    def _track_environment(self, found: events.EnvironmentRead | events.ScriptProved) -> None:
        """Log the campaign's environment, and the proof of the final pick's script."""
        if isinstance(found, events.EnvironmentRead):
            environment = found.environment
            changed = "+changes" if environment.diff_sha256 else ""
            self._parent.set_tags({"comind.revision": environment.revision + changed})
            if environment.revision:  # what MLflow's page shows as the version of a run
                self._parent.set_tags({COMMIT: environment.revision})
            self._parent.log_texts({"environment.json": environment.model_dump_json(indent=2) + "\n"})
        elif self._state.picked is not None and found.id == self._state.picked.work_id:
            self._parent.set_tags({"comind.script_proof": found.proof})

    def _open(self, record: Record[events.CampaignEvent]) -> None:
        spec = self._state.spec
        self._experiment = self._store.get_or_create_experiment(spec.competition)
        tags = {"comind.agent": spec.agent, "comind.model": spec.model}
        tags["mlflow.note.content"] = _COMMANDS.format(name=spec.id)
        identity = {CAMPAIGN_TAG: spec.id}
        self._run = self._store.get_or_create_run(self._experiment, spec.id, identity, record.at, tags)
        self._run.log_params(flat_values(spec.model_dump(mode="json")))
        if self._flow_run:
            self._run.set_tags({"comind.prefect_run": self._flow_run})

    def _plan(self, work_id: str, work: Code, record: Record[events.CampaignEvent]) -> AttemptTracker:
        identity = {CAMPAIGN_TAG: self._folder.name, ATTEMPT_TAG: work_id}
        facts = {
            "title": work.draft.title,
            "operator": work.operator.value,
            "parents": " ".join(work.parents),
        }
        tags = {f"comind.{name}": value for name, value in facts.items()}
        tags["mlflow.note.content"] = self._note(work)
        run = self._store.get_or_create_run(
            self._experiment, work_id, identity, record.at, tags, self._parent
        )
        spec = self._state.spec
        given = {"agent": spec.agent, "model": spec.model, "seed": spec.seed}
        budget = {f"budget.{name}": value for name, value in work.budget.model_dump().items()}
        run.log_params({**facts, "role": work.role, "session": work.session, **budget, **given})
        if self._state.split is not None:
            run.log_input(split_dataset(self._project, self._state.split))
        if work.fold:
            run.log_params({"fold": work.fold})
        if work.blend is not None:
            gain = work.blend.gain
            values = {"gain": gain.difference, "gain_error": gain.standard_error}
            run.log_params(
                {"blend.members": str(work.blend)} | {f"blend.{k}": v for k, v in values.items()}
            )
        pointer = pointer_of(self._project.published(self._folder.name, work_id))
        return AttemptTracker(run, self._folder.work(work_id), work, pointer)

    def _note(self, work: Code) -> str:
        """Return an attempt's description in Markdown, with links to its parents."""
        parents = [(each, self._attempts.get(each)) for each in work.parents]
        links = [f"[{name}]({parent.run.page})" for name, parent in parents if parent is not None]
        parents_line = f"\n\nfrom {', '.join(links)}" if links else ""
        return f"{work.draft.title}\n\n{work.draft.method}{parents_line}"

    def _finish(self, work_id: str) -> None:
        """Log the outcome of work: to the run of an attempt, else as a trace of the campaign's run."""
        if work_id in self._attempts:
            self._attempts[work_id].sync()
            return
        work, state = self._state.works[work_id].work, self._logs.update_work().works[work_id]
        if state.outcome is not None:
            self._parent.log_trace(trace_work(self._folder.work(work_id), work, state))

    def _log_totals(self, work_id: str, record: Record[events.CampaignEvent]) -> None:
        self._parent.log_metrics(points(self._totals() | self._tuning_values(), record, step=record.seq))
        if work_id not in {attempt.id for attempt in self._state.works.rankable()}:
            return
        self._ended.append(work_id)
        if self._state.best is not None:
            best = score_values(self._state.best.score, "best_score")
            self._parent.log_metrics(points(best, record, step=len(self._ended)))

    def _track_best(self, view: CampaignView) -> None:
        """Log the score of what is delivered now, and a tag that says why, where it has changed."""
        best, newest = view.best, self._newest
        if best is None or newest is None or (best, view.choice) == self._chosen:
            return
        step = newest.seq + sum(len(work.cells) for work in view.works.values())  # it only grows
        values = score_values(best.score, "validation_score")
        self._parent.log_metrics(points(values, newest, step=step))
        self._parent.set_tags({"comind.choice": view.choice})
        self._chosen = best, view.choice

    def _tag_budget(self, view: CampaignView) -> None:
        """Set a tag with the reached shares (50 %, 80 %) of the budget's dollars and tokens."""
        spent = view.spend
        if not self._state.budget.shares(spent):
            return
        highest = {each.unit: str(each) for each in self._state.budget.reached(spent)}
        text = f"{', '.join(highest.values())} are spent" if highest else "less than a half is spent"
        if text != self._spent:
            self._parent.set_tags({"comind.budget": text})
            self._spent = text

    def _totals(self) -> dict[str, float]:
        view = self._logs.update_work()
        attempts = [each.outcome for each in view.state.works.attempts() if each.outcome]
        shares = view.state.budget.shares(view.spend)
        return {
            "attempts": len(attempts),
            "valid_attempts": sum(1 for outcome in attempts if outcome.score),
            **view.spend.model_dump(mode="json"),
            "tokens": view.spend.tokens,
            **{f"budget/{unit}": share for unit, share in shares.items()},
            **_by_role(view),
        }

    def _tuning_values(self) -> dict[str, float]:
        tuning = self.tuning()
        known = {} if tuning.optimism is None else {"optimism": tuning.optimism}
        return {"gradings": float(tuning.gradings), "revealed_bits": tuning.bits, **known}

    def _ledger(self) -> str:
        works = self._logs.update_work().works
        return calls_csv({work_id: state.calls for work_id, state in works.items()})

    def _track_attempts(self) -> None:
        rows = rows_of(self._state, self._ended)
        self._parent.log_texts({"attempts.csv": attempts_csv(rows), "ledger.csv": self._ledger()})
        self._tracked = len(self._ended)


def _by_role(view: CampaignView) -> dict[str, float]:
    """Return the spend of each role, by names such as `role/coding_agent/usd`."""
    names = ("tokens", "cached_tokens", "reasoning_tokens", "usd", "calls")
    values: dict[str, float] = {}
    for role, spend in view.spend_by_role.items():
        values |= {f"role/{role}/{name}": getattr(spend, name) for name in names}
        values[f"role/{role}/seconds"] = spend.model_seconds
    return values

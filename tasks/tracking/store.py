"""Runs, metrics, artifacts and traces as values; the one module that knows MLflow.

Everything here can be written again without a change: runs are found by the tags that identify them,
numbers carry the time of the event they come from, and ids of traces follow from what they tell of.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param, RunTag, Span, TraceInfo, TraceLocation, TraceState
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient
from mlflow.tracking import MlflowClient

from comind.campaign.folder import ProjectFolder
from comind.domain.spend import Spend
from tasks.tracking.database import require_database, tracking_uri
from tasks.tracking.traces import Part, Trace

__all__ = ["Point", "TrackedRun", "TrackingStore"]

_PARAM_LENGTH = 500
_PREVIEW_LENGTH = 1000
_SOURCE = {"mlflow.source.name": "comind solve", "mlflow.source.type": "LOCAL"}
# Makes the page open on runs and their metrics rather than on chat traces.
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
_PARENT = "mlflow.parentRunId"
_VIEW = "mlflow.sharedViewState."
_VIEW_QUERY = "workflowType=machine_learning&viewStateShareKey"


@dataclass(frozen=True, slots=True)
class Point:
    """A number, when it became known, and its place on the curve of its name."""

    name: str
    value: float
    at: datetime
    step: int


class TrackedRun:
    """One run of MLflow."""

    def __init__(self, store: "TrackingStore", experiment: str, run_id: str) -> None:
        self._store = store
        self._client = store.client
        self._experiment = experiment
        self.id = run_id
        self.page = f"#/experiments/{experiment}/runs/{run_id}"
        """Where MLflow's pages show it."""

    def params(self, values: Mapping[str, Any]) -> None:
        """Write what was decided before it ran; cut to a length that is read."""
        params = [Param(name, str(value)[:_PARAM_LENGTH]) for name, value in values.items()]
        self._client.log_batch(self.id, params=params)

    def tags(self, values: Mapping[str, object]) -> None:
        """Write what it is known by."""
        self._client.log_batch(self.id, tags=[RunTag(k, str(v)) for k, v in values.items()])

    def metrics(self, points: Iterable[Point]) -> None:
        """Write numbers, all at once."""
        metrics = [Metric(p.name, float(p.value), _millis(p.at), p.step) for p in points]
        if metrics:
            self._client.log_batch(self.id, metrics=metrics)

    def texts(self, files: Mapping[str, str]) -> None:
        """Write small files."""
        for name, text in files.items():
            self._client.log_text(self.id, text, name)

    def copy(self, path: Path, folder: str | None = None) -> None:
        """Copy a file, or the files of a folder, to the run's artifacts."""
        if path.is_dir():
            self._client.log_artifacts(self.id, str(path), folder)
        else:
            self._client.log_artifact(self.id, str(path), folder)

    def reopen(self) -> None:
        """Show it as going on."""
        self._client.update_run(self.id, status="RUNNING")

    def end(self, at: datetime, *, failed: bool = False) -> None:
        """Show it as over."""
        self._client.set_terminated(self.id, "FAILED" if failed else "FINISHED", _millis(at))

    def trace(self, trace: Trace) -> None:
        """Write what was asked and done in its name, as one trace."""
        self._store.write_trace(self._experiment, self.id, trace)

    def view(self, name: str, state: Mapping[str, object]) -> None:
        """Keep a choice of runs, columns and order that a link with this name opens."""
        self._client.set_experiment_tag(self._experiment, _VIEW + name, json.dumps(state))


class TrackingStore:
    """The database and artifacts of one project."""

    def __init__(self, project: Path) -> None:
        """Find or make the database.

        Raises:
            OrchestrationError: the file is no database any more.
        """
        self._artifacts = ProjectFolder(project).tracking
        self._artifacts.mkdir(parents=True, exist_ok=True)
        require_database(project)
        self.client = MlflowClient(tracking_uri=tracking_uri(project))
        # Traces as the fluent interface writes them get random ids and go through a queue, so a crash
        # could double them. Below it, ids are ours, and writing again replaces.
        self._traces = TracingClient(tracking_uri=tracking_uri(project))

    def experiment(self, name: str) -> str:
        """Return the id of the experiment of this name; made where there is none."""
        found = self.client.get_experiment_by_name(name)
        if found is None:
            location = (self._artifacts / name).absolute().as_uri()
            try:
                return str(self.client.create_experiment(name, location, _EXPERIMENT_TAGS))
            except MlflowException:  # another campaign was faster
                found = self.client.get_experiment_by_name(name)
                if found is None:
                    raise
        return str(found.experiment_id)

    def run(
        self,
        experiment: str,
        name: str,
        identity: Mapping[str, str],
        at: datetime,
        tags: Mapping[str, str],
        parent: TrackedRun | None = None,
    ) -> TrackedRun:
        """Return the run with these identifying tags; made, with all its tags at once, if need be."""
        for run in self.client.search_runs([experiment], _query(identity)):
            if (_PARENT in run.data.tags) == (parent is not None):
                return TrackedRun(self, experiment, str(run.info.run_id))
        family = {_PARENT: parent.id} if parent else {}
        written = {**_SOURCE, **identity, **tags, **family}
        made = self.client.create_run(experiment, _millis(at), written, run_name=name)
        return TrackedRun(self, experiment, str(made.info.run_id))

    def find(self, identity: Mapping[str, str]) -> str | None:
        """Return the id of the parent run with these tags, or None where there is none."""
        return next((run_id for run_id, tags in self.runs(identity) if _PARENT not in tags), None)

    def runs(self, identity: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """Return ids and tags of all runs with these tags, the newest first."""
        experiments = [each.experiment_id for each in self.client.search_experiments()]
        found, token = [], None
        while True:
            page = self.client.search_runs(experiments, _query(identity), page_token=token)
            found += [(str(run.info.run_id), run.data.tags) for run in page]
            token = page.token
            if not token:
                return found

    def drop(self, run_id: str) -> None:
        """Take a run out of sight; MLflow's own garbage collection removes it."""
        self.client.delete_run(run_id)

    def views(self, most: int) -> list[tuple[str, str]]:
        """Return names and pages of the views that were kept, the newest campaign first."""
        found = []
        experiments = [each.experiment_id for each in self.client.search_experiments()]
        order = ["attributes.start_time DESC"]
        for run in self.client.search_runs(experiments, "", order_by=order, max_results=1000):
            experiment = run.info.experiment_id
            tags = self.client.get_experiment(experiment).tags
            if _PARENT not in run.data.tags and _VIEW + run.info.run_name in tags:
                page = f"#/experiments/{experiment}/runs?{_VIEW_QUERY}={run.info.run_name}"
                found.append((run.info.run_name, page))
        return found[:most]

    def write_trace(self, experiment: str, run_id: str, trace: Trace) -> None:
        """Write a trace that belongs to a run; a trace of the same name is replaced."""
        key = hashlib.sha256(trace.name.encode()).digest()[:16]
        trace_id = f"tr-{key.hex()}"
        whole = trace.whole
        begun, ended = _millis(whole.begun), _millis(whole.ended)
        usage = {
            "mlflow.trace.tokenUsage": json.dumps(_tokens(trace.spend)),
            "mlflow.trace.cost": json.dumps(_cost(trace.spend)),
        }
        info = TraceInfo(
            trace_id=trace_id,
            trace_location=TraceLocation.from_experiment_id(experiment),
            request_time=begun,
            state=TraceState.ERROR if whole.error else TraceState.OK,
            execution_duration=ended - begun,
            request_preview=trace.asked[:_PREVIEW_LENGTH],
            response_preview=(whole.error or trace.said)[:_PREVIEW_LENGTH],
            trace_metadata={"mlflow.sourceRun": run_id, **usage},
            tags={"mlflow.traceName": whole.name, **trace.tags},
        )
        # Totals that are written first are final; spans do not add to them.
        self._traces.start_trace(info)
        parts = enumerate((whole, *trace.parts))
        spans = [_span(key, trace_id, number, part) for number, part in parts]
        self._traces.log_spans(experiment, spans)


def _span(key: bytes, trace_id: str, number: int, part: Part) -> Any:
    """Return MLflow's span; number 0 is the root."""
    attributes: dict[str, object] = {
        "mlflow.traceRequestId": trace_id,
        "mlflow.spanType": part.kind,
        "mlflow.spanInputs": part.inputs,
        "mlflow.spanOutputs": part.outputs,
        **part.facts,
    }
    if part.model:
        attributes["mlflow.llm.model"] = part.model
        attributes["mlflow.chat.tokenUsage"] = _tokens(part.spend)
        attributes["mlflow.llm.cost"] = _cost(part.spend)
    return Span.from_dict(
        {
            "trace_id": base64.b64encode(key).decode(),
            "span_id": _span_id(number),
            "parent_span_id": _span_id(part.above) if number else None,
            "name": part.name,
            "start_time_unix_nano": _millis(part.begun) * 1_000_000,
            "end_time_unix_nano": _millis(part.ended) * 1_000_000,
            "events": [],
            "status": {
                "code": "STATUS_CODE_ERROR" if part.error else "STATUS_CODE_OK",
                "message": part.error,
            },
            "attributes": {name: json.dumps(value) for name, value in attributes.items()},
            "links": [],
        }
    )


def _span_id(number: int) -> str:
    return base64.b64encode((number + 1).to_bytes(8, "big")).decode()


def _tokens(spend: Spend) -> dict[str, int]:
    return {
        "input_tokens": spend.prompt_tokens,
        "output_tokens": spend.completion_tokens,
        "total_tokens": spend.tokens,
    }


def _cost(spend: Spend) -> dict[str, float]:
    return {"total_cost": spend.usd}


def _query(identity: Mapping[str, str]) -> str:
    return " and ".join(f"tags.`{key}` = '{value}'" for key, value in identity.items())


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)

"""Log runs, metrics, artifacts and traces to MLflow.

Writes are idempotent: runs are found by tags, metrics have their event's time, traces hashes as ids.
"""

import base64
import contextlib
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Literal, NamedTuple

from mlflow.entities import (
    Dataset,
    DatasetInput,
    InputTag,
    Metric,
    Param,
    RunTag,
    Span,
    TraceInfo,
    TraceLocation,
    TraceState,
)
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient
from mlflow.tracking import MlflowClient
from psutil import Process

from comind.adapters.mlflow.database import (
    database_path,
    require_database,
    tracking_server,
    tracking_uri,
)
from comind.adapters.mlflow.migrations import create_database, reported_migrations
from comind.adapters.mlflow.traces import Trace, TraceSpan
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.domain.spend import Spend
from comind.system.locks import exclusive

RunStatus = Literal["FINISHED", "FAILED", "KILLED"]
"""Of a run that has ended; KILLED: it was stopped, and can continue."""

_SETUP_SECONDS = 600
_PARAM_LENGTH = 500
_PREVIEW_LENGTH = 1000
_DIGEST_LENGTH = 32  # MLflow takes up to 36 characters
_SOURCE = {"mlflow.source.name": "comind solve", "mlflow.source.type": "LOCAL"}
PARENT = "mlflow.parentRunId"
"""Tag that names a run's parent."""
BENCH = "comind.bench"
"""Tag with the name of a bench, on its run and those of its campaigns."""
_CHAMPION, _MODEL = "champion", "model"


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a metric, with its time and step."""

    name: str
    value: float
    at: datetime
    step: int


@dataclass(frozen=True, slots=True)
class InputDataset:
    """A dataset that a run reads; `folder` is relative to the project, as DVC knows it."""

    name: str
    sha256: str
    folder: Path
    context: str
    """What it is used for, such as `training`."""
    profile: Mapping[str, int]
    """Numbers of its rows or items."""


class Gate(NamedTuple):
    """Whether a version becomes the champion of its model, and why."""

    passes: bool
    reason: str


@dataclass(frozen=True, slots=True)
class SolutionVersion:
    """A delivered solution to register."""

    name: str
    """Of the registered model; its versions are solutions of one competition."""
    files: Path
    loader: str
    """Module with the function `_load_pyfunc`."""
    config: Mapping[str, str]
    columns: tuple[str, ...]
    """Of the tables that it predicts."""
    tags: Mapping[str, str]
    description: str
    """What it costs to predict with it."""
    gate: Callable[[Mapping[str, str]], Gate]
    """Decides, by the tags of the champion's version, whether this one replaces it."""


class TrackedRun:
    """A run of MLflow."""

    def __init__(self, store: "TrackingStore", experiment: str, run_id: str) -> None:
        self._client = store.client
        self._traces = store.traces
        self._experiment = experiment
        self.id = run_id
        self.page = f"#/experiments/{experiment}/runs/{run_id}"
        """Path of its page in MLflow."""

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Log parameters that are not logged yet; values are truncated to 500 characters."""
        params = [Param(name, str(value)[:_PARAM_LENGTH]) for name, value in values.items()]
        try:
            self._client.log_batch(self.id, params=params)
        except MlflowException:  # an earlier version has logged another value, which MLflow keeps
            known = self._client.get_run(self.id).data.params
            self._client.log_batch(self.id, params=[each for each in params if each.key not in known])

    def set_tags(self, values: Mapping[str, object]) -> None:
        """Set tags."""
        self._client.log_batch(self.id, tags=[RunTag(k, str(v)) for k, v in values.items()])

    def log_metrics(self, points: Iterable[Point]) -> None:
        """Log metrics in one batch."""
        metrics = [Metric(p.name, float(p.value), _millis(p.at), p.step) for p in points]
        if metrics:
            self._client.log_batch(self.id, metrics=metrics)

    def log_input(self, dataset: InputDataset) -> None:
        """Log a dataset that the run reads; the same one is logged once."""
        logged = Dataset(
            dataset.name,
            dataset.sha256[:_DIGEST_LENGTH],
            source_type="local",
            source=json.dumps({"uri": dataset.folder.as_posix()}),
            profile=json.dumps(dict(dataset.profile)),
        )
        context = InputTag("mlflow.data.context", dataset.context)
        self._client.log_inputs(self.id, [DatasetInput(logged, [context])])

    def log_texts(self, files: Mapping[str, str]) -> None:
        """Log texts as artifacts, by file name."""
        for name, text in files.items():
            self._client.log_text(self.id, text, name)

    def log_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table as an artifact, in the format of `mlflow.log_table`; the last one counts."""
        self._client.log_text(self.id, json.dumps({"columns": columns, "data": rows}), name)
        listed = json.dumps([{"path": name, "type": "table"}])
        self._client.log_batch(self.id, tags=[RunTag("mlflow.loggedArtifacts", listed)])

    def log_artifact(self, path: Path, folder: str | None = None) -> None:
        """Log a file, or the files of a folder, as artifacts."""
        if path.is_dir():
            self._client.log_artifacts(self.id, str(path), folder)
        else:
            self._client.log_artifact(self.id, str(path), folder)

    def reopen(self) -> None:
        """Set the status to RUNNING."""
        self._client.update_run(self.id, status="RUNNING")

    def set_terminated(self, at: datetime, status: RunStatus) -> None:
        """Set the status of a run that has ended at a time."""
        self._client.set_terminated(self.id, status, _millis(at))

    def log_trace(self, trace: Trace) -> None:
        """Log a trace that belongs to this run; a trace of the same name is replaced."""
        key = hashlib.sha256(trace.name.encode()).digest()[:16]
        trace_id = f"tr-{key.hex()}"
        root = trace.root
        start, end = _millis(root.start), _millis(root.end)
        usage = {
            "mlflow.trace.tokenUsage": json.dumps(_tokens(trace.spend)),
            "mlflow.trace.cost": json.dumps({"total_cost": trace.spend.usd}),
        }
        info = TraceInfo(
            trace_id=trace_id,
            trace_location=TraceLocation.from_experiment_id(self._experiment),
            request_time=start,
            state=TraceState.ERROR if root.error else TraceState.OK,
            execution_duration=end - start,
            request_preview=trace.request[:_PREVIEW_LENGTH],
            response_preview=(root.error or trace.response)[:_PREVIEW_LENGTH],
            trace_metadata={"mlflow.sourceRun": self.id, **usage},
            tags={"mlflow.traceName": root.name, **trace.tags},
        )
        # Totals that are set here are final; spans do not add to them.
        self._traces.start_trace(info)
        numbered = enumerate((root, *trace.spans))
        spans = [_mlflow_span(key, trace_id, number, span) for number, span in numbered]
        self._traces.log_spans(self._experiment, spans)


class TrackingStore:
    """The runs and artifacts of one project, in its own database or on a tracking server."""

    def __init__(self, project: Path) -> None:
        """Open the database, or create it.

        Raises:
            OrchestrationError: the file is not a database.
        """
        self._artifacts = ProjectFolder(project).tracking
        self._artifacts.mkdir(parents=True, exist_ok=True)
        lock = self._artifacts / ".setup.lock"
        with exclusive(lock, _SETUP_SECONDS, "create MLflow's tables"), reported_migrations():
            if not tracking_server():
                require_database(project)
                create_database(database_path(project))
            self.client = MlflowClient(tracking_uri=tracking_uri(project))
        # The fluent API gives traces random ids, queues them, drops what fails, and takes 3 s for 60
        # spans (0.15 s here). This client accepts our ids, and replaces a trace of the same id.
        self.traces = TracingClient(tracking_uri=tracking_uri(project))

    def get_or_create_experiment(self, name: str) -> str:
        """Return the id of the experiment of this name."""
        found = self.client.get_experiment_by_name(name)
        if found is None:
            location = None if tracking_server() else (self._artifacts / name).absolute().as_uri()
            try:
                return str(self.client.create_experiment(name, location))
            except MlflowException:  # another process has created it meanwhile
                found = self.client.get_experiment_by_name(name)
                if found is None:
                    raise
        return str(found.experiment_id)

    def get_or_create_run(
        self,
        experiment: str,
        name: str,
        identity: Mapping[str, str],
        at: datetime,
        tags: Mapping[str, str],
        parent: TrackedRun | None = None,
    ) -> TrackedRun:
        """Return the run with the tags `identity`; a new one is created with all its tags at once."""
        for run in self.client.search_runs([experiment], _query(identity)):
            if _is_child(run.data.tags) == (parent is not None):
                return TrackedRun(self, experiment, str(run.info.run_id))
        family = {PARENT: parent.id} if parent else {}
        written = {**_SOURCE, "mlflow.user": Process().username(), **identity, **tags, **family}
        made = self.client.create_run(experiment, _millis(at), written, run_name=name)
        return TrackedRun(self, experiment, str(made.info.run_id))

    def find_run_id(self, identity: Mapping[str, str]) -> str | None:
        """Return the id of the parent run with these tags, or None."""
        return next((run_id for run_id, tags in self.search_runs(identity) if not _is_child(tags)), None)

    def search_runs(
        self, identity: Mapping[str, str], status: str = ""
    ) -> list[tuple[str, Mapping[str, str]]]:
        """Return ids and tags of all runs with these tags, or of this status, newest first."""
        query = f"attributes.status = '{status}'" if status else _query(identity)
        experiments = [each.experiment_id for each in self.client.search_experiments()]
        found, token = [], None
        while True:
            page = self.client.search_runs(experiments, query, page_token=token)
            found += [(str(run.info.run_id), run.data.tags) for run in page]
            token = page.token
            if not token:
                return found

    def adopt(self, run_id: str, parent: TrackedRun, bench: str, tags: Mapping[str, str]) -> None:
        """Make a campaign's run a child of the run of its bench."""
        TrackedRun(self, "", run_id).set_tags({PARENT: parent.id, BENCH: bench, **tags})

    def delete_run(self, run_id: str) -> None:
        """Delete a run, which `mlflow gc` removes, and the registered model that is its artifact."""
        for each in self.client.search_model_versions(f"run_id = '{run_id}'"):
            self.client.delete_model_version(each.name, str(each.version))
        self.client.delete_run(run_id)

    def register(self, run: TrackedRun, solution: SolutionVersion) -> str:
        """Register a run's solution, once; returns its version.

        The alias `champion` moves to it if no version has it, or if the solution's gate passes; the
        version's tag `comind.gate` has the reason.
        """
        known = self.client.search_model_versions(f"name = '{solution.name}'")
        same = [each for each in known if each.run_id == run.id]
        number = str(same[0].version) if same else self._create_version(run, solution)
        champion_number = str(self.client.get_registered_model(solution.name).aliases.get(_CHAMPION))
        champion = next((each for each in known if str(each.version) == champion_number), None)
        if champion_number == number:
            return number
        gate = (
            solution.gate(champion.tags) if champion else Gate(passes=True, reason="the first version")
        )
        self.client.set_model_version_tag(solution.name, number, "comind.gate", gate.reason)
        if gate.passes:
            self.client.set_registered_model_alias(solution.name, _CHAMPION, number)
        return number

    def _create_version(self, run: TrackedRun, solution: SolutionVersion) -> str:
        with tempfile.TemporaryDirectory(prefix="comind-model-") as place:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # no example, which would run it; any type
                _save_pyfunc(solution, Path(place) / _MODEL)
            run.log_artifact(Path(place) / _MODEL, _MODEL)
        if not self.client.search_registered_models(f"name = '{solution.name}'"):
            with contextlib.suppress(MlflowException):  # another process has created it meanwhile
                self.client.create_registered_model(solution.name)
        source, tags = f"runs:/{run.id}/{_MODEL}", dict(solution.tags)
        created = self.client.create_model_version(
            solution.name, source, run.id, tags, description=solution.description
        )
        return str(created.version)


def _save_pyfunc(solution: SolutionVersion, target: Path) -> None:
    from mlflow import pyfunc  # takes a second
    from mlflow.models import ModelSignature
    from mlflow.types.schema import AnyType, ColSpec, Schema

    columns = Schema([ColSpec(AnyType(), name) for name in solution.columns])
    pinned = [f"{name}=={version(name)}" for name in ("mlflow", "pandas")]
    # As MLflow derives it, but without the version of pip: not every environment has one.
    needed = [f"python={python_version()}", "pip", {"pip": pinned}]
    pyfunc.save_model(
        str(target),
        loader_module=solution.loader,
        data_path=str(solution.files),
        model_config=dict(solution.config),
        signature=ModelSignature(inputs=columns),
        conda_env={"name": "mlflow-env", "channels": ["conda-forge"], "dependencies": needed},
    )


def _mlflow_span(key: bytes, trace_id: str, number: int, span: TraceSpan) -> Any:
    """Convert a span; number 0 is the root."""
    attributes: dict[str, object] = {
        "mlflow.traceRequestId": trace_id,
        "mlflow.spanType": span.span_type,
        "mlflow.spanInputs": span.inputs,
        "mlflow.spanOutputs": span.outputs,
        **span.attributes,
    }
    if span.model:
        attributes["mlflow.llm.model"] = span.model
        attributes["mlflow.chat.tokenUsage"] = _tokens(span.spend)
        attributes["mlflow.llm.cost"] = {"total_cost": span.spend.usd}
    return Span.from_dict(
        {
            "trace_id": base64.b64encode(key).decode(),
            "span_id": _span_id(number),
            "parent_span_id": _span_id(span.parent) if number else None,
            "name": span.name,
            "start_time_unix_nano": _millis(span.start) * 1_000_000,
            "end_time_unix_nano": _millis(span.end) * 1_000_000,
            "events": [],
            "status": {
                "code": "STATUS_CODE_ERROR" if span.error else "STATUS_CODE_OK",
                "message": span.error,
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


def _query(identity: Mapping[str, str]) -> str:
    return " and ".join(f"tags.`{key}` = '{value}'" for key, value in identity.items())


def _is_child(tags: Mapping[str, str]) -> bool:
    """Return whether a run is that of an attempt; a campaign's run may have a bench's as its parent."""
    return PARENT in tags and BENCH not in tags


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)

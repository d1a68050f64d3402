"""MLflow is a projection of the logs: idempotent, and rebuilt from an empty database."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient
from prefect.exceptions import TerminationSignal

from comind.adapters.mlflow.campaign import CampaignTracker
from comind.adapters.mlflow.campaign_runs import campaign_pages, campaign_run_id, stop_killed_runs
from comind.adapters.mlflow.database import database_uri, tracking_uri
from comind.adapters.mlflow.server_errors import require_server
from comind.app.projections import Projections
from comind.campaign.log.campaign_events import (
    AttemptRejected,
    CampaignEnded,
    SplitMade,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome, Failure, FailureCause, Submitted
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    CallAnswered,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    MonitorAsked,
    MonitorHeard,
    RequestFailed,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.loop import Campaign
from comind.campaign.work.hand_in import FilesHandedIn
from comind.domain.spend import Budget, Spend
from comind.errors import OrchestrationError
from comind.eventlog.log import EventLog
from comind.grading.grader_port import GradeReport, ScoreBreakdown, SubsetScore
from comind.llm.model_ports import ModelReply, Usage
from comind.servers.tool_servers import free_port
from comind.session.session_ports import CellResult, CellStatus
from comind.system.health import answers
from comind.testing import ScriptedModel
from tests.e2e.command import begin_tracking
from tests.unit.campaign.blending import BlendingWorld, program
from tests.unit.campaign.samples import code, score, scored
from tests.unit.campaign.world import World, hand_in, on_sample, reply

_SPLIT = SplitMade(
    key="demo-1",
    public_sha256="a",
    sealed_sha256="b",
    metric="accuracy",
    maximize=True,
    validation_rows=3,
    warnings=("validation is easier than test: for a reason",),
)
_CUT_OFF = "no result was recorded: the process or the attempt ended while the cell was under way"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a finished campaign of the tiny agent and an up-to-date MLflow."""
    root = tmp_path_factory.mktemp("tracked project")  # with a space in its name
    world = World(root)
    campaign = world.campaign(pick="best", folds=1)
    campaign.record(_SPLIT)
    world.run(campaign)
    CampaignTracker(root, world.folder.name).sync()
    return root


def _everything(project: Path) -> list[dict[str, Any]]:
    """Return all content of MLflow, except ids."""
    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiment = client.get_experiment_by_name("demo")
    assert experiment is not None
    found = []
    for run in client.search_runs([experiment.experiment_id]):
        tags = {key: value for key, value in run.data.tags.items() if key.startswith("comind.")}
        history = {
            name: [
                (m.value, m.step, m.timestamp) for m in client.get_metric_history(run.info.run_id, name)
            ]
            for name in run.data.metrics
        }
        found.append(
            {
                "name": run.info.run_name,
                "status": run.info.status,
                "times": (run.info.start_time, run.info.end_time),
                "tags": tags,
                "params": run.data.params,
                "metrics": history,
                "inputs": [
                    (i.dataset.name, i.dataset.digest, i.dataset.source, i.tags[0].value)
                    for i in run.inputs.dataset_inputs
                ],
                "artifacts": sorted(a.path for a in client.list_artifacts(run.info.run_id)),
            }
        )
    traces = [
        {
            "name": f"trace of {trace.info.tags['comind.work']}",
            "trace": trace.info.trace_id,
            "state": trace.info.state,
            "times": (trace.info.request_time, trace.info.execution_duration),
            "usage": trace.info.token_usage,
            "run": client.get_run(trace.info.trace_metadata["mlflow.sourceRun"]).info.run_name,
            "spans": [
                (s.name, s.span_type, s.inputs, s.outputs, s.status.description, s.start_time_ns)
                for s in trace.data.spans
            ],
        }
        for trace in client.search_traces([experiment.experiment_id])
    ]
    return sorted(found + traces, key=lambda run: str(run["name"]))


def test_a_campaign_and_its_attempts_are_runs(project: Path) -> None:
    """The parent holds the best score and totals, each child its score, steps, spend and artifacts."""
    runs = {run["name"]: run for run in _everything(project) if "trace" not in run}
    assert sorted(runs) == ["attempt-000", "attempt-001", "attempt-002", "demo-tiny-1"]
    parent, child = runs["demo-tiny-1"], runs["attempt-001"]
    assert parent["metrics"]["best_score"][-1][0] == 0.95
    assert [value for value, _, _ in parent["metrics"]["validation_score"]] == [0.95]
    assert not [value for value in parent["params"].values() if value.startswith("{")]
    assert parent["metrics"]["valid_attempts"][-1][0] == 3
    assert parent["tags"]["comind.picked"] == "attempt-001"
    assert parent["tags"]["comind.folds"].startswith("none: fewer than two")
    assert parent["tags"]["comind.pick_evidence"].startswith("over 99% sure that no other is better")
    assert parent["metrics"]["pick/confidence"][-1][0] == 1.0
    assert parent["metrics"]["pick/folds"][-1][0] == 0.0
    assert parent["tags"]["comind.ended"] == "done: all iterations are over"
    assert parent["tags"]["comind.model_version"].startswith("none: no run of the script of ")
    assert parent["params"]["split.metric"] == "accuracy"
    source = f'{{"uri": "data/splits/{_SPLIT.key}/public"}}'
    assert parent["inputs"] == [(_SPLIT.key, _SPLIT.public_sha256[:32], source, "training")]
    assert child["inputs"] == parent["inputs"]
    assert parent["tags"]["comind.split_warning"] == _SPLIT.warnings[0]
    assert parent["metrics"]["gradings"][-1][0] == 5
    assert [step for _, step, _ in parent["metrics"]["gradings"]] == sorted(
        step for _, step, _ in parent["metrics"]["gradings"]
    )
    assert parent["tags"]["comind.tuning_warning"] == "none"
    assert child["status"] == "FINISHED"
    assert child["tags"]["comind.parents"] == "attempt-000"
    assert [value for value, _, _ in child["metrics"]["step/score"]] == [0.95, 0.9]
    assert child["metrics"]["prompt_tokens"][0][0] == 200
    assert child["metrics"]["source_lines"][0][0] == 1
    assert child["tags"]["comind.threads"] == "1"
    assert child["artifacts"] == [
        "code.py",
        "draft.json",
        "log.jsonl",
        "notebook.ipynb",
        "report.md",
        "submissions",
    ]


def test_curves_of_a_program_are_metrics_of_its_attempt(tmp_path: Path) -> None:
    """What a program writes to metrics.jsonl is logged by step, and a line of another form is named."""
    world = World(tmp_path)
    with world.campaign() as campaign:
        campaign.record(_SPLIT)
        work_id = campaign.plan(code())
        folder = world.folder.work(work_id)
        folder.workspace.mkdir(parents=True)
        (folder.workspace / "metrics.jsonl").write_text(
            '{"step": 5, "loss": 0.5}\n' * 2 + '{"loss": 0.25}\nx\n'
        )
        outcome = CodeOutcome(steps=1, spend=Spend(seconds=1))
        with EventLog(folder.log, WORK_EVENTS) as log:
            log.append(WorkEnded(outcome=outcome))
        campaign.record(WorkFinished(id=work_id, outcome=outcome))
    CampaignTracker(tmp_path, world.folder.name).sync()
    (run,) = (each for each in _everything(tmp_path) if each["name"] == work_id)
    assert [(value, step) for value, step, _ in run["metrics"]["training/loss"]] == [(0.25, 2), (0.5, 5)]
    assert run["tags"]["comind.training_curves"] == "metrics.jsonl, line 4: no JSON object of numbers"


def test_the_validation_score_is_that_of_a_delivered_blend(tmp_path: Path) -> None:
    """`best_score` is of the best attempt; the score of the campaign is of what it delivers."""
    world = BlendingWorld.of(tmp_path, [program(seed, 0.5) for seed in range(6)])
    campaign = world.campaign(blend=True, coders=1)
    campaign.record(_SPLIT.model_copy(update={"metric": "rmse", "maximize": False}))
    state = world.run(campaign)
    blend = state.works.blend()
    assert blend is not None
    assert blend.score is not None
    assert state.best is not None
    CampaignTracker(tmp_path, world.folder.name).sync()
    (parent,) = (run for run in _everything(tmp_path) if run["name"] == world.folder.name)
    last = {name: values[-1][0] for name, values in parent["metrics"].items()}
    assert last["validation_score"] == blend.score.value.value
    assert last["validation_score_low"] == blend.score.interval.low
    assert last["best_score"] == state.best.score.value.value > last["validation_score"]


def test_the_best_score_is_a_curve_over_attempts(project: Path) -> None:
    """The best score so far is a metric by number of finished attempts."""
    (parent,) = (run for run in _everything(project) if run["name"] == "demo-tiny-1")
    assert [(step, value) for value, step, _ in parent["metrics"]["best_score"]] == [
        (1, 0.9),
        (2, 0.95),
        (3, 0.95),
    ]
    assert "attempts.csv" in parent["artifacts"]


def test_each_attempt_has_one_trace(project: Path) -> None:
    """Its calls and cells are spans at their own times, with messages, reply and tokens."""
    traces = {each["run"]: each for each in _everything(project) if "trace" in each}
    assert sorted(traces) == ["attempt-000", "attempt-001", "attempt-002"]
    trace = traces["attempt-001"]
    names = [(name, kind) for name, kind, *_ in trace["spans"]]
    step = [("coding_agent", "CHAT_MODEL"), ("step 1", "TOOL")]
    assert names == [("attempt-001", "AGENT"), *step, step[0], ("step 2", "TOOL")]
    _, _, asked, replied, error, begun = trace["spans"][1]
    assert [each["role"] for each in asked["messages"]] == ["user"]
    assert asked["messages"][0]["content"].startswith("improvement")
    (choice,) = replied["choices"]
    assert choice["message"] == {"role": "assistant", "content": '{"code": "better"}'}
    assert error == ""
    assert begun >= trace["times"][0] * 1_000_000
    assert trace["usage"]["input_tokens"] == 200


def test_traces_are_found_by_text_of_their_messages(project: Path) -> None:
    """MLflow searches the messages of requests."""
    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiment = client.get_experiment_by_name("demo")
    assert experiment is not None
    found = client.search_traces(
        [experiment.experiment_id], filter_string="span.content LIKE '%role%user%improvement of%'"
    )
    assert {each.info.tags["comind.work"] for each in found} == {"attempt-001", "attempt-002"}


_BOUND = Usage(prompt_tokens=200, completion_tokens=100, usd=0.5)
_REPLY = ModelReply(text="{}", model="m", usage=Usage(prompt_tokens=20, completion_tokens=3, usd=0.25))
_SENT = CallSent(ordinal=0, fingerprint="f" * 64, role="coding_agent", model="m", bound=_BOUND)
_STARTED = CellStarted(ordinal=1, step=1, goal="Fit.", code="fit()")
_ASKED = MonitorAsked(seconds=20, evidence=(), fingerprint="e" * 64, model="small", bound=_BOUND)
_EVENTFUL: tuple[WorkEvent, ...] = (
    *(_SENT, _SENT),  # killed in between
    RequestFailed(message="busy", booked=Usage()),
    RequestFailed(message="broken off", booked=_BOUND),
    CallAnswered(ordinal=0, reply=_REPLY),
    *(_STARTED, _ASKED, MonitorHeard(seconds=21, reply=_REPLY), _ASKED),
    *(_STARTED, _ASKED),  # killed in between
    MonitorHeard(seconds=30, failure="the cell had ended before the model answered", lost=True),
    CellEnded(ordinal=1, result=CellResult(status=CellStatus.OK)),
)


def test_spans_of_a_trace_cost_what_its_run_cost(tmp_path: Path) -> None:
    """Spans sum up to the run's tokens and dollars, with retries, lost and monitor's calls."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(_SPLIT)
    campaign.record(WorkPlanned(id="attempt-000", work=code()))
    with EventLog(world.folder.work("attempt-000").log, WORK_EVENTS) as log:
        for event in _EVENTFUL:
            log.append(event)
        outcome = CodeOutcome(spend=Spend(seconds=5))  # told by a worker that did not see its whole log
        log.append(WorkEnded(outcome=outcome))
    campaign.record(WorkFinished(id="attempt-000", outcome=outcome))
    campaign.close()
    CampaignTracker(tmp_path, world.folder.name).sync()

    (run,) = (run for run in _everything(tmp_path) if run["name"] == "attempt-000")
    client = MlflowClient(tracking_uri=tracking_uri(tmp_path))
    (trace,) = client.search_traces([client.get_experiment_by_name("demo").experiment_id])
    attributes = [span.attributes for span in trace.data.spans if span.span_type != "TOOL"]
    tokens = [each.get("mlflow.chat.tokenUsage", {}) for each in attributes]
    dollars = [each.get("mlflow.llm.cost", {}) for each in attributes]
    metrics = {name: history[-1][0] for name, history in run["metrics"].items()}
    assert metrics["prompt_tokens"] == 4 * 200 + 2 * 20 == trace.info.token_usage["input_tokens"]
    assert metrics["usd"] == 4 * 0.5 + 2 * 0.25 == sum(each.get("total_cost", 0) for each in dollars)
    for name, count in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        assert metrics[name] == sum(each.get(count, 0) for each in tokens)
    assert (metrics["calls"], metrics["lost_calls"], metrics["retries"]) == (5, 3, 2)
    assert metrics["seconds"] == 5

    spans = {span.span_id: span for span in trace.data.spans}
    asked = [span for span in trace.data.spans if span.name == "monitor"]
    assert [span.span_type for span in asked] == ["LLM"] * 3
    cells = [spans[span.parent_id] for span in asked]
    assert [cell.name for cell in cells] == ["step 1"] * 3
    assert [cell.status.description for cell in cells] == [*[_CUT_OFF] * 2, ""]


def test_parts_of_a_score_are_curves(tmp_path: Path) -> None:
    """Each part is a metric of its step, under a valid name for any column."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(_SPLIT)
    campaign.record(WorkPlanned(id="attempt-000", work=code()))
    worst = (
        SubsetScore(name="../x (mm)", value=0.5, share=0.5),
        SubsetScore(name="ÿ.2", value=0.25, share=0.5),
    )
    parts = (ScoreBreakdown(by="target", count=2, worst=worst),)
    submitted = Submitted(step=1, validation_sha256="a", test_sha256="b")
    report = GradeReport(valid=True, score=score(0.7), parts=parts)
    with EventLog(world.folder.work("attempt-000").log, WORK_EVENTS) as log:
        for event in (_STARTED, Graded(ordinal=2, submitted=submitted, report=report)):
            log.append(event)
    campaign.close()
    CampaignTracker(tmp_path, world.folder.name).sync()
    (run,) = (run for run in _everything(tmp_path) if run["name"] == "attempt-000")
    found = {name: each[0][:2] for name, each in run["metrics"].items() if "/part/" in name}
    assert found == {
        "step/part/target/___x _mm_": (0.5, 1),
        "step/part/target/ÿ_2": (0.25, 1),
    }


def test_scores_on_the_sample_are_metrics_of_their_own(tmp_path: Path) -> None:
    """No curve of full scores has one."""
    few = "fit('input/sample/train.csv')"
    cells = {"good": hand_in("0.9"), few: on_sample("0.99")}
    world = World(tmp_path, cells=cells, hand_in=FilesHandedIn(sample=True))
    world.model = ScriptedModel([reply("good"), reply(few)])
    campaign = world.campaign(iterations=0)
    campaign.record(_SPLIT)
    world.run(campaign)
    CampaignTracker(tmp_path, world.folder.name).sync()
    (run,) = (run for run in _everything(tmp_path) if run["name"] == "attempt-000")
    found = {name: [each[0] for each in history] for name, history in run["metrics"].items()}
    assert (found["step/score"], found["step/sample_score"], found["score"]) == ([0.9], [0.99], [0.9])


def test_out_of_fold_scores_and_predictions_are_tracked(tmp_path: Path) -> None:
    """Out-of-fold scores are metrics of their own, and the predictions are an artifact."""
    world = World(tmp_path, cells={"good": hand_in("0.9", out_of_fold="0.8")})
    campaign = world.campaign(iterations=0)
    campaign.record(_SPLIT)
    world.run(campaign)
    CampaignTracker(tmp_path, world.folder.name).sync()
    (run,) = (run for run in _everything(tmp_path) if run["name"] == "attempt-000")
    metrics = {name: history[-1][0] for name, history in run["metrics"].items()}
    assert (metrics["step/score"], metrics["step/out_of_fold"]) == (0.9, 0.8)
    assert (metrics["score"], metrics["out_of_fold"]) == (0.9, 0.8)
    kept = sorted((tmp_path / "mlruns").rglob("out_of_fold.csv"))
    assert [path.read_text() for path in kept] == ["0.8"]


def test_rejections_are_tags(tmp_path: Path) -> None:
    """Of the attempt's run, whether it was rejected with its outcome or later."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(_SPLIT)
    for number, rejected in enumerate(("", "the checker: it leaks")):
        name, outcome = f"attempt-00{number}", scored(0.9).model_copy(update={"rejected": rejected})
        campaign.record(WorkPlanned(id=name, work=code()))
        with EventLog(world.folder.work(name).log, WORK_EVENTS) as log:
            log.append(WorkEnded(outcome=outcome))
        campaign.record(WorkFinished(id=name, outcome=outcome))
    campaign.record(AttemptRejected(id="attempt-000", reason="the verifier: it leaks"))
    campaign.close()
    CampaignTracker(tmp_path, world.folder.name).sync()
    tags = {run["name"]: run.get("tags", {}).get("comind.rejected") for run in _everything(tmp_path)}
    assert tags["attempt-000"] == "the verifier: it leaks"
    assert tags["attempt-001"] == "the checker: it leaks"


def test_the_traceback_of_a_failure_is_an_artifact(tmp_path: Path) -> None:
    """Of the run of an attempt that failed by a bug."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(_SPLIT)
    campaign.record(WorkPlanned(id="attempt-000", work=code()))
    failure = Failure(cause=FailureCause.INTERNAL, message="KeyError: 'x'", traceback="a traceback\n")
    with EventLog(world.folder.work("attempt-000").log, WORK_EVENTS) as log:
        log.append(WorkEnded(outcome=CodeOutcome(failure=failure)))
    campaign.close()
    CampaignTracker(tmp_path, world.folder.name).sync()
    kept = sorted((tmp_path / "mlruns").rglob("traceback.txt"))
    assert [path.read_text() for path in kept] == ["a traceback\n"]


def test_the_budget_is_told_as_it_goes(tmp_path: Path) -> None:
    """The spent share of each limit is a metric; reaching 50 % and 80 % sets a tag."""
    world = World(tmp_path, budget=Budget(seconds=3_600, tokens=1_000))
    campaign = world.campaign()
    campaign.record(_SPLIT)
    state = world.run(campaign)
    CampaignTracker(tmp_path, world.folder.name).sync()
    (parent,) = (run for run in _everything(tmp_path) if run["name"] == "demo-tiny-1")
    curve = [value for value, _, _ in parent["metrics"]["budget/tokens"]]
    assert curve == sorted(curve)
    assert curve[-1] == state.spend.tokens / 1_000
    assert 0.5 <= curve[-1] < 0.8
    assert parent["tags"]["comind.budget"] == "50% of 1000 tokens are spent"
    assert "budget/dollars" not in parent["metrics"]


def test_the_pointer_to_the_solution_follows(project: Path, tmp_path: Path) -> None:
    """Once DVC has versioned what an attempt published, the pointer is an artifact of its run."""
    shutil.copytree(project / "runs", tmp_path / "runs")
    tracker = CampaignTracker(tmp_path, "demo-tiny-1")
    tracker.sync()
    pointer = ProjectFolder(tmp_path).solution("demo-tiny-1", "attempt-001").with_suffix(".dvc")
    pointer.parent.mkdir(parents=True)
    pointer.write_text("outs: []\n")
    tracker.sync()
    files = {run["name"]: run["artifacts"] for run in _everything(tmp_path) if "artifacts" in run}
    assert "checkpoints.dvc" in files["attempt-001"]
    assert "checkpoints.dvc" not in files["attempt-002"]


def test_the_newest_campaigns_have_pages(project: Path) -> None:
    """The page of a campaign is that of its run, as MLflow itself prints it."""
    ((campaign, page, _),) = campaign_pages(project, 5)
    assert campaign == "demo-tiny-1"
    assert page.endswith(f"/runs/{campaign_run_id(project, campaign)}")


def test_tracking_again_changes_nothing(project: Path) -> None:
    """A second projection of the same logs, as after a crash, does not change MLflow."""
    before = _everything(project)
    CampaignTracker(project, "demo-tiny-1").sync()
    assert _everything(project) == before


def test_mlflow_is_rebuilt_from_the_logs(project: Path, tmp_path: Path) -> None:
    """With an empty database, the same logs give the same runs."""
    shutil.copytree(project / "runs", tmp_path / "runs")
    CampaignTracker(tmp_path, "demo-tiny-1").sync()
    assert _everything(tmp_path) == _everything(project)
    assert campaign_run_id(tmp_path, "demo-tiny-1") is not None
    assert campaign_run_id(tmp_path, "another") is None


def test_parameters_in_words_of_an_earlier_version_stay(project: Path, tmp_path: Path) -> None:
    """MLflow changes no parameter, so a run keeps those it has, and gets those it lacks."""
    shutil.copytree(project / "runs", tmp_path / "runs")
    CampaignTracker(tmp_path, "demo-tiny-1").sync()
    with contextlib.closing(sqlite3.connect(tracking_uri(tmp_path).removeprefix("sqlite:///"))) as base:
        base.execute("UPDATE params SET value = 'some' WHERE key = 'folds'")
        base.execute("DELETE FROM params WHERE key = 'steps'")
        base.commit()
    CampaignTracker(tmp_path, "demo-tiny-1").sync()
    client = MlflowClient(tracking_uri=tracking_uri(tmp_path))
    run_id = campaign_run_id(tmp_path, "demo-tiny-1")
    assert run_id is not None
    params = client.get_run(run_id).data.params
    assert (params["folds"], params["steps"]) == ("some", "2")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A tracking server of MLflow with a database and a folder of artifacts of its own."""
    address = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "mlflow", "server", "--port", address.rpartition(":")[2]]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{tmp_path}/server.db"]
    command += ["--artifacts-destination", str(tmp_path / "artifacts")]
    settings = {
        **os.environ,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_SERVER_ALLOWED_HOSTS": "127.0.0.1:*",
    }
    process = subprocess.Popen(command, env=settings, start_new_session=True)
    try:
        end = time.monotonic() + 60
        while not answers(f"{address}/health"):
            assert time.monotonic() < end
            time.sleep(0.1)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_gets_what_the_database_would(
    project: Path, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`MLFLOW_TRACKING_URI` names a server, which keeps runs, traces and artifacts."""
    expected = _everything(project)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    shutil.copytree(project / "runs", tmp_path / "runs")
    CampaignTracker(tmp_path, "demo-tiny-1").sync()
    assert _everything(tmp_path) == expected
    assert list((tmp_path / "artifacts").rglob("leaderboard.csv"))
    assert not list(tmp_path.rglob("mlflow.db"))


def test_a_server_that_does_not_answer_is_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign halts with it, and continues once the server is back."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(OrchestrationError, match=r"^MLflow's server .*:9 does not answer$") as error:
        CampaignTracker(project, "demo-tiny-1").sync()
    assert error.value.hint == "start it, or unset MLFLOW_TRACKING_URI"


def test_a_server_that_refuses_is_one_line(
    project: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow refuses addresses that it was not started with, but for its health check."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    assert require_server() == server
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.replace("127.0.0.1", "localhost"))
    refuses = r"^a request to MLflow's server http://localhost:\d+ failed: .*Invalid Host header"
    for request in (require_server, CampaignTracker(project, "demo-tiny-1").sync):
        with pytest.raises(OrchestrationError, match=refuses) as error:
            request()
        assert error.value.hint.startswith("start it with MLFLOW_SERVER_ALLOWED_HOSTS")


def test_another_database_is_not_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URI that is set for some other program does not move the project's runs."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////somewhere/mlflow.db")
    assert tracking_uri(tmp_path) == database_uri(tmp_path)


def _statuses(project: Path) -> dict[str, str]:
    return {run["name"]: run["status"] for run in _everything(project) if "status" in run}


def _interrupted(root: Path) -> World:
    """Return a world whose campaign has one attempt that has ended, and one under way."""
    begin_tracking(root)
    world = World(root)
    with world.campaign() as campaign:
        campaign.record(_SPLIT)
        done, _ = campaign.plan(code()), campaign.plan(code())
        spend = Spend(seconds=1)
        outcome = CodeOutcome(steps=1, spend=spend)
        with EventLog(world.folder.work(done).log, WORK_EVENTS) as log:
            log.append(WorkEnded(outcome=outcome))
        campaign.record(WorkFinished(id=done, outcome=outcome))
    return world


def test_runs_of_a_stopped_campaign_are_killed_until_it_resumes(tmp_path: Path) -> None:
    """What is stopped can continue; a fault fails the campaign, and an attempt's own end stays."""
    world = _interrupted(tmp_path)
    tracker = CampaignTracker(tmp_path, world.folder.name)
    tracker.sync()
    assert _statuses(tmp_path)["demo-tiny-1"] == "RUNNING"
    tracker.stop()
    done, under_way = "attempt-000", "attempt-001"
    assert _statuses(tmp_path) == {"demo-tiny-1": "KILLED", done: "FAILED", under_way: "KILLED"}
    with Campaign(world.folder) as campaign:
        campaign.resume()
        resumed = CampaignTracker(tmp_path, world.folder.name)
        resumed.sync()
        assert _statuses(tmp_path) == {"demo-tiny-1": "RUNNING", done: "FAILED", under_way: "RUNNING"}
        resumed.stop(failed=True)
        assert _statuses(tmp_path) == {"demo-tiny-1": "FAILED", done: "FAILED", under_way: "KILLED"}
        campaign.record(CampaignEnded(reason="budget", detail="the time is over"))
        resumed.sync()
        assert _statuses(tmp_path)["demo-tiny-1"] == "FAILED", "it has no submission"


def test_runs_of_a_killed_campaign_are_closed_by_the_next_command(tmp_path: Path) -> None:
    """Only where no process writes the log, and as the log says."""
    world = _interrupted(tmp_path)
    name = world.folder.name
    CampaignTracker(tmp_path, name).sync()
    with Campaign(world.folder):
        assert stop_killed_runs(tmp_path) == []
    assert stop_killed_runs(tmp_path, going_on=[name]) == []
    assert _statuses(tmp_path)[name] == "RUNNING"
    assert stop_killed_runs(tmp_path) == [name]
    assert _statuses(tmp_path) == {name: "KILLED", "attempt-000": "FAILED", "attempt-001": "KILLED"}
    assert stop_killed_runs(tmp_path) == []


def test_a_signal_of_prefect_stops_the_runs(tmp_path: Path) -> None:
    """A worker ends a flow by an exception that is no error; the runs in MLflow are stopped at once."""
    world = _interrupted(tmp_path)
    projections = Projections(tmp_path, world.folder.name, lambda _state: None)
    projections.track()
    with pytest.raises(TerminationSignal), projections.written_at_end(projections.write):
        raise TerminationSignal(signal.SIGTERM)
    assert _statuses(tmp_path)[world.folder.name] == "KILLED"


def test_the_checks_of_the_split_are_artifacts(tmp_path: Path) -> None:
    """The expectations on the tables and their page are logged; a split without them is no error."""
    world = World(tmp_path)
    campaign = world.campaign(pick="best", folds=1)
    campaign.record(_SPLIT)
    CampaignTracker(tmp_path, world.folder.name).sync()
    client = MlflowClient(tracking_uri=tracking_uri(tmp_path))
    run = campaign_run_id(tmp_path, world.folder.name)
    assert run is not None
    assert client.list_artifacts(run, "checks") == []
    checks = ProjectFolder(tmp_path).splits / _SPLIT.key / "checks"
    checks.mkdir(parents=True)
    for name in ("index.html", "train.suite.json"):
        (checks / name).write_text(name)
    CampaignTracker(tmp_path, world.folder.name).sync()
    found = [artifact.path for artifact in client.list_artifacts(run, "checks")]
    assert found == ["checks/index.html", "checks/train.suite.json"]

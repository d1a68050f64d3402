"""From a competition to a submission, through the real command line."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient

from comind.adapters.mlflow.database import tracking_uri
from comind.campaign.log.campaign_folders import ProjectFolder
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import status
from tests.e2e.command import QUIET, Ran, comind
from tests.e2e.prefect_graph import filtered, wait_for_steps

_CONTRACT = {
    "campaign",
    "competition",
    "agent",
    "model",
    "submission",
    "best_from",
    "validation_score",
    "validation_interval",
    "metric",
    "maximize",
    "attempts",
    "valid_attempts",
    "seconds",
    "tokens",
    "usd",
    "mlflow_run_id",
    "dvc_rev",
    "sealed",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> tuple[Path, Ran]:
    """A project, with a space in its name, in which a demo was solved offline."""
    project = tmp_path_factory.mktemp("my project")
    alone = ("--model", "offline", "--iterations", "1")
    ran = comind("solve", "demo-tumours", *alone, "--out", project, "--json")
    assert ran.exit_code == 0, ran.stderr
    return project, ran


@pytest.fixture
def solved(ended: tuple[Path, Ran]) -> tuple[Path, dict[str, Any]]:
    """The project, and the JSON that the command printed."""
    project, ran = ended
    return project, ran.json


def test_the_answer_has_the_promised_keys(solved: tuple[Path, dict[str, Any]]) -> None:
    """`--json` prints one object with every key of the contract, and nothing else on stdout."""
    _, answer = solved
    assert set(answer) >= _CONTRACT
    assert (answer["agent"], answer["best_from"]) == ("baseline", "baseline")
    assert answer["campaign"].startswith("demo-tumours-baseline-")
    assert answer["sealed"] is True
    low, high = answer["validation_interval"]
    assert low < answer["validation_score"] <= high
    assert (answer["attempts"], answer["valid_attempts"]) == (1, 1)
    assert answer["gradings"] >= 1


def test_without_a_model_nobody_reads_or_thinks(solved: tuple[Path, dict[str, Any]]) -> None:
    """The baseline alone leaves one attempt and its refit; the competition's community is not kept."""
    project, _ = solved
    work = sorted(path.parent.name for path in (project / "runs").glob("*/*/log.jsonl"))
    assert work == ["attempt-000", "refit-000"]
    assert not (project / "data" / "community").exists()


def test_the_submission_is_as_good_as_it_says(solved: tuple[Path, dict[str, Any]]) -> None:
    """Graded on the true answers, the submission scores within what validation promised."""
    project, answer = solved
    demo = project / "data" / "demos" / "demo-tumours"
    ran = comind("grade", demo, answer["submission"], "--json")
    assert ran.exit_code == 0
    assert ran.json["valid"]
    assert ran.json["score"] > 0.9


def test_the_start_of_a_campaign_counts_in_its_time(solved: tuple[Path, dict[str, Any]]) -> None:
    """The start of the server, the environment and the split are part of the time budget."""
    project, answer = solved
    lines = (project / "runs" / answer["campaign"] / "log.jsonl").read_text().splitlines()
    elapsed = {line["event"]["type"]: line["elapsed"] for line in map(json.loads, reversed(lines))}
    assert elapsed["campaign-opened"] + 0.5 < elapsed["split-made"] < elapsed["work-planned"]
    assert elapsed["work-planned"] < answer["seconds"]


def test_everything_of_a_campaign_is_versioned(solved: tuple[Path, dict[str, Any]]) -> None:
    """The campaign's commit holds logs and pointers; labels and data are only behind DVC pointers."""
    project, answer = solved
    listed = subprocess.run(
        ["git", "-C", project, "ls-tree", "-r", "--name-only", answer["dvc_rev"]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = listed.replace(answer["campaign"], "C").split()
    assert {"runs/C/log.jsonl", "runs/C/attempt-000/log.jsonl", "data/solutions/C/attempt-000.dvc"} <= {
        *names
    }
    split = [name for name in names if name.startswith("data/splits/")]
    assert sorted(name.rsplit("/", 1)[1] for name in split) == ["public.dvc", "sealed.dvc", "split.json"]
    tracked = [path.read_text() for path in (project / "mlruns").rglob("checkpoints.dvc")]
    published = [project / "data" / name for name in ("solutions", "refits")]
    pointers = [pointer for folder in published for pointer in folder.rglob("*.dvc")]
    assert sorted(tracked) == sorted(pointer.read_text() for pointer in pointers)
    assert tracked


def test_every_step_of_a_campaign_is_in_prefects_graph(
    solved: tuple[Path, dict[str, Any]], shared_server: str
) -> None:
    """Prefect's API lists a completed task run for each step, at most 16, each named by its phase."""
    _, answer = solved
    wait_for_steps(
        shared_server, answer["campaign"], _STEPS, lambda run: str(run["task_key"]).split("-")[0]
    )
    wanted = {"flow_runs": {"name": {"any_": [answer["campaign"]]}}}
    names = [str(run["name"]) for run in filtered(shared_server, "task_runs", wanted)]
    assert len(names) <= 16, names
    assert {name.split()[0] for name in names} == {"open:", "search:", "close:", "grade"}, names


def test_a_flow_run_is_found_by_competition_agent_and_model(
    solved: tuple[Path, dict[str, Any]], shared_server: str
) -> None:
    """Tags of flow runs filter Prefect's page; the run in MLflow names the flow run."""
    project, answer = solved
    wanted = {"flow_runs": {"name": {"any_": [answer["campaign"]]}}}
    [run] = filtered(shared_server, "flow_runs", wanted)
    assert sorted(run["tags"]) == ["agent:baseline", "competition:demo-tumours", "model:offline"]
    tracked = MlflowClient(tracking_uri(project)).get_run(answer["mlflow_run_id"])
    assert tracked.data.tags["comind.prefect_run"] == run["id"]


def test_events_tell_automations_of_new_best_scores_and_the_end(
    solved: tuple[Path, dict[str, Any]], shared_server: str
) -> None:
    """Prefect's server has them by the campaign's name, with score and attempt."""
    _, answer = solved
    resource = {"resource": {"id": [f"comind.campaign.{answer['campaign']}"]}}
    deadline = time.monotonic() + 60
    found: dict[str, Any] = {}
    while not found.keys() >= {"comind.campaign.new_best", "comind.campaign.ended"}:
        assert time.monotonic() < deadline, found
        listed: Any = filtered(shared_server, "events", {"filter": resource})
        found = {each["event"]: each["payload"] for each in listed["events"]}
        time.sleep(0.2)
    assert found["comind.campaign.new_best"]["attempt"] == "attempt-000"
    assert found["comind.campaign.ended"]["score"] == answer["validation_score"]


def test_mlflow_has_page_and_system_metrics(solved: tuple[Path, dict[str, Any]]) -> None:
    """The campaign's page is an artifact of its run, and attempts have the load of their sessions."""
    project, answer = solved
    client, run = MlflowClient(tracking_uri(project)), answer["mlflow_run_id"]
    page = Path(client.download_artifacts(run, "campaign.html")).read_text()
    assert answer["campaign"] in page
    runs = json.loads(ProjectFolder(project).campaign(answer["campaign"]).runs.read_text())
    attempt = client.get_run(runs["attempt-000"]).data.metrics
    assert attempt["system/memory_usage_megabytes"] > 50
    assert attempt["system/cores_used"] > 0


def test_artifacts_of_a_competition_have_versions(
    solved: tuple[Path, dict[str, Any]], shared_server: str
) -> None:
    """Keys of artifacts are those of the competition; each names its campaign and the run in MLflow."""
    _, answer = solved
    found = filtered(shared_server, "artifacts", {"flow_runs": {"name": {"any_": [answer["campaign"]]}}})
    assert sorted(each["key"] for each in found) == [
        f"demo-tumours-{name}" for name in ("journal", "leaderboard", "split")
    ]
    assert all(each["description"].startswith(answer["campaign"]) for each in found)
    [board] = [each for each in found if each["key"].endswith("leaderboard")]
    assert answer["mlflow_run_id"] in board["description"]


_STEPS = {
    "read_environment",
    "split_competition",
    "run_attempt",
    "run_closing",
    "grade_submission",
    "write_projections",
    "check_final_submission",
    "show_results",
}
"""Of a campaign without community and proofs."""


def test_sealed_labels_leak_into_no_log_and_no_public_file(solved: tuple[Path, dict[str, Any]]) -> None:
    """What is sealed appears nowhere that an attempt could see."""
    project, _ = solved
    [split] = (project / "data" / "splits").iterdir()
    answers = (split / "sealed" / "validation_answers.csv").read_text()
    for path in [*(split / "public").rglob("*"), *(project / "runs").rglob("*.jsonl")]:
        if path.is_file():
            assert answers not in path.read_text()
    assert (split / "sealed").stat().st_mode & 0o077 == 0


def test_resuming_a_finished_campaign_runs_nothing(solved: tuple[Path, dict[str, Any]]) -> None:
    """Resuming what has ended gives the same answer at once."""
    project, answer = solved
    ran = comind("solve", "--resume", answer["campaign"], "--out", project, "--json")
    assert ran.exit_code == 0
    assert ran.json == answer


def test_a_campaign_for_people_says_where_to_look(ended: tuple[Path, Ran]) -> None:
    """Without --json the answer is text: submission, score with interval, next steps."""
    project, first = ended
    ran = comind("solve", "--resume", first.json["campaign"], "--out", project)
    assert ran.exit_code == 0, ran.stderr
    for word in (
        "submission",
        "accuracy",
        "95 % interval",
        "comind ui --out",
        "comind grade",
        "comind lineage",
    ):
        assert word in ran.stdout
    assert re.search(r"attempt-000: step \d+: accuracy", first.stderr)
    assert re.search(r"attempt-000: session in \w+, \d+ threads?\n", first.stderr)
    assert "\x1b" not in ran.stdout + first.stderr


def test_a_dead_endpoint_leaves_the_best_so_far(tmp_path: Path, shared_server: str) -> None:
    """When the model refuses, exit code 4 comes with the baseline's submission, and it can go on."""
    arguments = ("solve", "demo-tumours", "--model", "local", "--iterations", "1", "--coders", "1")
    with Endpoint(lambda _asked: "", lambda _number, _asked: status(401, "no")) as server:
        ran = comind(*arguments, "--no-refit", "--out", tmp_path, "--json", OPENAI_BASE_URL=server.url)
    assert ran.exit_code == 4
    assert ran.json["error"]["kind"] == "model"
    assert "refuses the key" in ran.json["error"]["message"]
    assert Path(ran.json["submission"]).is_file()
    assert len(ran.error_lines) == 1
    assert len(server.requests) == 1, "an auth error costs one call"
    with Endpoint(lambda _asked: json.dumps({"drafts": []})) as server:
        resumed = ("solve", "--resume", ran.json["campaign"], "--out", tmp_path, "--json")
        again = comind(*resumed, OPENAI_BASE_URL=server.url)
    assert again.exit_code == 0, again.stderr
    assert again.json["validation_score"] == ran.json["validation_score"]


def test_prefect_keeps_the_log_of_a_campaign(
    solved: tuple[Path, dict[str, Any]], shared_server: str
) -> None:
    """The flow run has the records of our loggers, which are in the file beside the campaign, too."""
    project, answer = solved
    named = {"flow_runs": {"name": {"any_": [answer["campaign"]]}}}
    runs = [run["id"] for run in filtered(shared_server, "flow_runs", named)]
    listed = filtered(shared_server, "logs", {"logs": {"flow_run_id": {"any_": runs}}})
    ours = [each["message"] for each in listed if each["name"].startswith("comind.")]
    assert any(": attempt-000: done, " in message for message in ours)
    assert any(": ended: " in message for message in ours)
    text = (project / "runs" / answer["campaign"] / "comind.log").read_text()
    assert [message for message in ours if message not in text] == []


def test_no_submission_is_exit_code_three(tmp_path: Path, shared_server: str) -> None:
    """A campaign whose every attempt fails says so, with all that is known."""
    script = tmp_path / "script.yaml"
    step = {"goal": "fail", "code": "1 / 0"}
    draft = {"title": "bad", "method": "bad"}
    rules = [
        *QUIET,
        {"reply": "Drafts", "say": {"drafts": [draft]}},
        {"reply": "CodingStep", "say": step},
    ]
    script.write_text(json.dumps(rules))
    arguments = ("--baseline", "none", "--iterations", "1", "--steps", "2", "--coders", "1")
    ran = comind(
        "solve", "demo-tumours", "--model", f"scripted:{script}", *arguments, "--out", tmp_path, "--json"
    )
    assert ran.exit_code == 3
    assert ran.json["error"]["kind"] == "no-submission"
    assert (ran.json["attempts"], ran.json["valid_attempts"]) == (1, 0)
    assert ran.json["submission"] is None
    wanted = {"flow_runs": {"name": {"any_": [ran.json["campaign"]]}}}
    assert [run["state_name"] for run in filtered(shared_server, "flow_runs", wanted)] == ["Failed"]
    tracked = MlflowClient(tracking_uri(tmp_path)).get_run(ran.json["mlflow_run_id"])
    assert tracked.info.status == "FAILED"


def test_an_unsealed_campaign_is_marked(tmp_path: Path, shared_server: str) -> None:
    """Under `--sandbox process` answer and log say that nothing was isolated; nobody has to believe it.

    A log may be a stranger's: without a sandbox that seals, its scripts are refused, not just run.
    """
    project, programs = tmp_path / "project", tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    options = ("--sandbox", "process", "--model", "offline", "--iterations", "0", "--no-refit")
    ran = comind("solve", "demo-tumours", *options, "--out", project)
    assert ran.exit_code == 0, ran.stderr
    assert "UNSEALED" in ran.stdout
    assert "UNSEALED" in ran.stderr
    [campaign] = (project / "runs").glob("demo-*")
    refused = comind("reproduce", campaign.name, "--out", project, "--json", PATH=str(programs))
    assert refused.exit_code == 4, refused.stderr
    assert refused.json["error"]["kind"] == "sandbox"
    assert "no sandbox for code that a model wrote" in refused.json["error"]["message"]


def test_a_help_page_is_instant() -> None:
    """The help names every command, and nothing that does not exist yet."""
    done = subprocess.run(
        [sys.executable, "-m", "comind.cli", "--help"], capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^ {4}([a-z]+)\b", done.stdout.split("COMMAND\n", 1)[1], re.MULTILINE)
    named = (
        "init solve inspect grade submit track ingest agents show report bench mlebench live knowledge "
        "lineage prompts reproduce repair push gc doctor store ui"
    )
    assert sorted(listed) == sorted(named.split())

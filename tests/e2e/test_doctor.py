"""`comind doctor` tells what works here."""

import json
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.work.project_budget import ProjectBudget
from comind.cli import doctor
from comind.cli.main import main
from comind.errors import UsageError
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import Fault, status


def test_the_doctor_looks_at_everything(capfd: pytest.CaptureFixture[str]) -> None:
    """Sandboxes, git, packages, endpoint and machine are named, each with what was found."""
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert checks["sandbox bubblewrap"]["ok"]
    assert "else of each process" in checks["sandbox bubblewrap"]["found"]
    assert "isolates nothing" in checks["sandbox process"]["found"]
    assert "offline" in checks["model endpoint"]["found"]
    assert {"python", "git", "prefect", "mlflow", "dvc", "machine"} <= set(checks)


def test_the_cost_of_a_project_is_compared_with_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who spent what, and what to change once nothing is left; nothing where there is no cost."""
    monkeypatch.chdir(tmp_path)
    assert doctor._spend() == []
    budget = ProjectBudget(ProjectFolder(tmp_path))
    budget.set_limit(2)
    for name, usd in (("a", 1.25), ("b", 0.5)):
        budget.start(name, usd)
    (check,) = doctor._spend()
    assert (check.ok, check.found) == (True, "$1.75 of the project's limit of $2.00 (a $1.25, b $0.50)")
    assert isinstance(budget.reserve("b", 0.25, 1.0), int)
    (check,) = doctor._spend()
    assert not check.ok
    assert check.found == "the project's limit of $2.00 is spent (a $1.25, b $0.75)"
    assert check.mend == "raise limits.project_usd in params.yaml to continue"


def test_servers_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_server: str
) -> None:
    """Those that are configured: which one answers, and whether the pool has workers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", os.environ["PREFECT_HOME"])  # restored, as doctor sets it
    assert [check.name for check in doctor._servers()] == ["prefect server"]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    (tmp_path / "params.yaml").write_text("solve: {pool: nowhere}\n")
    prefect, mlflow, pool = doctor._servers()
    answered = f"{shared_server} answers, Prefect {metadata.version('prefect')}"
    assert (prefect.ok, prefect.found) == (True, answered)
    assert (mlflow.ok, mlflow.found) == (False, "MLflow's server http://127.0.0.1:9 does not answer")
    assert mlflow.mend == "start it, or unset MLFLOW_TRACKING_URI"
    assert (pool.ok, pool.found) == (False, "there is no work pool 'nowhere'")
    (tmp_path / "params.yaml").write_text("solve: {pool: nowhere}\nnodes: {store: inputs}\n")
    *_, store = doctor._servers()
    assert (store.ok, store.found.partition(":")[0]) == (False, "nodes.store")


def test_another_minor_version_of_prefect_is_named() -> None:
    """A client and a server that differ in the third number alone understand each other."""
    assert doctor.same_minor_version("here", "3.4.2", "3.4.0") == "here answers, Prefect 3.4.2"
    with pytest.raises(UsageError, match=r"here has Prefect 2\.20\.1, here is 3\.4\.0") as caught:
        doctor.same_minor_version("here", "2.20.1", "3.4.0")
    assert caught.value.hint == "install the same minor version"


def test_a_container_engine_is_looked_at(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """With an engine and an image, docker works, and what it keeps apart is said."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert checks["sandbox docker"]["ok"]
    assert "comind-sandbox" in checks["sandbox docker"]["found"]
    assert "of the attempt as a whole" in checks["sandbox docker"]["found"]


def test_a_missing_engine_comes_with_its_remedy(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an engine the doctor says so and how to get one; that is no failure."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert not checks["sandbox docker"]["ok"]
    assert "no container engine answers at /nowhere.sock" in checks["sandbox docker"]["found"]
    assert "docker.io" in checks["sandbox docker"]["mend"]


def test_a_missing_tool_comes_with_its_remedy(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git and bubblewrap, each is told with how to get it, and the exit code is 4."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["doctor"]) == 4
    printed = capfd.readouterr()
    assert "apt-get install git" in printed.err
    assert "apt-get install bubblewrap" in printed.out


def _probed(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    faults: Callable[[int, EndpointRequest], Fault | None],
    **listed: int,
) -> tuple[int, dict[str, str], int]:
    """Ask about a model; return the exit code, what was found, and how many requests it took."""
    right = json.dumps({"number": 17, "even": False})
    block = "```python\n# goal: Print.\nprint(17)\n```"
    models = [{"id": "small", **listed}]

    def answer(asked: EndpointRequest) -> str:
        return right if "even" in str(asked.messages[-1]) else block

    with Endpoint(answer, faults, models=models) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        exit_code = main(["doctor", "--model", "small", "--json"])
    checks = json.loads(capfd.readouterr().out)["checks"]
    found = {each["name"]: each["found"] for each in checks if each["name"].startswith("model")}
    return exit_code, found, len(server.requests)


def test_a_model_is_asked_as_a_campaign_asks(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protocol, form of replies, roles, temperature and limits are found by two small questions."""
    exit_code, found, asked = _probed(
        capfd, monkeypatch, lambda number, asked: None, max_model_len=4_096
    )
    assert (exit_code, asked) == (0, 2)
    assert found["model: protocol"] == "chat"
    assert found["model: decisions"] == "by JSON schema"
    assert found["model: context"] == "4096 tokens"
    assert found["model: images"] == "not sent"
    assert "not known" in found["model: price"]
    assert found["model: program"].startswith("right, ")


def test_what_a_server_refuses_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small server without schemas, system role and temperature is asked without them, and usable."""

    def refuse(_number: int, asked: EndpointRequest) -> Fault | None:
        for word, message in (
            ("response_format", "response_format is not supported"),
            ('"system"', "System role not supported"),
            ("temperature", "temperature is fixed"),
            ("image_url", "test-model is not a multimodal model"),
        ):
            if word in json.dumps(asked.body):
                return status(400, message)
        return None

    exit_code, found, asked = _probed(capfd, monkeypatch, refuse)
    assert (exit_code, asked) == (0, 9)  # each refusal twice, as it may be for the picture
    assert found["model: decisions"].startswith("in words")
    assert found["model: system role"] == "no; sent as the user's"
    assert found["model: temperature"] == "no"
    assert found["model: images"] == "refused; left out"
    assert "32768 tokens are assumed until it refuses more" in found["model: context"]


def test_a_model_that_refuses_is_a_missing_service(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong key is told at once, with exit code 4."""
    exit_code, found, asked = _probed(capfd, monkeypatch, lambda number, asked: status(401, "no"))
    assert (exit_code, asked) == (4, 1)
    assert "refuses the key" in found["model small"]

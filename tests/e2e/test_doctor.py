"""`comind doctor` tells what works here."""

import json

import pytest

from flows.cli.main import main


def test_the_doctor_looks_at_everything(capfd: pytest.CaptureFixture[str]) -> None:
    """Sandboxes, git, packages, endpoint and machine are named, each with what was found."""
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert checks["sandbox bubblewrap"]["ok"]
    assert "memory for each process" in checks["sandbox bubblewrap"]["found"]
    assert "isolates nothing" in checks["sandbox process"]["found"]
    assert "offline" in checks["model endpoint"]["found"]
    assert {"python", "git", "prefect", "mlflow", "dvc", "machine"} <= set(checks)


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

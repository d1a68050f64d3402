"""Processes that we start get the environment variables that they need, and no others."""

from pathlib import Path

import psutil
import pytest

from comind.app.params import Params
from comind.cli import schedule
from comind.servers import tool_servers
from comind.servers.tool_servers import start_service


@pytest.mark.parametrize("kind", ["server", "worker"])
def test_variables_are_passed_by_an_allow_list(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker gets what its campaigns read, and what params.yaml names; a server gets no key."""
    of_campaigns = {"OPENAI_API_KEY", "KAGGLE_KEY", "AWS_SECRET_ACCESS_KEY", "MY_MODEL_KEY", "MY_HOOK"}
    for name in (*of_campaigns, "UNRELATED_TOKEN", "LANG", "https_proxy"):
        monkeypatch.setenv(name, "given")
    solve = {"models": {"default": {"key_variable": "MY_MODEL_KEY"}}}
    params = Params.model_validate({"solve": solve, "alerts": {"urls": ["$MY_HOOK"]}})
    patterns = {
        "server": (*tool_servers._OF_PREFECT, *tool_servers._OF_MLFLOW),
        "worker": (*schedule._OF_CAMPAIGNS, *schedule._named_variables(params)),
    }
    process = start_service(tmp_path, "probe", ["http.server", "0"], {"SET": "given"}, *patterns[kind])
    try:
        [keeper] = [
            each for each in psutil.Process().children() if each.cmdline()[-2:] == ["http.server", "0"]
        ]
        given = {name for name, value in keeper.environ().items() if value == "given"}
    finally:
        process.stop()
    expected = {"SET", "LANG", "https_proxy"} | (of_campaigns if kind == "worker" else set())
    assert given == expected


def test_each_name_in_the_params_is_found() -> None:
    """Of models by role, of profiles and of alerts."""
    params = Params.model_validate(
        {
            "solve": {"models": {"planner": {"key_variable": "ONE"}}},
            "profiles": {"other": {"models": {"default": {"key_variable": "TWO"}}}},
            "alerts": {"urls": ["mailtos://me:$THREE@example.org", "slack://${FOUR}/x"]},
        }
    )
    assert schedule._named_variables(params) >= {"ONE", "TWO", "THREE", "FOUR"}

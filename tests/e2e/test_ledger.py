"""A campaign on an endpoint that errs, through the real command line: solved, and every token found."""

import csv
from pathlib import Path

import pytest

from tests.contract.faults import answer
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import reset, status
from tests.doubles.webhook import webhook
from tests.e2e.command import comind

_PARAMS = """
solve:
  coders: 1
  iterations: 1
  steps: 2
  traffic: {back_off_seconds: 0.01}
  models:
    default: {price: {prompt: 1.0, completion: 4.0}}
"""
_CELL = """import shutil
for name in ("validation_submission.csv", "submission.csv"):
    shutil.copy(f"input/demo-tumours/sample_{name}", name)"""


def _answer(asked: EndpointRequest) -> str:
    said = answer(asked)
    return said.replace("look", _CELL).replace("good", _CELL) if said.startswith("```") else said


@pytest.mark.torture  # tests/contract/test_ledger.py counts without a campaign
def test_a_bad_day_of_an_endpoint_costs_time_and_no_token(tmp_path: Path, shared_server: str) -> None:
    """Limits, errors and a broken connection are survived; MLflow's ledger is the endpoint's count."""
    alerts = "alerts: {urls: [$MY_WEBHOOK]}\n"
    (tmp_path / "params.yaml").write_text(_PARAMS + alerts)
    faults = [status(429, retry_after=0.1), status(503), None, reset(0.5), None, status(500)]
    arguments = ("solve", "demo-tumours", "--model", "test-model", "--max-usd", "2", "--no-refit")
    with Endpoint(_answer, faults) as server, webhook() as hook:
        env = {"OPENAI_BASE_URL": server.url, "MY_WEBHOOK": hook.url}
        ran = comind(*arguments, "--out", tmp_path, "--json", **env)
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["valid_attempts"] == 2
    assert hook.events[0] == "new_best"
    assert hook.events[-1] == "ended"
    assert "estimate: 1 round of 1 attempt, 2 steps: " in ran.stderr
    assert ", never more than $2" in ran.stderr
    assert "the request will be retried" in ran.stderr
    assert (
        "the context window of the model test-model is not known: 32768 tokens are assumed" in ran.stderr
    )

    [ledger] = (tmp_path / "mlruns").rglob("ledger.csv")
    rows = list(csv.DictReader(ledger.read_text().splitlines()))
    asked = [row for row in rows if row["model"] == "test-model"]
    roles = {"analyzer", "idea_proposer", "coordinator", "coding_agent", "critic"}
    assert {row["role"] for row in asked} == roles
    assert sum(int(row["retries"]) for row in asked) == 4

    def total(*names: str) -> float:
        return sum(float(row[name]) for row in asked for name in names)

    bound = total("bound_tokens")
    tokens = total("prompt_tokens", "completion_tokens")
    assert tokens == ran.json["tokens"]
    assert tokens - bound == server.counted.tokens
    assert bound >= server.wasted.tokens > 0
    assert round(total("usd"), 6) == ran.json["usd"] < 2

"""Programs in every sandbox reach the model's endpoint, through a folder that they cannot change."""

import json
from pathlib import Path

import pytest

from comind.campaign.log.work_events import WORK_EVENTS, CellStarted
from comind.campaign.work.endpoint import SOCKET, ModelEndpoint
from comind.campaign.work.metering import BudgetLedger, Meter
from comind.campaign.work.recorder import Recorder
from comind.domain.problem import ENDPOINT_AT
from comind.domain.spend import Budget, Spend
from comind.eventlog.log import EventLog
from comind.llm.openai_model import OpenAIModel
from comind.llm.rate_limiter import RateLimiter
from comind.session.kernel_session import KernelSession
from comind.session.session_ports import CellStatus, Input
from tests.contract.sandboxes import ALL, made
from tests.doubles.endpoint import Endpoint

_ASK = f"""
import http.client, json, socket

class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("{ENDPOINT_AT}/{SOCKET}")

connection = Connection("localhost")
body = json.dumps({{"messages": [{{"role": "user", "content": "hello"}}]}})
connection.request("POST", "/v1/chat/completions", body, {{"Connection": "close"}})
print(json.load(connection.getresponse())["choices"][0]["message"]["content"])
"""


@pytest.mark.parametrize("name", ALL)
def test_a_program_reaches_the_endpoint(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Also where the sandbox gives its program another user, and its path is long."""
    root = tmp_path / ("long-" * 20)
    root.mkdir()
    with (
        Endpoint(lambda asked: f"to {asked.text}") as server,
        EventLog(root / "log", WORK_EVENTS) as log,
    ):
        recorder = Recorder(log)
        recorder.note(CellStarted(ordinal=0, step=1, goal="ask", code=_ASK))
        meter = Meter(BudgetLedger(Budget(), Spend()), RateLimiter(), note=recorder.note)
        model = OpenAIModel("large", base_url=server.url, api_key="sk-secret")
        endpoint = ModelEndpoint(model, "program", meter, recorder, root / "endpoint", {})
        endpoint.make_folder()
        session = KernelSession(
            made(name, request),
            root / "workspace",
            inputs=(Input(endpoint.folder, ENDPOINT_AT, linked=True),),
            env={},
            memory_bytes=8 << 30,
            log=root / "session.log",
        )
        try:
            assert session.run("1", seconds=60).status is CellStatus.OK
            with endpoint.serving(session.workspace, 60):
                ran = session.run(_ASK, seconds=60, watch=endpoint)
            assert (ran.error, ran.output) == ("", "to hello\n")
            removal = session.run(f"import os; os.unlink('{ENDPOINT_AT}/{SOCKET}')", seconds=60)
            assert removal.status is CellStatus.ERROR or not session.sealed
        finally:
            session.close()
    assert json.loads((root / "messages.jsonl").read_text())["content"] == "hello"

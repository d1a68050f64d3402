"""Only our own clients run programs through a Prefect server that we start."""

import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import httpx
import psutil
import pytest
from prefect.client.orchestration import SyncPrefectClient

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import OrchestrationError
from comind.servers import tool_servers
from comind.servers.tool_servers import (
    access_file,
    announced_pages,
    free_port,
    prefect_server,
    prepare_environment,
    running_server,
)
from comind.system.process_identity import process_identity
from tests.e2e.command import processes_of
from tests.services_table import check_service

_KEY = "sk-canary-of-the-servers-environment"
_EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


class _Impostor(BaseHTTPRequestHandler):
    """Answers each request as Prefect does, and keeps its headers."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(str(self.headers))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def impostor() -> Iterator[int]:
    """The port of another program, which took it when a server was about to start there."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Impostor) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_port
        running.shutdown()


@pytest.fixture(scope="module", autouse=True)
def api(project: Path, impostor: int) -> Iterator[str]:
    """A server as a campaign starts it, by a user with a key."""
    ports = iter([impostor, free_port()])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in os.environ.items():
            patch.setenv(name, value)  # restored, as `prepare_environment` sets some
        patch.delenv("PREFECT_API_URL", raising=False)
        patch.setenv("OPENAI_API_KEY", _KEY)
        prepare_environment(project)
        with prefect_server(project, lambda: next(ports)) as address:
            yield address


@pytest.fixture(scope="module")
def string(api: str) -> str:
    """The authentication string, as our clients find it."""
    return os.environ["PREFECT_API_AUTH_STRING"]


def _steps(api: str) -> list[tuple[str, str, dict[str, object]]]:
    """Return the requests by which a page made a worker run its program."""
    script = {"prefect.deployments.steps.run_shell_script": {"script": "id"}}
    anything = "00000000-0000-0000-0000-000000000000"
    deployment = {"name": "evil", "flow_id": anything, "entrypoint": "x.py:x", "pull_steps": [script]}
    return [
        ("POST", f"{api}/work_pools/filter", {}),
        ("POST", f"{api}/flows/", {"name": "evil"}),
        ("POST", f"{api}/deployments/", deployment),
        ("POST", f"{api}/deployments/{anything}/create_flow_run", {"state": {"type": "SCHEDULED"}}),
        ("GET", f"{api}/csrf-token?client=evil", {}),
    ]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": _EVIL, "Content-Type": "application/json"}, id="page"),
        pytest.param({"Origin": _EVIL, "Content-Type": "text/plain"}, id="page, without preflight"),
        pytest.param({"Origin": "null"}, id="sandboxed frame"),
        pytest.param({"Host": "evil.example"}, id="rebound name"),
        pytest.param({"Host": "evil.example", "Origin": _EVIL}, id="page of a rebound name"),
        pytest.param({}, id="another user"),
        pytest.param({"Authorization": "Basic Y29taW5kOmNvbWluZA=="}, id="another user who guesses"),
    ],
)
def test_each_step_of_the_attack_is_refused(headers: dict[str, str], api: str) -> None:
    """From pages, through rebound names, and from other users of the machine."""
    for method, address, body in _steps(api):
        answer = httpx.request(method, address, headers=headers, json=body)
        assert answer.status_code in (400, 401, 403), (address, answer.text)
        assert answer.headers.get("access-control-allow-origin") in (None, "*"), address
        assert "evil" not in answer.text
    with SyncPrefectClient(api, auth_string=os.environ["PREFECT_API_AUTH_STRING"]) as client:
        assert client.request("POST", "/flows/filter", json={}).json() == []


def test_it_refuses_what_its_row_says(api: str) -> None:
    """The row of Prefect in docs/security.md."""
    check_service("Prefect", f"{api}/admin/version")


def test_a_page_of_another_site_is_not_allowed_to_ask(api: str) -> None:
    """The browser's preflight request is refused."""
    asked = {"Origin": _EVIL, "Access-Control-Request-Method": "POST"}
    answer = httpx.options(f"{api}/flows/", headers=asked)
    assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (403, None)


def test_the_string_is_not_enough_for_a_request_of_another_origin(api: str, string: str) -> None:
    """A token against forged requests is required with it, which Prefect's clients and page get."""
    answer = httpx.post(f"{api}/flows/filter", auth=("", ""), json={})
    assert answer.status_code in (401, 403)
    with SyncPrefectClient(api, auth_string=string) as client:
        basic = client._client.headers["Authorization"]
    assert httpx.get(f"{api}/admin/version", headers={"Authorization": basic}).status_code == 200
    refused = httpx.post(f"{api}/flows/filter", headers={"Authorization": basic}, json={})
    assert (refused.status_code, refused.json()) == (403, {"detail": "Missing CSRF token."})


def test_the_page_of_the_server_logs_in(api: str) -> None:
    """It is served, is told to ask for the string, and calls the API by the server's own name."""
    root = api.removesuffix("/api")
    assert (
        "<html" in httpx.get(f"{root}/runs", headers={"Accept": "text/html"}, follow_redirects=True).text
    )
    settings = httpx.get(f"{root}/ui-settings", headers={"Origin": root}).json()
    assert (settings["auth"], settings["csrf_enabled"], settings["api_url"]) == ("BASIC", True, api)
    named = root.replace("127.0.0.1", "localhost")
    asked = {"Origin": named, "Access-Control-Request-Method": "POST"}
    assert httpx.options(f"{api}/flows/filter", headers=asked).status_code == 200


def test_no_key_is_in_the_servers_environment(api: str, string: str, project: Path) -> None:
    """It has what it needs; the string is in no command line and no file of the project."""
    [process] = [
        each
        for each in psutil.process_iter(["environ"])
        if each.info["environ"]
        and each.info["environ"].get("PREFECT_HOME") == str(ProjectFolder(project).orchestration)
        and "comind.servers.prefect_app" in each.cmdline()
        and "-S" not in each.cmdline()
    ]
    assert _KEY not in str(process.environ())
    assert process.environ()["PREFECT_SERVER_API_AUTH_STRING"] == string
    assert not any(string in line for line in processes_of(project))
    assert len(string) >= 32
    for path in project.rglob("*"):
        assert not path.is_file() or string.encode() not in path.read_bytes(), path


def test_a_port_that_another_program_took_is_not_used(api: str, impostor: int) -> None:
    """What answers there in place of the server would get the string, and give the worker programs."""
    assert f":{impostor}/" not in api
    assert "Authorization" not in str(_Impostor.seen)


@pytest.mark.parametrize("owner", ["alive", "killed"])
def test_a_server_is_found_by_its_file_while_its_owner_lives(
    owner: str, tmp_path: Path, api: str, string: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the port of a killed server another program may answer."""
    monkeypatch.delenv("PREFECT_API_URL")
    identity = process_identity() if owner == "alive" else process_identity().rpartition("/")[0] + "/1"
    access_file(tmp_path).parent.mkdir()
    tool_servers._announce(tmp_path, tool_servers._Server(api, string), {"MLflow": "http://m"})
    file = access_file(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text().replace(process_identity(), identity))
    with running_server(tmp_path) as found:
        assert found == (api if owner == "alive" else None)
    assert announced_pages(tmp_path) == ({"MLflow": "http://m"} if owner == "alive" else {})


def test_a_call_that_the_server_refuses_is_an_error_of_the_service(
    project: Path, api: str, string: str
) -> None:
    """A refused or late call is no bug of a command; a failed call to another service stays as it is."""
    headers = {"Authorization": f"Basic {b64encode(string.encode()).decode()}"}
    with (
        pytest.raises(OrchestrationError, match=f"{api} failed: HTTP 404"),
        running_server(project),
    ):
        httpx.get(f"{api}/flows/none", headers=headers).raise_for_status()
    with pytest.raises(OrchestrationError, match="failed: ReadTimeout"), running_server(project):
        raise httpx.ReadTimeout("", request=httpx.Request("POST", f"{api}/flow_runs/"))
    with pytest.raises(httpx.ConnectError), running_server(project):
        httpx.get(f"http://127.0.0.1:{free_port()}/")

"""`make stack-up`: one campaign on the servers of several machines."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from mlflow.tracking import MlflowClient

from comind.nodes.input_store import S3InputStore
from comind.servers.tool_servers import free_port
from comind.system.files import hash_file
from tests.e2e.command import Ran, comind
from tests.services_table import check_service

_SCRIPT = Path(__file__).parents[2] / "infra" / "stack.sh"
_KEY = "sk-canary-of-the-stack"
_PROGRAMS = {"BIN": str(Path(sys.executable).parent)}


class Stack:
    """Runs `stack.sh` in a folder of its own, with free ports."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="comind-stack-"))
        self.folder.chmod(0o711)  # PostgreSQL's user passes
        self.ports = [free_port() for _ in range(4)]

    @property
    def store(self) -> str:
        """URL of its S3 port."""
        return f"http://127.0.0.1:{self.ports[1]}"

    @property
    def passwords(self) -> dict[str, str]:
        """The passwords that it wrote."""
        return self._read("passwords")

    @property
    def clients(self) -> dict[str, str]:
        """Variables of its clients."""
        return self._read("clients")

    def _read(self, name: str) -> dict[str, str]:
        file = self.folder / name
        assert file.stat().st_mode & 0o777 == 0o600
        lines = file.read_text().splitlines()
        return dict(line.removeprefix("export ").split("=", 1) for line in lines)

    def __call__(self, command: str) -> str:
        """Run a command of it; return what it printed."""
        ports = " ".join(map(str, self.ports))
        settings = {**os.environ, **_PROGRAMS, "STACK": str(self.folder), "STACK_PORTS": ports}
        done = subprocess.run(
            [_SCRIPT, command], env=settings, check=False, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def stack() -> Iterator[Stack]:
    """Run `stack.sh`; all that it started is stopped at the end."""
    running = Stack()
    yield running
    running("down")
    shutil.rmtree(running.folder)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_campaign_runs_on_the_servers(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect and MLflow keep it in PostgreSQL and the store, which may restart meanwhile."""
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    printed = stack("up")
    for name, value in stack.clients.items():
        monkeypatch.setenv(name, value)
    assert not [each for each in stack.passwords.values() if each in printed]
    _check_services(stack)
    assert "starting" not in stack("up")
    assert all(" runs (" in line for line in stack("status").splitlines())
    project = tmp_path / "project"
    solve = ("solve", "demo-tumours", "--out", project, "--model", "offline", "--json")
    with ThreadPoolExecutor() as threads:
        running = threads.submit(comind, *solve, "--iterations", "1", "--profile", "quick")
        _await_a_cell(project, running)
        _restart_postgres(stack)
        ran = running.result()
    assert ran.exit_code == 0, ran.stderr
    assert not list(project.rglob("mlflow.db"))
    stack("down")
    stack("up")
    client = MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
    experiment = client.get_experiment_by_name("demo-tumours")
    assert experiment is not None
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    artifacts = client.list_artifacts(runs[ran.json["campaign"]].info.run_id)
    assert "leaderboard.csv" in {each.path for each in artifacts}
    local = client.download_artifacts(runs["attempt-000"].info.run_id, "report.md", str(tmp_path))
    assert Path(local).read_text()


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_its_store_gives_nodes_what_a_url_names(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A presigned URL reads one object; without its signature, or for another object, it is refused."""
    stack("up")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", stack.passwords["STORE_KEY"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", stack.passwords["STORE_SECRET"])
    store = S3InputStore("s3://comind/inputs", stack.store)
    urls = []
    for number in range(2):
        file = tmp_path / f"{number}.bin"
        file.write_bytes(bytes([number]) * (1 << 20))
        url = store.presigned_url(hash_file(file), file)
        assert url is not None, store.failure
        urls.append(url)
    assert [httpx.get(url).content[:1] for url in urls] == [bytes([0]), bytes([1])]
    path, _, query = urls[0].partition("?")
    assert httpx.get(path).status_code == 403
    assert httpx.get(f"{urls[1].partition('?')[0]}?{query}").status_code == 403
    assert httpx.put(urls[0], content=b"other").status_code == 403
    brief = S3InputStore("s3://comind/inputs", stack.store, url_seconds=1)
    expiring = brief.presigned_url(hash_file(file), file)
    assert expiring is not None, brief.failure
    time.sleep(2.5)
    assert httpx.get(expiring).status_code == 403
    stack("down")
    assert S3InputStore("s3://comind/inputs", stack.store).presigned_url("0" * 64, file) is None


def _check_services(stack: Stack) -> None:
    """Each server refuses what docs/security.md says, and no server has a key of the user."""
    check_service("Prefect", f"{stack.clients['PREFECT_API_URL']}/admin/version")
    check_service("MLflow", f"{stack.clients['MLFLOW_TRACKING_URI']}/")
    check_service("S3 store", f"{stack.store}/comind/x")
    for inner in ("8888/buckets/comind/x", "9333/dir/assign", "9340/1,01637037d6"):
        assert httpx.get(f"http://127.0.0.1:{inner}").status_code in (401, 404), inner
    with socket.create_connection(("127.0.0.1", stack.ports[0])) as postgres:
        start = b"\0\3\0\0user\0comind\0database\0prefect\0\0"
        postgres.sendall((len(start) + 4).to_bytes(4, "big") + start)
        assert b"SCRAM-SHA-256" in postgres.recv(200)  # PostgreSQL asks for the password
    for name in ("postgres", "store", "prefect", "mlflow"):
        process = psutil.Process(int((stack.folder / f"{name}.pid").read_text()))
        assert _KEY not in str(process.environ())
        assert not [each for each in stack.passwords.values() if each in str(process.cmdline())]


def _await_a_cell(project: Path, running: Future[Ran]) -> None:
    while not any(
        "cell-started" in log.read_text() for log in project.glob("runs/*/attempt-*/log.jsonl")
    ):
        assert not running.done(), running.result().stderr
        time.sleep(0.1)


def _restart_postgres(stack: Stack) -> None:
    """End it while it is in use, and start it again."""
    (line,) = [line for line in stack("status").splitlines() if line.startswith("postgres")]
    postgres = psutil.Process(int(line.partition("(")[2].rstrip(")")))
    postgres.send_signal(signal.SIGINT)
    postgres.wait()
    assert "starting postgres" in stack("up")


def test_a_port_that_is_in_use_is_one_line(tmp_path: Path) -> None:
    """It names the setting, and nothing is installed or started."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        settings = {**os.environ, "STACK": str(tmp_path / "s"), "STACK_PORTS": f"{port} 1 2 3"}
        done = subprocess.run(
            [_SCRIPT, "up"], env=settings, check=False, capture_output=True, text=True, timeout=60
        )
    expected = f"stack.sh: port {port} for postgres is in use: name others in STACK_PORTS\n"
    assert (done.returncode, done.stderr) == (4, expected)
    assert not list((tmp_path / "s").iterdir())

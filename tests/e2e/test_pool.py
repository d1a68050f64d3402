"""`--pool`: sessions run on the workers of a Prefect pool, and the campaign is the same."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    NodeLost,
    SessionAwaited,
    SessionOpened,
    WorkEvent,
)
from comind.campaign.loop import read_state
from comind.errors import UsageError
from comind.eventlog.log import read_log
from comind.nodes.placement import HostOrder
from comind.nodes.work_pool import SessionPool, online_workers
from comind.servers.tool_servers import prepare_environment
from comind.system.health import answers
from tests.e2e.command import QUIET, comind
from tests.e2e.prefect_graph import filtered

_ROOT = Path(__file__).parents[2]


def _prefect(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "prefect", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def _worker(
    folder: Path, pool: str, name: str, *before: str, limit: int = 8
) -> Iterator[psutil.Process]:
    """Run a worker with a home of its own; at the end it and all that it started is killed."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    short = tempfile.mkdtemp(prefix="w-")  # a long TMPDIR is not used for sessions
    (home / "tmp").symlink_to(short)
    settings = {
        **os.environ,
        "HOME": str(home),
        "PREFECT_HOME": str(home),
        "TMPDIR": short,
        "COMIND_NODE": name,
        "COMIND_NODE_CACHE": str(home / "cache"),
        "COMIND_LEASES": str(home / "leases"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PYTHONPATH": str(_ROOT),
    }
    worker = ["-m", "prefect", "worker", "start", "--pool", pool, "--type", "process", "--name", name]
    worker += ["--limit", str(limit)]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*before, sys.executable, *worker],
            env=settings,
            cwd=home,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield psutil.Process(process.pid)
    finally:
        _kill(process.pid)
        process.wait()
        shutil.rmtree(short, ignore_errors=True)


def _kill(pid: int) -> None:
    """Kill a process and its descendants, as a machine that loses its power."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for each in [*parent.children(recursive=True), parent]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGKILL)


def _flow_runs(api: str, prefix: str) -> dict[str, str]:
    """Return the state of each flow run whose name begins so."""
    wanted = {"flow_runs": {"name": {"like_": prefix}}}
    return {run["name"]: run["state_type"] for run in filtered(api, "flow_runs", wanted)}


def _events(folder: CampaignFolder) -> list[WorkEvent]:
    logs = sorted(folder.root.glob("*-*/log.jsonl"))
    return [record.event for log in logs for record in read_log(log, WORK_EVENTS)]


def _folder(project: Path, campaign: str) -> CampaignFolder:
    return ProjectFolder(project).campaign(campaign)


def test_an_unknown_pool_is_one_line(shared_server: str) -> None:
    """It names the command that creates it."""
    with pytest.raises(UsageError, match=r"^there is no work pool 'nowhere'$") as error:
        SessionPool("nowhere", "c1", 90)
    assert error.value.hint.startswith("prefect work-pool create nowhere --type process; its pools: ")


def test_a_pool_without_a_server_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a campaign starts for itself is not reached by workers."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with pytest.raises(UsageError, match="--pool needs a Prefect server that workers reach"):
        SessionPool("gpu", "c1", 90)


def test_what_a_killed_driver_requested_is_cancelled(shared_server: str) -> None:
    """A campaign that is resumed cancels its own runs that no worker has taken, and no others."""
    _prefect("work-pool", "create", "idle", "--type", "process")
    assert online_workers("idle") == []
    order = HostOrder(name="c1/attempt-001/1", address="127.0.0.1:1", certificate="", token="t")
    for name in ("c1/attempt-001/1", "c12/attempt-001/1"):
        SessionPool("idle", "nobody", 90).start(order.model_copy(update={"name": name}))
    SessionPool("idle", "c1", 90)
    assert _flow_runs(shared_server, "c1/") == {"c1/attempt-001/1": "CANCELLED"}
    assert _flow_runs(shared_server, "c12/") == {"c12/attempt-001/1": "SCHEDULED"}


def test_nothing_is_copied_to_start_a_session_host(
    shared_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container Prefect would copy the image's working directory, with all packages."""
    from prefect.runner._workspace_resolver import prepare_workspace_for_flow_run

    _prefect("work-pool", "create", "containers", "--type", "process")
    order = HostOrder(name="c2/attempt-001/1", address="127.0.0.1:1", certificate="", token="t")
    run = SessionPool("containers", "c2", 90).start(order)
    image, workspace = tmp_path / "image", tmp_path / "workspace"
    image.mkdir()
    (image / "package.py").touch()
    monkeypatch.chdir(image)
    monkeypatch.setattr(sys, "path", [*sys.path])
    asyncio.run(prepare_workspace_for_flow_run(run.id, workspace))
    assert list(workspace.iterdir()) == []


def test_a_host_that_does_not_connect_is_overdue_and_the_next_gets_twice_the_time(
    shared_server: str,
) -> None:
    """A slow start is not lost, and does not make the next one as short as itself."""
    from prefect.client.orchestration import get_client
    from prefect.states import Pending

    _prefect("work-pool", "create", "slow", "--type", "process")
    pool = SessionPool("slow", "slow", 0.1)
    order = HostOrder(name="slow/attempt-001/1", address="127.0.0.1:1", certificate="", token="t")
    host = pool.start(order)
    assert host.waiting() == "no free worker in pool 'slow'"
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(host.id, Pending(), force=True)
    reasons = ["a node is starting it", "a node took it and did not connect in 0.1 seconds"]
    end = time.monotonic() + 60
    while not host.overdue and time.monotonic() < end:
        time.sleep(0.2)
        assert host.waiting() in ("no free worker in pool 'slow'", *reasons)
    assert host.waiting() == reasons[1]
    assert pool.start(order).start_seconds == 0.2
    SessionPool("slow", "slow", 90)  # cancels both


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_a_server_takes_the_template_of_a_pool(shared_server: str, kind: str) -> None:
    """`prefect work-pool create` with the file of `infra/pools`; the pool then takes session hosts."""
    template = str(_ROOT / "infra" / "pools" / f"{kind}.json")
    _prefect("work-pool", "create", kind, "--type", kind, "--base-job-template", template)
    name = f"{kind}/attempt-001/1"
    order = HostOrder(name=name, address="127.0.0.1:1", certificate="", token="t")
    SessionPool(kind, kind, 90).start(order)
    assert _flow_runs(shared_server, f"{kind}/") == {name: "SCHEDULED"}
    SessionPool(kind, kind, 90)  # cancels it


def test_a_campaign_runs_on_a_node(shared_server: str, tmp_path: Path) -> None:
    """The baseline's session is a run of the pool; its script is proved there, and graded here."""
    _prefect("work-pool", "create", "one", "--type", "process")
    project = tmp_path / "project"
    project.mkdir()
    (project / "params.yaml").write_text("nodes: {address: 127.0.0.1}\n")
    arguments = ("--iterations", "0", "--no-refit", "--no-blend", "--pool", "one", "--json")
    solve = ("solve", "demo-tumours", "--out", project, "--model", "offline", *arguments)
    with _worker(tmp_path, "one", "node-a"):
        ran = comind(*solve, prove=True)
        assert online_workers("one") == ["node-a"]
    assert ran.exit_code == 0, ran.stderr
    folder = _folder(project, ran.json["campaign"])
    sessions = [event for event in _events(folder) if isinstance(event, SessionOpened)]
    assert {(each.node, each.sealed) for each in sessions} == {("node-a", True)}
    assert ran.json["validation_score"] > 0.9
    assert not (folder.root / "nodes").exists()
    assert "on node-a" in ran.stderr
    runs = _flow_runs(shared_server, f"{folder.name}/")
    assert runs == {f"{folder.name}/attempt-000/{each}": "COMPLETED" for each in ("1", "script")}
    assert read_state(folder).proofs["attempt-000"].proof == "identical"


# --- machines of their own ------------------------------------------------------------------------

_BRIDGE, _DRIVER, _PORT = "comind-t0", "10.99.0.1", 4397


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def network() -> Iterator[list[str]]:
    """Names of two network namespaces on a bridge with the driver."""
    names = ["comind-ta", "comind-tb"]
    try:
        _ip("link", "add", _BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{_DRIVER}/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for number, name in enumerate(names, start=2):
            _ip("netns", "add", name)
            _ip("link", "add", f"{name}-v", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", f"{name}-v", "master", _BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"10.99.0.{number}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", f"{name}-v"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", _BRIDGE], capture_output=True, check=False)


_CELL = """
import glob
import time
import pandas as pd
folder = glob.glob('input/*/sample_submission.csv')[0].removesuffix('/sample_submission.csv')
open('started', 'w').write('x')
time.sleep(4)
validation = pd.read_csv(f'{folder}/sample_validation_submission.csv')
validation.to_csv('validation_submission.csv', index=False)
pd.read_csv(f'{folder}/sample_submission.csv').to_csv('submission.csv', index=False)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Replies of a scripted model: two drafts, each with a slow cell that submits."""
    draft = {"kind": "novel", "method": "Predict the same for all."}
    drafts = [{"title": "one", **draft}, {"title": "two", **draft}]
    rules = [
        {"reply": "Drafts", "say": {"drafts": drafts}},
        {"reply": "CodingStep", "contains": "Best so far", "say": {"goal": "over", "code": ""}},
        {"reply": "CodingStep", "say": {"goal": "hand in", "code": _CELL}},
        *QUIET,
    ]
    path = tmp_path / "script.yaml"
    path.write_text(json.dumps(rules))
    return path


def _results(folder: CampaignFolder) -> dict[str, object]:
    """Return what must not depend on where sessions ran."""
    state = read_state(folder)
    board = {
        attempt.id: (attempt.outcome.score, attempt.outcome.submitted)
        for attempt in state.works.attempts()
        if attempt.outcome is not None
    }
    return {"board": board, "submission": folder.submission.read_bytes()}


class _Server:
    """Prefect's server on the bridge; a second start has the same database."""

    def __init__(self, folder: Path) -> None:
        prepare_environment(folder)
        ProjectFolder(folder).orchestration.mkdir(parents=True)
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["-m", "comind.servers.prefect_app", _DRIVER, str(_PORT)]
        self._running = subprocess.Popen([sys.executable, *command], start_new_session=True)
        address, end = f"http://{_DRIVER}:{_PORT}/api/health", time.monotonic() + 60
        while not answers(address):
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.5)

    def kill(self) -> None:
        assert self._running is not None
        _kill(self._running.pid)
        self._running.wait()


@dataclass
class _Machines:
    """Two nodes, Prefect's server and a driver, each of which may be made to fail."""

    folder: Path
    network: list[str]
    server: _Server
    workers: list[psutil.Process]
    driver: subprocess.Popen[str]

    def fail(self, fault: str) -> None:
        """Wait for a cell of a draft on some node, then inject the fault."""
        node = self._node_in_a_cell()
        worker = self.workers[node]
        match fault:
            case "node killed in a cell":
                _kill(worker.pid)
            case "link down for ten seconds":
                self._link(node, "down")
                time.sleep(10)
                self._link(node, "up")
            case "link down for good":
                self._link(node, "down")
            case "worker killed":
                worker.send_signal(signal.SIGKILL)
            case "Prefect's server restarted":
                self.server.kill()
                time.sleep(5)
                self.server.start()
            case "driver killed":
                _kill(self.driver.pid)

    def _link(self, node: int, state: str) -> None:
        _ip("link", "set", f"{self.network[node]}-v", state)

    def _node_in_a_cell(self) -> int:
        end = time.monotonic() + 300
        while time.monotonic() < end:
            for number, name in enumerate(self.network):
                if list((self.folder / name / "tmp").glob("comind-*/node-*/workspace/started")):
                    return number
            time.sleep(0.1)
        raise TimeoutError("no cell was started on a node")


def _hide(folder: Path, own: str, network: list[str], name: str) -> list[str]:
    """Return the start of a command in a network namespace that hides the folders of all others."""
    hidden = [folder / "server", folder / own, *(folder / each for each in network if each != name)]
    for each in hidden:
        each.mkdir(exist_ok=True)
    mounts = "; ".join(f"mount -t tmpfs none {each}" for each in hidden)
    shell = ["sh", "-c", f'{mounts}; exec "$@"', "sh"]
    return ["ip", "netns", "exec", name, "unshare", "-m", *shell]


def _write_params(project: Path, address: str) -> None:
    """Create a project whose nodes reach the driver at `address`."""
    params = yaml.safe_load((_ROOT / "params.yaml").read_text())
    params["nodes"]["address"] = address
    project.mkdir()
    (project / "params.yaml").write_text(yaml.safe_dump(params))


_FAULTS = {
    "none": False,
    "node killed in a cell": True,
    "link down for ten seconds": False,
    "link down for good": True,
    "worker killed": False,
    "Prefect's server restarted": False,
    "driver killed": False,
}
"""Whether a node is lost by it."""
_COMPETITIONS = ["demo-diabetes", *os.environ.get("COMIND_COMPETITIONS", "").split()]
"""Without a fault; folders of past competitions by their paths."""


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.allow_hosts(["127.0.0.1", _DRIVER])
@pytest.mark.parametrize(
    ("competition", "fault"),
    [*(("demo-tumours", fault) for fault in _FAULTS), *((each, "none") for each in _COMPETITIONS)],
)
def test_two_machines_give_what_one_gives(
    competition: str,
    fault: str,
    network: list[str],
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nodes share nothing with the driver but the servers; any of them may fail in a cell."""
    monkeypatch.setenv("PREFECT_API_URL", f"http://{_DRIVER}:{_PORT}/api")
    for name in ("PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        monkeypatch.setenv(name, "a string of this test")
    arguments = ["--model", f"scripted:{script}", "--profile", "quick", "--sandbox", "bubblewrap"]
    arguments += ["--iterations", "1", "--no-refit", "--no-blend", "--no-prove", "--folds", "0"]
    project = tmp_path / "project"
    _write_params(project, _DRIVER)
    solve = ["solve", competition, "--out", str(project), *arguments, "--pool", "two"]
    server = _Server(tmp_path / "server")
    with contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        server.start()
        _prefect("work-pool", "create", "two", "--type", "process")
        workers = [
            stack.enter_context(
                _worker(tmp_path, "two", name, *_hide(tmp_path, "project", network, name))
            )
            for name in network
        ]
        driver = subprocess.Popen(
            [sys.executable, "-m", "comind.cli", *solve], stderr=subprocess.PIPE, text=True
        )
        stack.callback(_kill, driver.pid)
        if fault != "none":
            _Machines(tmp_path, network, server, workers, driver).fail(fault)
        printed = driver.communicate()[1]
        campaign = next((project / "runs").glob("*/log.jsonl")).parent.name
        if fault == "driver killed":
            assert driver.returncode == -signal.SIGKILL
            resumed = comind("solve", "--resume", campaign, "--out", project)
            assert resumed.exit_code == 0, resumed.stderr
        else:
            assert driver.returncode == 0, printed
        local = tmp_path / "local"
        local.mkdir()
        alone = comind("solve", competition, "--out", local, *arguments, "--json")
        assert alone.exit_code == 0, alone.stderr
    remote = _folder(project, campaign)
    assert _results(remote) == _results(_folder(local, alone.json["campaign"]))
    lost = [event for event in _events(remote) if isinstance(event, NodeLost)]
    assert bool(lost) == _FAULTS[fault]


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_two_campaigns_share_a_pool_of_one(shared_server: str, script: Path, tmp_path: Path) -> None:
    """Each waits while the only place of the only node is taken; both end with the same results."""
    _prefect("work-pool", "create", "single", "--type", "process")
    arguments = ["--model", f"scripted:{script}", "--profile", "quick", "--iterations", "1"]
    arguments += ["--no-refit", "--no-blend", "--pool", "single", "--json"]
    projects = [tmp_path / "first", tmp_path / "second"]
    with _worker(tmp_path, "single", "node-a", limit=1), ThreadPoolExecutor() as threads:
        for project in projects:
            _write_params(project, "127.0.0.1")
        solves = [
            threads.submit(comind, "solve", "demo-tumours", "--out", each, *arguments)
            for each in projects
        ]
        ran = [each.result() for each in solves]
    assert [each.exit_code for each in ran] == [0, 0], [each.stderr for each in ran]
    folders = [_folder(p, r.json["campaign"]) for p, r in zip(projects, ran, strict=True)]
    assert _results(folders[0]) == _results(folders[1])
    waits = [
        event for folder in folders for event in _events(folder) if isinstance(event, SessionAwaited)
    ]
    assert any("no free worker in pool 'single'" in each.reason for each in waits)

"""One suite for all sandboxes, below sessions: start, ending, limits, and nothing left behind."""

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from comind.errors import SandboxError
from comind.session.docker import DockerSandbox
from comind.session.program import run_program
from comind.session.session_ports import CellStatus, Handle, Input, Sandbox
from comind.system.leases import Users
from comind.system.process_identity import process_identity
from comind.system.supervisor import remove_tree
from tests.contract.sandboxes import ALL, MEMORY, SEALED, STUBBORN, made, spec_of
from tests.engine import ROOT, docker, folder_of_the_run, script


@pytest.fixture(params=ALL)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox."""
    return made(request.param, request)


@pytest.fixture(params=SEALED)
def sealed(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that seals."""
    return made(request.param, request)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Handle]]:
    """Start a Python program in a sandbox; it is ended after the test."""
    started: list[Handle] = []

    def begin(sandbox: Sandbox, code: str, **changed: object) -> Handle:
        handle = sandbox.start(replace(spec_of(sandbox, tmp_path, code), **changed))  # type: ignore[arg-type]
        started.append(handle)
        return handle

    yield begin
    for handle in started:
        handle.stop()


def _ending(handle: Handle, seconds: float = 30) -> tuple[int | None, str]:
    """Wait for the end of a program; return its exit code and the reason."""
    _until(lambda: not handle.alive(), seconds)
    return handle.exit_code(), handle.exit_reason()


def _until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


_DEEP = """
import os
for _ in range(1500):
    os.mkdir('d', 0o700); os.chdir('d')
open('deep', 'w').close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="without root all sandboxes run as our user")
def test_a_folder_of_another_user_is_taken_over(
    sealed: Sandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """A working directory stays its user's; if that one is leased, the next user owns all of it."""
    workspace = tmp_path / "workspace"
    (tmp_path / "outside").touch()

    def owner(code: str) -> int:
        handle = start(sealed, code)
        assert _ending(handle)[0] == 0, (tmp_path / "log").read_text()
        handle.stop()
        return workspace.stat().st_uid

    first = owner(f"{_DEEP}\nos.symlink({str(tmp_path / 'outside')!r}, '/workspace/link')")
    assert owner("pass") == first
    lease = Users().lease(first)
    assert lease is not None
    assert lease[0] == first
    code = "import os\nfor _ in range(1500): os.chdir('d')\nopen('deep', 'a').close()"
    try:
        assert owner(code) != first
    finally:
        os.close(lease[1])
        remove_tree(str(workspace / "d"))  # pytest's own removal of old folders recurses
    assert (tmp_path / "outside").stat().st_uid == 0


def _running(mark: str) -> list[int]:
    """Return the ids of all processes of this machine whose command line holds `mark`."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if mark.encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
    return found


# --- ends -----------------------------------------------------------------------------------------


def test_a_program_runs_and_says_how_it_ended(
    sandbox: Sandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """Exit code and reason are those of the program, and what it printed is in the log."""
    handle = start(sandbox, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert _ending(handle) == (3, "it ended with exit code 3")
    handle.stop()
    assert sorted((tmp_path / "log").read_text().split()) == ["err", "out"]


def test_a_running_program_has_no_exit_code(sandbox: Sandbox, start: Callable[..., Handle]) -> None:
    """Until its end a program is alive and has no exit code; a success is 0."""
    handle = start(sandbox, "import time; time.sleep(1)")
    assert handle.alive()
    assert handle.exit_code() is None
    assert _ending(handle)[0] == 0


def test_a_program_that_kills_itself_is_told(sandbox: Sandbox, start: Callable[..., Handle]) -> None:
    """An end by a signal is 128 and its number."""
    code, _ = _ending(start(sandbox, "import os; os.kill(os.getpid(), 9)"))
    assert code == 128 + 9


def test_a_program_is_run_to_its_end(sandbox: Sandbox, tmp_path: Path) -> None:
    """`run_program` tells success, failure and want of time apart in every sandbox."""
    workspace = tmp_path / "workspace"
    for code, seconds, status in (
        ("open('a', 'w').write('1')", 30, CellStatus.OK),
        ("open('b')", 30, CellStatus.ERROR),
        ("import time; time.sleep(60)", 2, CellStatus.TIMEOUT),
    ):
        result = run_program(
            sandbox,
            ("-c", code),
            workspace,
            inputs=(),
            env={},
            seconds=seconds,
            memory_bytes=MEMORY,
        )
        assert result.status is status, result
    assert (workspace / "a").read_text() == "1"


# --- kills ----------------------------------------------------------------------------------------


def test_kill_ends_everything(sandbox: Sandbox, start: Callable[..., Handle], tmp_path: Path) -> None:
    """When `kill` returns, a program that ignores signals, its child and the scratch folder are gone."""
    mark = f"mark-{os.getpid()}-{sandbox.name[:6]}"
    code = STUBBORN.format(mark=mark, own_group=sandbox.sealed, inside=sandbox.sealed)
    handle = start(sandbox, code)
    _until((tmp_path / "workspace" / "up").exists)
    _until(lambda: len(_running(mark)) >= 2)
    handle.stop()
    assert _running(mark) == []
    assert not (tmp_path / "scratch").exists()
    assert not handle.alive()
    handle.stop()  # a second time does nothing


_PARENT = """
import sys, time
from pathlib import Path
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.docker import DockerSandbox
from comind.session.process import ProcessSandbox
from tests.contract.sandboxes import STUBBORN, spec_of

name, folder, mark = sys.argv[1:]
made = {"bubblewrap": BubblewrapSandbox, "docker": DockerSandbox, "process": ProcessSandbox}
sandbox = made[name]()
code = STUBBORN.format(mark=mark, own_group=sandbox.sealed, inside=sandbox.sealed)
handle = sandbox.start(spec_of(sandbox, Path(folder), code))
time.sleep(600)
"""


def _start_parent(name: str, folder: Path, mark: str, address: str) -> "subprocess.Popen[bytes]":
    """Start a process of its own that starts a program in a sandbox; return when the program runs."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": address}
    argv = [sys.executable, "-c", _PARENT, name, str(folder), mark]
    parent = subprocess.Popen(argv, env=env, start_new_session=True)
    _until((folder / "workspace" / "up").exists, 60)
    _until(lambda: len(_running(mark)) >= 3)
    return parent


@pytest.mark.parametrize("name", ALL)
def test_programs_and_containers_end_when_we_are_killed(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """When we are killed, program, children, container and scratch folder go within seconds."""
    address = request.getfixturevalue("engine") if name == "docker" else ""
    mark = f"mark-{os.getpid()}-orphan-{name}"
    parent = _start_parent(name, tmp_path, mark, address)
    parent.kill()
    parent.wait()
    _until(lambda: _running(mark) == [] and not (tmp_path / "scratch").exists(), 15)
    if name == "docker":
        owned = ["ps", "--all", "--quiet", "--filter", "label=comind.owner", "--no-trunc"]
        _until(lambda: str(parent.pid) not in docker(address, *owned, "--format", "{{.Labels}}"), 15)


# --- limits ---------------------------------------------------------------------------------------


def test_a_program_without_memory_gets_an_error(sealed: Sandbox, start: Callable[..., Handle]) -> None:
    """Asking for more memory than the limit is refused, so that a program can go on without it."""
    code = "try: bytearray(3 << 30)\nexcept MemoryError: raise SystemExit(7)"
    assert _ending(start(sealed, code))[0] == 7


def test_processes_are_bounded(sealed: Sandbox, start: Callable[..., Handle], tmp_path: Path) -> None:
    """A program that forks without end is refused at the limit."""
    bomb = """
import os, time
count = 0
try:
    while count < 500:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    pass
open('count', 'w').write(str(count))
"""
    handle = start(sealed, bomb, processes=40)
    _until((tmp_path / "workspace" / "count").exists, 60)
    _until(lambda: bool((tmp_path / "workspace" / "count").read_text()))
    handle.stop()
    assert int((tmp_path / "workspace" / "count").read_text()) <= 40


def test_files_are_bounded(sandbox: Sandbox, start: Callable[..., Handle], tmp_path: Path) -> None:
    """A file cannot grow beyond the limit; temporary folders of sealed ones are bounded as a whole."""
    code = """
import os
try:
    with open('big', 'wb') as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
except OSError as error:
    print('refused', error.errno)
for folder in ('/tmp', '/dev/shm'):
    facts = os.statvfs(folder)
    print(facts.f_blocks * facts.f_frsize <= 1 << 30)
"""
    _ending(start(sandbox, code, file_bytes=8 << 20))
    said = (tmp_path / "log").read_text().split("\n")
    assert said[0] == "refused 27"
    assert (tmp_path / "workspace" / "big").stat().st_size <= 8 << 20
    if sandbox.sealed:
        assert said[1:3] == ["True", "True"]


def test_the_log_is_bounded(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """A program that prints without end fills no disk."""
    code = "import sys\nfor _ in range(40): sys.stdout.write('x' * (1 << 20))"
    assert _ending(start(docker_sandbox, code))[0] == 0
    assert (tmp_path / "log").stat().st_size == 1 << 20


def test_memory_is_that_of_all_processes(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle]
) -> None:
    """Processes that are small one by one are together held to the limit; files in memory count."""
    code = """
import os
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(100 << 20)
        x[::4096] = b'1' * len(x[::4096])
        os._exit(0 if open('/dev/shm/%d' % os.getpid(), 'wb').write(bytes(100 << 20)) else 1)
killed = sum(os.waitstatus_to_exitcode(os.wait()[1]) != 0 for _ in range(6))
os._exit(7 if killed else 0)
"""
    ended, _ = _ending(start(docker_sandbox, code, memory_bytes=300 << 20))
    assert ended in (7, 137)  # the kernel chooses whom: a child, or the program itself


# --- what else a container keeps apart ------------------------------------------------------------


def test_there_is_no_interface_and_no_name_service(
    sealed: Sandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """Inside there is no network interface but the loopback, and no host's name."""
    code = """
import socket
print([name for _, name in socket.if_nameindex()])
print(socket.gethostname())
try: print(socket.gethostbyname('example.com'))
except OSError: print('unknown')
"""
    _ending(start(sealed, code))
    said = (tmp_path / "log").read_text().splitlines()
    assert said[0] == "['lo']"
    assert said[2] == "unknown"
    if sealed.name.startswith("docker"):
        assert said[1] == "sandbox"


def test_system_calls_are_filtered(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """The engine's filter is on, and new namespaces, mounts and the system's folders are refused."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Seccomp:')])
for path in ('/x', '/usr/x', '/etc/x', '/root/x'):
    try: open(path, 'w'); print(path)
    except OSError: pass
"""
    _ending(start(docker_sandbox, code))
    assert (tmp_path / "log").read_text().splitlines() == ["-1 -1", "['2']"]


def test_the_environment_is_the_given_one(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """A container is told what was given and its own name; nothing of ours or of the engine."""
    _ending(start(docker_sandbox, "import os; print(sorted(os.environ))"))
    known = {"PATH", "HOME", "HOSTNAME", "LC_CTYPE"}  # the last is Python's own doing
    assert set(ast.literal_eval((tmp_path / "log").read_text())) <= known


# --- nothing is left, and what is missing is named ------------------------------------------------


def test_the_image_is_named_by_its_content(docker_sandbox: DockerSandbox) -> None:
    """The name in the log holds the image's digest."""
    assert docker_sandbox.digest.startswith("sha256:")
    assert docker_sandbox.name == f"docker comind-sandbox-host@{docker_sandbox.digest[:19]}"


def test_a_container_is_gone_after_its_end(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle], engine: str
) -> None:
    """A program that ended leaves no container and no mount, also before anybody asked."""
    handle = start(docker_sandbox, "pass")
    _ending(handle)
    mine = ["ps", "--all", "--quiet", "--filter", f"label=comind.owner={process_identity()}"]
    _until(lambda: not docker(engine, *mine), 10)


def test_leftovers_of_dead_processes_are_removed(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What outlived its process and its keeper goes at the next start; what has an owner stays."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    dead = process_identity().rpartition("/")[0] + "/1"  # an earlier process with our id
    made = {}
    for name, label in (("dead", dead), ("alive", process_identity()), ("foreign", "")):
        labels = ["--label", f"comind.owner={label}"] if label else []
        made[name] = docker(engine, "create", *labels, "comind-sandbox-host", "/bin/true")
    try:
        DockerSandbox()
        left = docker(engine, "ps", "--all", "--quiet", "--no-trunc")
        assert made["dead"] not in left
        assert made["alive"] in left
        assert made["foreign"] in left
    finally:
        for name in ("alive", "foreign"):
            docker(engine, "rm", made[name])


def test_killed_with_its_keeper_a_container_goes_at_the_next_start(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even when process and keeper are killed at once, the next start ends what they left."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    mark = f"mark-{os.getpid()}-both"
    parent = _start_parent("docker", tmp_path, mark, engine)
    keepers = [pid for pid in _running("container_supervisor.py") if str(tmp_path) in _command(pid)]
    assert len(keepers) == 1
    for pid in (*keepers, parent.pid):
        os.kill(pid, signal.SIGKILL)
    parent.wait()
    assert _running(mark)
    DockerSandbox()
    assert not _running(mark)


def _command(pid: int) -> str:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode()


def test_a_container_that_cannot_start_is_our_failure(
    docker_sandbox: DockerSandbox, start: Callable[..., Handle], tmp_path: Path
) -> None:
    """A mount that does not exist is an error of ours with a reason, not a result of the program."""
    missing = (Input(tmp_path / "nowhere", "input/x"),)
    with pytest.raises(SandboxError, match="bind source path does not exist"):
        start(docker_sandbox, "pass", inputs=missing)
    driver = 'could not be started: could not select device driver "nvidia"'
    with pytest.raises(SandboxError, match=driver):  # no machine of ours has one
        start(docker_sandbox, "pass", env={"CUDA_VISIBLE_DEVICES": "GPU-aaaa"})
    with pytest.raises(SandboxError, match=r"refuses: .*[Mm]emory limit"):
        start(docker_sandbox, "pass", memory_bytes=1)


@pytest.mark.parametrize(
    ("address", "said", "hint"),
    [
        ("unix:///nowhere.sock", "no container engine answers at /nowhere.sock", "docker.io"),
        ("tcp://127.0.0.1:1", "not on this machine", "DOCKER_HOST"),
    ],
)
def test_a_missing_engine_is_named(
    address: str, said: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an engine on this machine one line says so, and how to get one."""
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SandboxError, match=said) as caught:
        DockerSandbox()
    assert hint in caught.value.hint


def test_a_missing_image_is_named(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the image nothing is pulled: one line names it, and the command that builds it."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    with pytest.raises(SandboxError, match="there is no image nobody/made-this") as caught:
        DockerSandbox("nobody/made-this")
    assert "make image" in caught.value.hint


@pytest.fixture
def own_engine(engine: str) -> Iterator[Path]:
    """The folder of an engine that a test may kill."""
    folder = folder_of_the_run().with_name(f"comind-f-{os.getpid()}")
    folder.mkdir()
    script("engine.sh", "start", str(folder), str(os.getpid()))
    script("host-image.sh", DOCKER_HOST=f"unix://{folder}/docker.sock")
    yield folder
    script("engine.sh", "stop", str(folder))
    shutil.rmtree(folder)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_goes_away_is_named(
    how: signal.Signals,
    own_engine: Path,
    start: Callable[..., Handle],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When the engine ends, so does the program, soon; one line says that it was the engine."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{own_engine}/docker.sock")
    sandbox = DockerSandbox()
    mark = f"mark-{os.getpid()}-engine"
    handle = start(sandbox, f"import time; open('up', 'w').close(); time.sleep(600)  # {mark}")
    _until((tmp_path / "workspace" / "up").exists)
    os.kill(int((own_engine / "dockerd.pid").read_text()), how)
    with pytest.raises(SandboxError, match="the container engine stopped answering"):
        _until(lambda: not handle.alive())
    _until(lambda: _running(mark) == [])
    handle.stop()
    with pytest.raises(SandboxError, match="no container engine answers"):
        start(sandbox, "pass")

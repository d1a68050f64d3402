"""One suite for sessions in every sandbox; what seals is then attacked."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.errors import SandboxError
from comind.session.kernel_session import KernelSession
from comind.session.load import CellUsage
from comind.session.packages import Packages
from comind.session.process import ProcessSandbox
from comind.session.session_ports import CellStatus, Input, Sandbox
from comind.system.interpreter import Interpreter
from tests.contract.sandboxes import ALL, SEALED, made
from tests.unit.session.wheels import make_wheel

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def _open(sandbox: Sandbox, folder: Path, *, persistent: bool = True, threads: int = 1) -> KernelSession:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    (data / "train.csv").write_text("a,b\n1,2\n")
    return KernelSession(
        sandbox,
        folder / "workspace",
        inputs=(Input(data, "input/demo"),),
        env={"PYTHONHASHSEED": "0"},
        memory_bytes=8 << 30,
        log=folder / "session.log",
        persistent=persistent,
        threads=threads,
    )


@pytest.fixture(params=ALL)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KernelSession]:
    """A session in each sandbox; a sandbox that does not work here is a failure, not a skip."""
    opened = _open(made(request.param, request), tmp_path)
    yield opened
    opened.close()


@pytest.fixture(params=SEALED)
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KernelSession]:
    """A session in each sandbox that seals."""
    opened = _open(made(request.param, request), tmp_path)
    yield opened
    opened.close()


def _run(session: KernelSession, code: str, seconds: float = 60) -> str:
    result = session.run(code, seconds=seconds)
    assert result.status is CellStatus.OK, result.error
    return result.output.strip()


def test_variables_live_from_cell_to_cell(session: KernelSession) -> None:
    """What one cell sets the next one sees; the last expression and prints are output."""
    assert _run(session, "x = 20") == ""
    assert _run(session, "print('sum'); x + 1") == "sum\n21"


def test_libraries_keep_to_the_share_of_cores(tmp_path: Path) -> None:
    """Every library that starts threads is told how many; without a share none is told anything."""
    told = "import os; print(sorted(v for k, v in os.environ.items() if 'NUM_THREADS' in k))"
    for threads, said in ((3, "['3', '3', '3', '3']"), (0, "[]")):
        session = _open(ProcessSandbox(), tmp_path, threads=threads)
        try:
            assert _run(session, told) == said
            assert session.threads == threads
        finally:
            session.close()


def test_the_load_of_a_cell_is_measured(session: KernelSession) -> None:
    """Processor time counts with that of programs that have exited, and memory is what is held."""
    busy = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    code = f"""
import subprocess, sys
held = b"x" * (300 << 20)
subprocess.run([sys.executable, "-c", {busy!r}], check=True)
"""
    result = session.run(code, seconds=60)
    assert result.status is CellStatus.OK, result.error
    (sample,) = result.load
    assert sample.cores * sample.seconds > 0.5
    assert sample.cores < os.cpu_count() + 0.5
    assert 300 << 20 < sample.memory_bytes < 2 << 30
    assert sample.gpu_percent is None
    (idle,) = session.run("import time; time.sleep(1)", seconds=60).load
    assert idle.cores < 0.5


def test_an_error_is_a_result(session: KernelSession) -> None:
    """A cell that raises gives its traceback without colours, and the session goes on."""
    result = session.run("1 / 0", seconds=60)
    assert result.status is CellStatus.ERROR
    assert result.error.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "\x1b" not in result.error
    assert not result.state_lost
    assert _run(session, "1 + 1") == "2"


def test_inputs_are_there_to_read(session: KernelSession) -> None:
    """Inputs lie below the working directory; what the code writes is seen by the host."""
    assert _run(session, "print(open('input/demo/train.csv').read())") == "a,b\n1,2"
    _run(session, "open('out.csv', 'w').write('1')")
    assert (session.workspace / "out.csv").read_text() == "1"


def test_a_slow_cell_is_interrupted(session: KernelSession) -> None:
    """At its deadline a cell is interrupted, and its variables are kept."""
    _run(session, "x = 1")
    result = session.run("import time; time.sleep(60)", seconds=1)
    assert result.status is CellStatus.TIMEOUT
    assert result.seconds < 8
    assert not result.state_lost
    assert _run(session, "x") == "1"


class _Watch:
    """Looks every so many seconds; stops a cell once it has printed something."""

    def __init__(self, word: str, *, every: float = 0.2) -> None:
        self._word = word
        self._every = every
        self.next_look = every
        self.seen: list[str] = []

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        assert seconds >= self.next_look
        assert usage is not None
        self.next_look = seconds + self._every
        self.seen.append(output)
        return f"it printed {self._word}" if self._word in output else None


_COUNTING = """
import time
for number in range({last}):
    print('line', number, flush=True)
    time.sleep(0.1)
"""


def test_a_watched_cell_is_stopped(session: KernelSession) -> None:
    """A cell is stopped when its watch says so; output and variables so far are kept."""
    result = session.run(_COUNTING.format(last=600), seconds=60, watch=_Watch("line 12"))
    assert result.status is CellStatus.STOPPED
    assert result.error == "it printed line 12"
    assert "line 12" in result.output
    assert result.seconds < 10
    assert not result.state_lost
    assert 12 <= int(_run(session, "number")) < 100


def test_a_watched_cell_that_nobody_stops_ends_by_itself(session: KernelSession) -> None:
    """A watch sees the output grow, and without its word the cell is as it would have been."""
    watch = _Watch("nothing of the kind")
    result = session.run(_COUNTING.format(last=10), seconds=60, watch=watch)
    assert result.status is CellStatus.OK
    assert result.output.splitlines()[-1] == "line 9"
    assert len(set(watch.seen)) > 2
    assert all(result.output.startswith(seen) for seen in watch.seen)


def test_a_stop_that_is_ignored_ends_the_interpreter(session: KernelSession) -> None:
    """A cell that swallows the interrupt is killed, and both reasons are told."""
    stubborn = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('lost', flush=True)
while True: time.sleep(1)
"""
    result = session.run(stubborn, seconds=60, watch=_Watch("lost"))
    assert result.status is CellStatus.DIED
    assert result.error == "it printed lost, and it did not react to an interrupt"
    assert result.state_lost
    assert result.seconds < 20


def test_a_dead_interpreter_is_noticed_and_replaced(session: KernelSession) -> None:
    """A cell that ends the interpreter comes back in seconds, and the next cell runs in a new one."""
    _run(session, "x = 1")
    begun = time.monotonic()
    result = session.run("import os; os._exit(3)", seconds=60)
    assert time.monotonic() - begun < 10
    assert result.status is CellStatus.DIED
    assert result.state_lost
    assert _run(session, "'x' in globals()") == "False"


def test_a_session_can_start_afresh_for_each_cell(tmp_path: Path) -> None:
    """Without persistence no variable survives its cell."""
    session = _open(ProcessSandbox(), tmp_path, persistent=False)
    try:
        assert session.run("x = 1", seconds=60).state_lost
        assert _run(session, "'x' in globals()") == "False"
    finally:
        session.close()


def test_closing_ends_what_was_started(session: KernelSession) -> None:
    """A process that a cell started does not outlive the session."""
    _run(session, "import subprocess; p = subprocess.Popen(['sleep', '4242.4242'])")
    session.close()
    time.sleep(0.5)
    commands = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                commands.append((process / "cmdline").read_bytes())
            except OSError:
                continue
    assert not any(b"4242.4242" in command for command in commands)


def test_a_crash_at_the_start_is_told(tmp_path: Path) -> None:
    """A kernel that cannot start is an error of ours with the reason, not a result of the code."""
    session = _open(ProcessSandbox(Interpreter("/bin/false", ())), tmp_path)
    with pytest.raises(SandboxError, match="ended at its start"):
        session.run("1", seconds=10)


# --- what a sealed session keeps out of reach -----------------------------------------------------


def test_host_files_do_not_exist(sealed: KernelSession, tmp_path: Path) -> None:
    """A file outside the inputs is not there, neither by its path nor over a link."""
    secret = tmp_path / "sealed" / "validation_answers.csv"
    secret.parent.mkdir()
    secret.write_text("labels")
    probe = f"""
import os
paths = [{str(secret)!r}, {str(_PROJECT)!r}, '/etc/shadow', '/home', '/var', '/boot']
found = [path for path in paths if os.path.exists(path) and os.path.getsize(path)]
if os.path.exists('/etc/passwd') and len(open('/etc/passwd').readlines()) > 2:
    found.append('/etc/passwd')
os.symlink({str(secret)!r}, 'link')
print(found, os.path.exists('link'))
"""
    assert _run(sealed, probe) == "[] False"


def test_inputs_cannot_be_changed(sealed: KernelSession) -> None:
    """Writing to an input fails, and so does replacing it."""
    for attack in (
        "open('input/demo/train.csv', 'a').write('x')",
        "import os; os.remove('input/demo/train.csv')",
        "import os; os.rename('input/demo', 'elsewhere')",
        "import os; os.chmod('input/demo/train.csv', 0o777)",
    ):
        assert sealed.run(attack, seconds=60).status is CellStatus.ERROR, attack
    assert _run(sealed, "open('input/demo/train.csv').read()") == "'a,b\\n1,2\\n'"


def test_there_is_no_network(sealed: KernelSession) -> None:
    """A listener on the host's loopback cannot be reached from inside."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = listener.getsockname()
        code = f"import socket; socket.create_connection({address!r}, timeout=3)"
        assert sealed.run(code, seconds=60).status is CellStatus.ERROR


@pytest.mark.parametrize("name", SEALED)
def test_our_environment_stays_ours(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in our environment is in no process's environment that the code can see."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    probe = """
import os, pathlib
seen = [dict(os.environ)]
for entry in pathlib.Path('/proc').iterdir():
    if entry.name.isdigit():
        try: seen.append((entry / 'environ').read_bytes())
        except OSError: pass
print('canary' in str(seen), len(seen) > 1)
"""
    session = _open(made(name, request), tmp_path)
    try:
        assert _run(session, probe) == "False True"
    finally:
        session.close()


def test_the_code_is_nobody(sealed: KernelSession) -> None:
    """Inside, the code has no privileges: neither root nor any capability."""
    status = _run(sealed, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["CapEff"].strip("0") == ""
    assert fields["NoNewPrivs"] == "1"
    if os.getuid() == 0:
        assert len(ids := set(fields["Uid"].split())) == 1
        assert ids < set(map(str, range(10_001, 11_025)))


def test_a_planted_link_does_not_move_a_mount(sealed: KernelSession, tmp_path: Path) -> None:
    """A link left where inputs are mounted does not lead the next session's mount elsewhere."""
    _run(sealed, "1")
    sealed.close()
    folder = sealed.workspace / "input"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert _run(sealed, "print(open('input/demo/train.csv').read())") == "a,b\n1,2"
    assert sys.executable


def test_a_closed_folder_is_opened_for_the_next_start(sealed: KernelSession) -> None:
    """Code that takes away the rights on its working directory and inputs does not end the session."""
    code = "import os\nfor path in ('input', '.'): os.chmod(path, 0)\nos._exit(1)"
    assert sealed.run(code, seconds=60).status is CellStatus.DIED
    assert (
        _run(sealed, "open('x', 'w').close(); print(open('input/demo/train.csv').read())") == "a,b\n1,2"
    )


@pytest.mark.parametrize("name", ALL)
def test_packages_come_from_outside_and_stay_as_they_are(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell's first lines are answered by the installer; the interpreter finds what was allowed."""
    make_wheel(tmp_path / "wheels", "tiny_thing")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    packages = Packages(tmp_path / "packages", tmp_path / "packages.json", allowed=["tiny-thing"])
    session = KernelSession(
        made(name, request),
        tmp_path / "workspace",
        env={},
        memory_bytes=8 << 30,
        log=tmp_path / "session.log",
        packages=packages,
    )
    try:
        assert _run(session, "'before'") == "'before'"
        said = _run(session, "%pip install tiny_thing other\nimport tiny_thing\ntiny_thing.version")
        assert "installed tiny-thing 1.0" in said
        assert "pip install other: refused" in said
        assert said.endswith("'1.0'")
        if session.sealed:
            spoil = "open(tiny_thing.__file__, 'a')"
            assert session.run(spoil, seconds=60).status is CellStatus.ERROR
    finally:
        session.close()

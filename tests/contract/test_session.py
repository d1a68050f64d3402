"""One suite for sessions in every sandbox; what seals is then attacked."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.errors import SandboxError
from comind.session.base import CellStatus, Input, Sandbox
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel import KernelSession
from comind.session.process import ProcessSandbox

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"

SEALED = {"bubblewrap": BubblewrapSandbox}
ALL = {**SEALED, "process": ProcessSandbox}


def _open(sandbox: Sandbox, folder: Path, *, persistent: bool = True) -> KernelSession:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    (data / "train.csv").write_text("a,b\n1,2\n")
    return KernelSession(
        sandbox,
        folder / "workspace",
        inputs=(Input(data, "input/demo"),),
        env={"OMP_NUM_THREADS": "1"},
        memory_bytes=8 << 30,
        log=folder / "session.log",
        persistent=persistent,
    )


@pytest.fixture(params=sorted(ALL))
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KernelSession]:
    """A session in each sandbox; a sandbox that does not work here is a failure, not a skip."""
    opened = _open(ALL[request.param](), tmp_path)
    yield opened
    opened.close()


@pytest.fixture(params=sorted(SEALED))
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KernelSession]:
    """A session in each sandbox that seals."""
    opened = _open(SEALED[request.param](), tmp_path)
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

    class Broken(ProcessSandbox):
        python = "/bin/false"

    session = _open(Broken(), tmp_path)
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
paths = [{str(secret)!r}, {str(_PROJECT)!r}, '/etc/passwd', '/etc/shadow', '/home', '/var', '/boot']
found = [path for path in paths if os.path.exists(path)]
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


def test_our_environment_stays_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    for make in SEALED.values():
        session = _open(make(), tmp_path)
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
        assert fields["Uid"].split() == ["10001"] * 4


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

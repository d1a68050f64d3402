"""Attacks by processes and signals: on the kernel, its driver, the orchestrator, and what follows."""

import os
import time

from comind.session.session_ports import CellStatus
from tests.attacks.conftest import Scene, ended, lives, processes_with, said


def test_nobody_of_the_host_can_be_seen_or_signalled(shared: Scene) -> None:
    """The orchestrator's process id means nothing inside; signals to all reach only the sandbox."""
    code = f"""
import os, signal
try:
    os.kill({os.getpid()}, 0)
    print('SEEN', open('/proc/{os.getpid()}/cmdline').read())
except (ProcessLookupError, PermissionError, FileNotFoundError) as error:
    print('no')
print(len([p for p in os.listdir('/proc') if p.isdigit()]) < 10)
"""
    assert said(shared.opened[0], code) == "no\nTrue"


def test_a_signal_to_everybody_ends_only_the_sandbox(scene: Scene) -> None:
    """kill(-1) takes the kernel and its driver along, and the next cell runs."""
    session = scene.open()
    result = session.run("import os; os.kill(-1, 9)", seconds=60)
    assert result.status is CellStatus.DIED
    assert result.seconds < 10
    assert lives(session)


def test_the_environment_holds_nothing_of_ours(scene: Scene) -> None:
    """Neither the kernel's nor any visible process's environment holds a variable of ours."""
    os.environ["COMIND_ATTACK_CANARY"] = "canary-in-env"
    try:
        code = """
import os, glob
seen = str(dict(os.environ))
for path in glob.glob('/proc/*/environ'):
    try: seen += open(path).read()
    except OSError: pass
print('canary-in-env' in seen)
"""
        assert said(scene.open(), code) == "False"
    finally:
        del os.environ["COMIND_ATTACK_CANARY"]


def test_nothing_can_be_traced_that_is_not_its_own(shared: Scene) -> None:
    """The sandbox's first process cannot be attached to or read, unless it is the code's user's own."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16
own = os.stat('/proc/1').st_uid == os.getuid()
print(own or libc.ptrace(PTRACE_ATTACH, 1, 0, 0) == -1)
try:
    open('/proc/1/mem', 'rb').read(1); print('READ')
except OSError: print('refused')
"""
    assert said(shared.opened[0], code) == "True\nrefused"


def test_killing_the_driver_is_a_dead_interpreter(scene: Scene) -> None:
    """A cell that ends its own parent is over in seconds, and the next one runs."""
    session = scene.open()
    result = session.run("import os, signal, time; os.kill(os.getppid(), 9); time.sleep(60)", seconds=60)
    ended(result, "SIGKILL")
    assert result.seconds < 10
    assert lives(session)


def test_a_stopped_driver_ends_at_the_deadline(scene: Scene) -> None:
    """A cell that puts its own parent to sleep comes back at its deadline and a grace."""
    session = scene.open()
    result = session.run("import os, signal; os.kill(os.getppid(), signal.SIGSTOP)", seconds=2)
    assert result.status is CellStatus.DIED
    assert result.seconds < 20
    assert lives(session)


def test_a_cell_that_stops_itself_goes_on(scene: Scene) -> None:
    """A kernel that was stopped by a signal is woken."""
    session = scene.open()
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('awake')"
    result = session.run(code, seconds=20)
    assert result.output.strip() == "awake"
    assert result.seconds < 10


def test_becoming_another_program_is_noticed(scene: Scene) -> None:
    """A kernel that is replaced by another program is ended in seconds, and the reason is told."""
    session = scene.open()
    result = session.run("import os; os.execv('/bin/sleep', ['sleep', '1000'])", seconds=60)
    ended(result, "became another program")
    assert result.seconds < 10
    assert lives(session)


def test_closing_every_descriptor_is_noticed(scene: Scene) -> None:
    """A kernel that closes all it has open is ended in seconds."""
    session = scene.open()
    result = session.run("import os, time; os.closerange(0, 4096); time.sleep(60)", seconds=60)
    assert result.status is CellStatus.DIED
    assert result.seconds < 10
    assert lives(session)


def test_blocked_signals_and_swallowed_interrupts_end_at_a_grace(scene: Scene) -> None:
    """A cell that blocks every signal that can be blocked is killed after the grace."""
    session = scene.open()
    code = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
signal.signal(signal.SIGINT, lambda *_: None)
while True:
    try:
        sum(range(10_000))
    except BaseException: pass
"""
    result = session.run(code, seconds=1)
    ended(result, "it did not react to an interrupt")
    assert result.seconds < 15
    assert lives(session)


def test_daemons_end_with_the_attempt(scene: Scene) -> None:
    """A daemon that forked twice and has a session of its own is gone when the session is closed."""
    session = scene.open()
    mark = f"daemon-of-{os.getpid()}"
    code = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])
    os._exit(0)
_ = os.wait()
"""
    said(session, code)
    for _ in range(100):
        if processes_with(mark):
            break
        time.sleep(0.05)
    assert processes_with(mark)
    session.close()
    end = time.monotonic() + scene.close_seconds
    while processes_with(mark) and time.monotonic() < end:
        time.sleep(0.1)
    assert processes_with(mark) == []


def test_a_daemon_keeps_no_cell_open(scene: Scene) -> None:
    """A child that holds the cell's output does not keep the cell, nor print into the next one."""
    session = scene.open()
    code = """
import subprocess
child = subprocess.Popen('while true; do echo from-the-daemon; sleep 0.05; done', shell=True)
"""
    result = session.run(code, seconds=60)
    assert result.seconds < 10
    assert said(session, "import time; time.sleep(0.5); print('own')") == "own"


def test_late_threads_do_not_print_into_the_next_cell(scene: Scene) -> None:
    """What a thread of an earlier cell prints, to streams or descriptors, is not the next cell's."""
    session = scene.open()
    code = """
import threading, time, os, sys
def talk():
    while True:
        print('late', flush=True); sys.stderr.write('late'); time.sleep(0.02)
threading.Thread(target=talk, daemon=True).start()
"""
    said(session, code)
    assert said(session, "time.sleep(0.5); print('own')") == "own"


def test_input_is_refused_at_once(shared: Scene) -> None:
    """A cell that asks the user fails; nobody is there to answer."""
    result = shared.opened[0].run("input('name? ')", seconds=60)
    assert result.status is CellStatus.ERROR
    assert result.seconds < 10
    result = shared.opened[0].run("import os; print(os.read(0, 10))", seconds=60)
    assert result.output.strip() == "b''"


def test_closed_streams_hurt_only_their_cell(scene: Scene) -> None:
    """After a cell that closes its output, by object and by number, the next one prints."""
    session = scene.open()
    session.run(
        "import os, sys; sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)", seconds=30
    )
    assert lives(session)
    session.run("import sys; sys.stdout = sys.stderr = None", seconds=30)
    session.run(
        "import sys; sys.stdout = sys.__stdout__ = open('/dev/full', 'w'); print('x' * 100_000)",
        seconds=30,
    )
    assert session.run("import sys; 1", seconds=30).seconds < 10

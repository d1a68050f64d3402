"""Limits of processor time, memory and time around a function that is not trusted."""

import json
import time

import pytest

from comind.programs.inside import limits
from comind.programs.inside.limits import Ended, unpacked
from comind.programs.inside.values import from_text
from tests.attacks.conftest import processes_with
from tests.unit.programs.conftest import Limited

_BURN = "end = time.process_time() + {seconds}\nwhile time.process_time() < end: pass"
_THREADS = """
    from threading import Thread
    for _ in range(4):
        Thread(target=lambda: sum(iter(int, 1))).start()
    time.sleep(60)
"""


def _burner(seconds: float, indent: int) -> str:
    """Return lines that use the processor for a time."""
    return _BURN.format(seconds=seconds).replace("\n", "\n" + " " * indent)


def test_a_value_is_returned_with_its_processor_time(limited: Limited) -> None:
    """A function that ends in time gives its value, and the processor time that it took."""
    ended = limited(f"def function():\n    {_burner(0.3, 4)}\n    return (1, {{2: 3}})")
    assert ended.failure == ""
    assert from_text(ended.value) == (1, {2: 3})
    assert 0.25 < ended.seconds < 0.8


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("while True: pass", limits.PROCESSOR_TIME),
        ("signal.signal(signal.SIGXCPU, lambda *_: None)\n    while True: pass", limits.PROCESSOR_TIME),
        ("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True: pass", limits.PROCESSOR_TIME),
        (
            "while True:\n        try: sum(iter(int, 1))\n        except BaseException: pass",
            limits.PROCESSOR_TIME,
        ),
        (
            _THREADS,
            limits.PROCESSOR_TIME,
        ),
        ("return bytearray(1 << 30)", limits.MEMORY),
        ("found = []\n    while True: found.append('x' * (1 << 20) + str(len(found)))", limits.MEMORY),
        ("return object()", limits.NOT_PLAIN),
        ("return lambda: 1", limits.NOT_PLAIN),
        ("return 10 ** 5_000", limits.NOT_PLAIN),
        ("value = []\n    for _ in range(100_000): value = [value]\n    return value", limits.NOT_PLAIN),
        ("value = []\n    value.append(value)\n    return value", limits.NOT_PLAIN),
        ("return 'x' * (33 << 20)", limits.TOO_LARGE),
        ("os._exit(0)", limits.ENDED),
        ("os._exit(3)", limits.ENDED),
        ("os.kill(os.getpid(), 9)", limits.ENDED),
        ("import ctypes\n    ctypes.string_at(0)", limits.ENDED),
        ("os.closerange(3, 200)\n    return 5", limits.ENDED),
        ("os._exit = lambda code: None\n    os.closerange(3, 200)\n    return 5", limits.ENDED),
        ("raise KeyError('lost')", limits.RAISED),
        ("raise SystemExit(0)", limits.RAISED),
        ("raise KeyboardInterrupt", limits.RAISED),
        ("function()", limits.RAISED),
        ("return input()", limits.RAISED),
    ],
)
def test_failures_are_named(body: str, failure: str, limited: Limited) -> None:
    """What a function does instead of returning a plain value within its limits is named."""
    ended = limited(f"def function():\n    {body}", seconds=0.5)
    assert (ended.failure, ended.value) == (failure, b"")


def test_sleep_ends_by_the_clock(limited: Limited) -> None:
    """A function that waits without using the processor is ended after twice its time and 5 seconds."""
    begun = time.monotonic()
    ended = limited("def function():\n    time.sleep(60)", seconds=0.1)
    assert ended.failure == limits.WAITED
    assert ended.seconds < 0.1
    assert 5 < time.monotonic() - begun < 10


@pytest.mark.parametrize("waits", ["os.wait()", "pass"], ids=["waited for", "running"])
def test_processes_that_it_starts_count(waits: str, limited: Limited) -> None:
    """The processor time of child processes counts, whether they are waited for or still run."""
    body = f"""
def function():
    for _ in range(3):
        if os.fork() == 0:
            {_burner(0.4, 12)}
            os._exit(0)
    for _ in range(3):
        {waits}
    time.sleep(2)
    return 5
"""
    ended = limited(body, seconds=0.6)
    assert ended.failure == limits.PROCESSOR_TIME
    assert ended.seconds > 0.6


def test_processes_that_nobody_waits_for_count(limited: Limited) -> None:
    """Children that the system removes unseen count: a program may not ignore their end to save time."""
    body = f"""
def function():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in range(6):
        if os.fork() == 0:
            {_burner(0.4, 12)}
            os._exit(0)
        time.sleep(0.5)
    return 5
"""
    ended = limited(body, seconds=0.6)
    assert ended.failure == limits.PROCESSOR_TIME


def test_daemons_are_gone_afterwards(limited: Limited) -> None:
    """Processes in a session of their own, whose parents have ended, end with the function."""
    mark = "limits-daemon-0b1c"
    body = f"""
import subprocess
def function():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)  # {mark}'])
            time.sleep(300)
        os._exit(0)
    os.wait()
    time.sleep(0.3)
    return 5
"""
    ended = limited(body, seconds=2)
    assert from_text(ended.value) == 5
    assert processes_with(mark) == []


@pytest.mark.torture
def test_a_fork_bomb_ends(limited: Limited) -> None:
    """A function that starts processes as fast as it can is ended, and nothing of it is left."""
    body = """
import resource, threading
resource.setrlimit(resource.RLIMIT_NPROC, (2_000, 2_000))
def function():
    while True:
        try: os.fork()
        except OSError: pass
"""
    ended = limited(body, seconds=1)
    assert ended.failure


@pytest.mark.parametrize(
    "written",
    [
        b"5",
        b"null\n5",
        b'["", "", NaN]\n5',
        b'["", "", ' + b"9" * 400 + b"]\n5",
        b'["", "", "soon"]\n5',
        b'["", 7, 1.0]\n5',
        b'["the items are 3, 5 and 8", "", 1.0]\n5',
        b'[["was not scored"], "", 1.0]\n5',
        b"[" * 5_000 + b"\n5",
        b"x" * 20_000,
        b"\xff\xff\n5",
    ],
)
def test_what_it_writes_into_our_pipe_is_not_believed(written: bytes, limited: Limited) -> None:
    """A function that answers in our place gets no words of its own into the failure, nor any other."""
    body = f"""
def function():
    for descriptor in range(3, 200):
        try: os.write(descriptor, {written!r})
        except OSError: pass
    os._exit(0)
"""
    ended = limited(body)
    assert ended.failure == limits.ENDED
    assert ended.detail == ""


def test_its_own_line_has_not_its_own_time(limited: Limited) -> None:
    """A function that answers in our place returns a value like any other; the time is ours."""
    body = f"""
def function():
    {_burner(0.3, 4)}
    for descriptor in range(3, 200):
        try: os.write(descriptor, b'["", "", 0.0]\\n5')
        except OSError: pass
    os._exit(0)
"""
    ended = limited(body)
    assert from_text(ended.value) == 5
    assert ended.seconds > 0.25


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        ("ValueError('x' * (1 << 20))", "ValueError: xxx"),
        ("Raising()", "Raising"),
        ("Endless()", ""),
        ("Nameless()", ""),
        ("ValueError('\\ud800')", "ValueError: "),
    ],
)
def test_exceptions_may_be_hostile(error: str, detail: str, limited: Limited) -> None:
    """An exception whose text is huge, raises, never ends or is no text is a failure like others."""
    body = f"""
class Raising(Exception):
    def __str__(self): raise self
class Endless(Exception):
    def __str__(self):
        while True: pass
class Meta(type):
    @property
    def __name__(self): raise RuntimeError
class Nameless(Exception, metaclass=Meta):
    def __str__(self): raise self
def function(): raise {error}
"""
    ended = limited(body, seconds=0.5)
    assert ended.failure in (limits.RAISED, limits.PROCESSOR_TIME, limits.ENDED)
    assert ended.detail.startswith(detail)
    assert len(ended.detail) <= 300


def test_what_is_packed_is_unpacked() -> None:
    """How a function ended comes back from its bytes; a value may have lines of its own."""
    ended = Ended(b'[1,\n2]\n"', limits.RAISED, "KeyError: 'a'\nb", 1.5)
    assert unpacked(ended.packed()) == ended


@pytest.mark.parametrize("failure", ["infeasible", "was not scored", "room is 17", 0, None])
def test_failures_are_of_ours(failure: object) -> None:
    """A failure of a program in other words than ours is a ValueError."""
    with pytest.raises(ValueError, match="not of ours"):
        unpacked(json.dumps([failure, "", 0.0]).encode() + b"\n")


def test_limits_of_its_surroundings_hold(limited: Limited) -> None:
    """Where less memory is allowed already, as in the session of an attempt, that is its limit."""
    body = """
import resource
def function():
    import subprocess
    script = '''
import ctypes, resource
from comind.programs.inside.limits import run_limited
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # no CAP_SYS_RESOURCE, by which root could have more
if __import__("os").getuid() == 0:
    __import__("os").setuid(65_534)
print(run_limited(lambda: 5, 1, 4_096))
'''
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
"""
    assert "value=b'5'" in str(from_text(limited(body, seconds=3, memory_mb=2_048).value))

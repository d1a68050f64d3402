"""Programs without end or measure, and solutions of any form."""

import time

import pytest

from comind.programs.inside import limits
from comind.programs.inside.problem import INFEASIBLE
from tests.attacks.conftest import processes_with
from tests.attacks.program_arena import FORGE, Arena


def test_daemons_end(arena: Arena) -> None:
    """Processes that leave session and group of a program end with it, and it has its honest score."""
    mark = "program-daemon-77a1"
    code = f"""
import os, subprocess, sys, time
def solve(numbers):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)  # {mark}"])
            time.sleep(300)
        os._exit(0)
    os.wait()
    time.sleep(0.1)
    return numbers
"""
    assert [each.score for each in arena.scores(code)] == [0.5, 0.5]
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("while True: pass", limits.PROCESSOR_TIME),
        ("time.sleep(600)", limits.WAITED),
        ("return len(bytearray(3 << 30))", limits.MEMORY),
        ("return 'x' * (40 << 20)", limits.TOO_LARGE),
        (
            "os.posix_fallocate(os.open('big', os.O_RDWR | os.O_CREAT), 0, 2 << 30); time.sleep(9)",
            limits.INTERFERED,
        ),
    ],
)
def test_limits_hold(arena: Arena, code: str, failure: str) -> None:
    """A program that computes, waits, takes memory or disk without end scores 0, and soon."""
    begun = time.monotonic()
    scores = arena.scores(f"import os, time\ndef solve(numbers):\n    {code}")
    assert {(each.score, each.failure) for each in scores} == {(0.0, failure)}
    assert time.monotonic() - begun < 30


def test_output_is_dropped(arena: Arena) -> None:
    """A gigabyte of output is written nowhere, and costs nothing but its time."""
    code = """
import os, sys
def solve(numbers):
    for _ in range(1_000):
        os.write(1, b"x" * (1 << 20))
        os.write(2, b"x" * (1 << 20))
    return numbers
"""
    assert [each.score for each in arena.scores(code)] == [0.5, 0.5]


@pytest.mark.torture
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n        try: os.fork()\n        except OSError: pass",
        "while True:\n        try: os.fork(); forge()\n        except OSError: pass",
        "for _ in range(40): os.fork() or time.sleep(len(bytearray(400 << 20)))\n    time.sleep(60)",
        "os.kill(os.getppid(), signal.SIGSTOP)\n    forge()\n    time.sleep(600)",
    ],
)
def test_bombs_end(arena: Arena, code: str) -> None:
    """Processes and memory without end, and a program that stops what runs it, score 0 in the end."""
    scores = arena.scores(f"{FORGE}\ndef solve(numbers):\n    {code}\n")
    assert [each.score for each in scores] == [0.0, 0.0]
    assert all(each.failure for each in scores)


@pytest.mark.parametrize(
    ("value", "failures"),
    [
        ("{'objective': 1e300, 'score': 1.0, 'numbers': numbers}", {INFEASIBLE}),
        ("[float('nan')] * 3", {INFEASIBLE}),
        ("float('inf')", {INFEASIBLE}),
        ("None", {INFEASIBLE}),
        ("lambda: numbers", {limits.NOT_PLAIN}),
        ("type('List', (list,), {'__eq__': lambda *_: True})([1])", {INFEASIBLE}),
        ("type('Text', (str,), {})('x' * 100_000)", {INFEASIBLE}),
        ("dict.fromkeys(range(1_000_000))", {INFEASIBLE}),
        ("{str(each): each for each in range(200_000)}", {INFEASIBLE}),
        ("10 ** 4_000", {INFEASIBLE}),
        ("nested(900)", {INFEASIBLE, limits.NOT_PLAIN}),
        ("nested(200_000)", {limits.NOT_PLAIN}),
        ("'\\ud800'", {INFEASIBLE}),
        ("written('[' * 20_000_000)", {INFEASIBLE}),
        ("written('[' + '[],' * 2_000_000 + '[]]')", {INFEASIBLE, "was not scored"}),
        ("written('9' * 1_000_000)", {INFEASIBLE}),
        ('written(\'{"__comind__": "dict", "items": 5}\')', {INFEASIBLE}),
        ("written(colliding())", {INFEASIBLE, "was not scored"}),
    ],
)
def test_solutions_may_be_of_any_form(arena: Arena, value: str, failures: set[str]) -> None:
    """A solution of any type, size, depth or form scores 0, and neither scorer nor grader fails."""
    code = f"""
import os, stat
def is_pipe(descriptor):
    try: return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError: return False
def nested(depth):
    value = []
    for _ in range(depth): value = [value]
    return value
def colliding():
    step = (1 << 61) - 1
    keys = ",".join(f"[{{step * each}},0]" for each in range(8_000))
    return '{{"__comind__":"dict","items":[' + keys + ']}}'
def written(text):
    data = memoryview(b'["", "", 0.0]\\n' + text.encode())
    pipe = next(each for each in range(3, 99) if is_pipe(each))
    while data:
        data = data[os.write(pipe, data):]
    os._exit(0)
def solve(numbers):
    return {value}
"""
    for each in arena.scores(code):
        assert each.score == 0
        assert each.failure in failures, each
        assert each.detail.isprintable()

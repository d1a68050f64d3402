"""Cores are shared between holders that are present at the same time."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.system.hardware import usable_cores
from comind.system.leases import Cores


def test_who_is_alone_gets_every_core(tmp_path: Path) -> None:
    """A single holder gets all cores, and so does the next one after it."""
    cores = Cores(8, tmp_path)
    for name in ("first", "second"):
        with cores.holding(name):
            assert cores.lease(name) == 8


def test_those_who_start_together_get_equal_shares(tmp_path: Path) -> None:
    """Presence counts before the first lease, so the first holder does not get all cores."""
    cores = Cores(8, tmp_path)
    with ExitStack() as stack:
        for name in "abcd":
            stack.enter_context(cores.holding(name))
        assert [cores.lease(name) for name in "abcd"] == [2, 2, 2, 2]


def test_a_lease_stays_as_it_is(tmp_path: Path) -> None:
    """A lease is idempotent, and does not change when another holder comes."""
    cores = Cores(4, tmp_path)
    with cores.holding("early"):
        assert cores.lease("early") == 4
        with cores.holding("late"):
            assert cores.lease("late") == 1
            assert cores.lease("early") == 4


def test_an_interrupted_holder_gets_what_it_had(tmp_path: Path) -> None:
    """The recorded number of cores is leased again after a restart, up to those of the machine."""
    cores = Cores(4, tmp_path)
    with cores.holding("resumed"), cores.holding("moved"):
        assert cores.lease("resumed", wanted=3) == 3
        assert cores.lease("moved", wanted=64) == 4


def test_what_was_held_comes_back_after_a_failure(tmp_path: Path) -> None:
    """A holder that fails releases its lease."""
    cores = Cores(4, tmp_path)

    def fail() -> None:
        with cores.holding("a"):
            cores.lease("a")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    with cores.holding("b"):
        assert cores.lease("b") == 4


@given(count=st.integers(0, 64), steps=st.lists(st.tuples(st.integers(0, 9), st.booleans())))
def test_shares_never_exceed_the_machine(count: int, steps: list[tuple[int, bool]]) -> None:
    """In any order of events, only the one core that everyone gets is overcommitted."""
    with TemporaryDirectory() as folder:
        _check_shares(Cores(count, Path(folder)), count, steps)


def _check_shares(cores: Cores, count: int, steps: list[tuple[int, bool]]) -> None:
    inside, held = {}, {}
    for number, stays in steps:
        name = str(number)
        if name not in inside:
            inside[name] = cores.holding(name)
            inside[name].__enter__()
        if stays:
            held[name] = cores.lease(name)
            assert held[name] >= 1
        else:
            inside.pop(name).__exit__(None, None, None)
            held.pop(name, None)
        assert sum(held.values()) <= max(1, count) + sum(1 for share in held.values() if share == 1)


def test_processes_share_the_cores(tmp_path: Path) -> None:
    """A holder in another process counts; after it is killed, it does not."""
    program = (
        "import sys, time; from pathlib import Path; from comind.system.leases import Cores\n"
        f"cores = Cores(4, Path({str(tmp_path)!r}))\n"
        "with cores.holding('a'):\n    print(cores.lease('a', 3), flush=True); time.sleep(60)\n"
    )
    cores = Cores(4, tmp_path)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "3\n"
        with cores.holding("b"):
            assert cores.lease("b") == 1
        other.kill()
        other.wait()
    with cores.holding("b"):
        assert cores.lease("b") == 4


def test_the_machine_has_a_core() -> None:
    """There is at least one core to share."""
    assert usable_cores() >= 1

"""Each GPU has one holder at a time on the whole machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from comind.system.hardware import gpu_load, list_gpus
from comind.system.leases import Gpus

_LISTED = """\
GPU 0: NVIDIA H200 (UUID: GPU-aaaa)
GPU 1: NVIDIA A100 (UUID: GPU-bbbb)
  MIG 3g.20gb     Device  0: (UUID: MIG-cccc)
  MIG 3g.20gb     Device  1: (UUID: MIG-dddd)
GPU 2: NVIDIA H200 (UUID: GPU-eeee)
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose driver lists three GPUs, one of them with two parts."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{_LISTED}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_devices_and_parts_are_listed(driver: None) -> None:
    """GPUs are listed by UUID, a partitioned one by its parts."""
    assert list_gpus() == ("GPU-aaaa", "MIG-cccc", "MIG-dddd", "GPU-eeee")


@pytest.mark.parametrize(
    ("wanted", "devices"),
    [
        ("", ()),
        ("3,0", ("GPU-eeee", "GPU-aaaa")),
        ("GPU-ee", ("GPU-eeee",)),
        ("0,GPU-aaaa,9", ("GPU-aaaa",)),
    ],
)
def test_our_own_limits_are_kept(
    driver: None, wanted: str, devices: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices outside of our own CUDA_VISIBLE_DEVICES are not leased."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wanted)
    assert list_gpus() == devices


@pytest.mark.parametrize(
    ("printed", "load"),
    [
        ("80, 1024\n40, 512\n", (60.0, 1536 << 20)),
        ("[N/A], 512\n", (None, None)),  # a part of a partitioned GPU
        ("", (None, None)),
    ],
)
def test_the_load_of_gpus_is_their_mean_use_and_all_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, load: tuple[float | None, int | None]
) -> None:
    """The driver is asked for these devices alone; what it does not tell is None."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ntest \"$4\" = GPU-aaaa,GPU-eeee && printf '{printed}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert gpu_load(("GPU-aaaa", "GPU-eeee")) == load
    assert gpu_load(()) == (None, None)


def test_a_machine_without_a_driver_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without nvidia-smi there is nothing to lease, and no lock file."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert Gpus(folder=tmp_path / "locks").lease("a") == ()
    assert not (tmp_path / "locks").exists()


def test_a_device_has_one_holder(tmp_path: Path) -> None:
    """Shares never overlap, also across processes; a holder that comes late may get none."""
    first = Gpus(lambda: ("x", "y"), tmp_path / "locks")
    other = Gpus(lambda: ("x", "y"), tmp_path / "locks")  # as in another process: locks are of the file
    with first.holding("a"), other.holding("b"), first.holding("c"):
        assert first.lease("a", holders=2) == ("x",)
        assert other.lease("b", holders=1) == ("y",)
        assert first.lease("c", holders=2) == ()
        assert first.lease("a", holders=1) == ("x",)
    with other.holding("d"):
        assert other.lease("d") == ("x", "y")


def test_a_lease_ends_with_its_process(tmp_path: Path) -> None:
    """After kill -9 of its holder a device is free."""
    code = (
        "import sys, time; from pathlib import Path; from comind.system.leases import Gpus\n"
        f"print(Gpus(lambda: ('x',), Path({str(tmp_path)!r})).lease('a'), flush=True); time.sleep(60)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "('x',)"
    gpus = Gpus(lambda: ("x",), tmp_path)
    with gpus.holding("b"):
        assert gpus.lease("b") == ()
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with gpus.holding("c"):
        assert gpus.lease("c") == ("x",)

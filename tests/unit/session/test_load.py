"""The load of a session is sampled, and few samples are kept."""

import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.session.load import LoadSample, LoadWatch, merged_pairs

_PARTS = st.tuples(
    st.floats(0.1, 100),
    st.floats(0, 64),
    st.integers(0, 1 << 40),
    st.one_of(st.none(), st.floats(0, 100)),
)


def _work(samples: list[LoadSample]) -> float:
    begins = [0.0, *(sample.seconds for sample in samples)]
    return sum(
        sample.cores * (sample.seconds - begin) for begin, sample in zip(begins, samples, strict=False)
    )


@given(st.lists(_PARTS, min_size=1, max_size=70))
def test_merged_samples_keep_processor_time_and_peak_of_memory(
    parts: list[tuple[float, float, int, float | None]],
) -> None:
    """Half of the samples remain, with the same end, processor time and largest memory."""
    seconds, samples = 0.0, []
    for length, cores, memory, percent in parts:
        seconds += length
        samples.append(
            LoadSample(seconds=seconds, cores=cores, memory_bytes=memory, gpu_percent=percent)
        )
    merged = merged_pairs(samples)
    assert len(merged) == (len(samples) + 1) // 2
    assert merged[-1].seconds == samples[-1].seconds
    assert max(each.memory_bytes for each in merged) == max(each.memory_bytes for each in samples)
    assert _work(merged) == pytest.approx(_work(samples), abs=0.001 * seconds)


def test_a_process_that_has_exited_has_no_load() -> None:
    """Without a process, or after its exit, there are no samples."""
    assert LoadWatch(None).end() == ()
    pid = os.posix_spawn("/bin/true", ["true"], {})
    watch = LoadWatch(pid)
    os.waitpid(pid, 0)
    watch.look()
    assert watch.end() == ()
    assert watch.usage(0.0) is None
    assert LoadWatch(None).usage(0.0) is None


def test_the_usage_of_a_cell_is_that_of_all_its_processes_since_its_start() -> None:
    """Processor time counts from the start of the watch, with that of children."""
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        first, end = LoadWatch(process.pid), time.monotonic() + 60
        while (used := first.usage(7.0)) is None or used.cpu_seconds < 0.5:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert (used.gpu_percent, used.written_at) == (None, 7.0)
        assert used.memory_bytes > 1 << 20
        later = LoadWatch(process.pid).usage(7.0)
        assert later is not None
        assert later.cpu_seconds < 0.3
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

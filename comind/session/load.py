"""Sample processor, memory and GPU use of a session while one of its cells runs."""

import math
import time
from itertools import pairwise

from pydantic import Field

from comind.domain.value import Value
from comind.system.hardware import gpu_load
from comind.system.process_load import ProcessLoad, load_of_tree

_SAMPLE_SECONDS = 10.0
_MOST_SAMPLES = 60


class LoadSample(Value):
    """What a session used until a moment of a cell, since the sample before."""

    seconds: float = Field(ge=0)
    """From the start of the cell."""
    cores: float = Field(ge=0)
    """Mean number of cores that computed."""
    memory_bytes: int = Field(ge=0)
    """At that moment; of merged samples the largest."""
    gpu_percent: float | None = None
    """Mean use of its GPUs at that moment; None without any."""
    gpu_memory_bytes: int | None = None


class CellUsage(Value):
    """What the processes of a session have used since the start of its running cell."""

    cpu_seconds: float = Field(ge=0)
    """Of all cores together."""
    memory_bytes: int = Field(ge=0)
    """At this moment, the sum over its processes."""
    gpu_percent: float | None = None
    """Mean use of its GPUs in the last seconds; None without any."""
    written_at: float = 0.0
    """Time of the last change of a file in its folders, by the clock of its machine."""


class LoadWatch:
    """Samples the load of a process and its descendants during a cell.

    At most 60 samples are kept: where a cell gives more, pairs are merged and the time between two
    samples doubles.
    """

    def __init__(self, pid: int | None, gpus: tuple[str, ...] = ()) -> None:
        """Begin with a cell; without a process nothing is sampled."""
        self._pid = pid
        self._gpus = gpus
        self._begun = time.monotonic()
        self._interval = _SAMPLE_SECONDS
        self._last_time = self._begun
        self._first = self._last = load_of_tree(pid) if pid is not None else None
        self._gpu_time, self._gpu = -math.inf, gpu_load(())
        self._samples: list[LoadSample] = []

    def look(self) -> None:
        """Take a sample if one is due."""
        if self._last is not None and time.monotonic() - self._last_time >= self._interval:
            self._sample(self._last)

    def usage(self, written_at: float) -> CellUsage | None:
        """Return what was used since the start; None where it cannot be measured."""
        load = load_of_tree(self._pid) if self._pid is not None else None
        if load is None or self._first is None:
            return None
        return CellUsage(
            cpu_seconds=round(max(0.0, load.cpu_seconds - self._first.cpu_seconds), 3),
            memory_bytes=load.resident_bytes,
            gpu_percent=self._gpu_load()[0],
            written_at=written_at,
        )

    def end(self) -> tuple[LoadSample, ...]:
        """Return all samples, with one of this moment if the process still runs."""
        if self._last is not None:
            self._sample(self._last)
        return tuple(self._samples)

    def _sample(self, last: ProcessLoad) -> None:
        load = load_of_tree(self._pid) if self._pid is not None else None
        now = time.monotonic()
        if load is None or now == self._last_time:
            return
        gpu_percent, gpu_memory_bytes = self._gpu_load()
        self._samples.append(
            LoadSample(
                seconds=round(now - self._begun, 3),
                # Orphans that a process of another tree reaps are lost from the sum.
                cores=round(max(0.0, load.cpu_seconds - last.cpu_seconds) / (now - self._last_time), 3),
                memory_bytes=load.memory_bytes,
                gpu_percent=gpu_percent,
                gpu_memory_bytes=gpu_memory_bytes,
            )
        )
        self._last, self._last_time = load, now
        if len(self._samples) > _MOST_SAMPLES:
            self._samples = merged_pairs(self._samples)
            self._interval *= 2

    def _gpu_load(self) -> tuple[float | None, int | None]:
        """Return use and memory of the GPUs, asked for at most every ten seconds."""
        if time.monotonic() - self._gpu_time >= _SAMPLE_SECONDS:
            self._gpu_time, self._gpu = time.monotonic(), gpu_load(self._gpus)
        return self._gpu


def merged_pairs(samples: list[LoadSample]) -> list[LoadSample]:
    """Merge each two samples, so that the mean of cores and the peak of memory stay."""
    begins = [0.0, *(sample.seconds for sample in samples)]
    lengths = [end - begin for begin, end in pairwise(begins)]
    merged = []
    for index in range(0, len(samples) - 1, 2):
        first, second = samples[index : index + 2]
        work = first.cores * lengths[index] + second.cores * lengths[index + 1]
        larger = max(first, second, key=lambda sample: sample.memory_bytes)
        merged.append(
            second.model_copy(
                update={
                    "cores": round(work / (lengths[index] + lengths[index + 1]), 3),
                    "memory_bytes": larger.memory_bytes,
                }
            )
        )
    return merged + samples[len(merged) * 2 :]

"""MLE-bench as a benchmark of the core: an entry point of the group `comind.benchmarks`."""

from pathlib import Path

from comind.mlebench.catalog import BenchmarkCompetition, benchmark_competitions
from comind.mlebench.prepared import PreparedFolder


def known(competition: str) -> BenchmarkCompetition | None:
    """Return the entry of a competition in the catalog; None if MLE-bench has no such competition."""
    return benchmark_competitions().get(competition)


def find(path: Path, name: str | None = None) -> PreparedFolder | None:
    """Return the prepared competition at `path` (or `<path>/<name>`), or None."""
    return PreparedFolder.find(path, name)

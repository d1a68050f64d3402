"""The task that tracks a bench."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.adapters.mlflow.bench import write_bench_run
from comind.bench.results import BenchResults

__all__ = ["track_bench"]


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=1, timeout_seconds=None)
def track_bench(project: Path, folder: Path, results: BenchResults) -> None:
    """Write a bench's run to MLflow, with the files of `folder` as artifacts."""
    write_bench_run(project, folder, results)

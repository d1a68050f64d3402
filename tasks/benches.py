"""The task that tracks a bench."""

from pathlib import Path

from comind.adapters.mlflow.bench import write_bench_run
from comind.bench.results import BenchResults
from tasks import step


@step(retries=2)
def track_bench(project: Path, folder: Path, results: BenchResults) -> None:
    """Write a bench's run to MLflow, with the files of `folder` as artifacts."""
    write_bench_run(project, folder, results)

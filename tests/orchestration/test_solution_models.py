"""Delivered solutions are registered once each, and the best one is the champion."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.adapters.mlflow.tracking_store import SolutionVersion, TrackedRun, TrackingStore
from comind.domain.metric import MetricValue

_AT = datetime(2026, 1, 1, tzinfo=UTC)


def _run(store: TrackingStore, name: str) -> TrackedRun:
    experiment = store.get_or_create_experiment("demo")
    return store.get_or_create_run(experiment, name, {"comind.campaign": name}, _AT, {})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TrackingStore:
    """A new database."""
    return TrackingStore(tmp_path_factory.mktemp("models"))


def _solution(folder: Path, name: str, score: float, split: str = "demo-1") -> SolutionVersion:
    folder.mkdir(exist_ok=True)
    (folder / "script.py").write_text("")
    value = MetricValue(value=score, maximize=False)
    return SolutionVersion(name, folder, "comind.wiring.prediction", {}, ("id",), split, value, {})


def test_a_better_score_on_the_same_rows_makes_the_champion(
    store: TrackingStore, tmp_path: Path
) -> None:
    """A worse score and a score on another split leave the alias; deleting its run removes a version."""

    def champion() -> str:
        return str(store.client.get_model_version_by_alias("comind-a", "champion").version)

    runs = [_run(store, f"c{number}") for number in range(4)]
    made = [
        (store.register(run, _solution(tmp_path / "files", "comind-a", *given)), champion())
        for run, given in zip(runs, [(0.5,), (0.7,), (0.1, "demo-2"), (0.4,)], strict=True)
    ]
    assert made == [("1", "1"), ("2", "1"), ("3", "1"), ("4", "4")]
    store.delete_run(runs[1].id)
    found = store.client.search_model_versions("name = 'comind-a'")
    assert sorted(str(each.version) for each in found) == ["1", "3", "4"]


def test_a_run_registers_its_solution_once(store: TrackingStore, tmp_path: Path) -> None:
    """Writing everything again, as after a crash, adds no version."""
    run, solution = _run(store, "once"), _solution(tmp_path / "files", "comind-b", 0.5)
    assert [store.register(run, solution) for _ in range(2)] == ["1", "1"]
    assert len(store.client.search_model_versions("name = 'comind-b'")) == 1

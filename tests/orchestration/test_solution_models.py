"""Delivered solutions are registered once each, and the best one is the champion."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.adapters.mlflow.tracking_store import Gate, SolutionVersion, TrackedRun, TrackingStore

_AT = datetime(2026, 1, 1, tzinfo=UTC)


def _run(store: TrackingStore, name: str) -> TrackedRun:
    experiment = store.get_or_create_experiment("demo")
    return store.get_or_create_run(experiment, name, {"comind.campaign": name}, _AT, {})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TrackingStore:
    """A new database."""
    return TrackingStore(tmp_path_factory.mktemp("models"))


def _solution(folder: Path, name: str, *, passes: bool = True) -> SolutionVersion:
    folder.mkdir(exist_ok=True)
    (folder / "script.py").write_text("")

    def gate(champion: Mapping[str, str]) -> Gate:
        return Gate(passes, f"asked about {champion['comind.campaign']}")

    tags = {"comind.campaign": folder.name}
    return SolutionVersion(
        name, folder, "comind.wiring.prediction", {}, ("id",), tags, "takes 3 s", gate
    )


def test_the_gate_decides_against_the_champion(store: TrackingStore, tmp_path: Path) -> None:
    """The alias moves where the gate passes; versions say why, and go with the run that is deleted."""

    def champion() -> str:
        return str(store.client.get_model_version_by_alias("comind-a", "champion").version)

    runs = [_run(store, f"c{number}") for number in range(4)]
    made = [
        (store.register(run, _solution(tmp_path / f"c{number}", "comind-a", passes=passes)), champion())
        for number, (run, passes) in enumerate(zip(runs, [False, False, True, False], strict=True))
    ]
    assert made == [("1", "1"), ("2", "1"), ("3", "3"), ("4", "3")]
    versions = [store.client.get_model_version("comind-a", number) for number, _ in made]
    assert [each.tags["comind.gate"] for each in versions] == [
        "the first version",
        "asked about c0",
        "asked about c0",
        "asked about c2",
    ]
    assert versions[0].description == "takes 3 s"
    store.delete_run(runs[1].id)
    found = store.client.search_model_versions("name = 'comind-a'")
    assert sorted(str(each.version) for each in found) == ["1", "3", "4"]


def test_a_run_registers_its_solution_once(store: TrackingStore, tmp_path: Path) -> None:
    """Writing everything again, as after a crash, adds no version."""
    run, solution = _run(store, "once"), _solution(tmp_path / "files", "comind-b")
    assert [store.register(run, solution) for _ in range(2)] == ["1", "1"]
    assert len(store.client.search_model_versions("name = 'comind-b'")) == 1

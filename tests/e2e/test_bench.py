"""`comind bench`: campaigns of all cells, killed and continued, graded and tracked."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.adapters.mlflow.tracking_store import TrackingStore
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.system.failpoints import KILL_POINTS
from tests.e2e.command import Ran, comind

_SIGKILLED = -9
_PLAN: dict[str, Any] = {
    "competitions": ["demo-tumours"],
    "seeds": 1,
    "profile": "quick",
    "common": {"model": "offline", "iterations": 0, "folds": 0, "refit": False, "prove": False},
    "arms": {"one": {}, "two": {"blend": False}},
}


def _bench(project: Path, *more: str, **how: Any) -> Ran:
    return comind("bench", project / "small.yaml", "--out", project, "--json", *more, **how)


def _write(project: Path, **values: Any) -> None:
    (project / "small.yaml").write_text(yaml.safe_dump(_PLAN | values))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> tuple[Path, Ran]:
    """A bench of two arms that was killed in its second campaign, and continued."""
    project = tmp_path_factory.mktemp("bench")
    _write(project)
    killed = _bench(project, COMIND_KILL_AT="campaign-opened")
    assert killed.exit_code == _SIGKILLED, killed.stderr
    return project, _bench(project)


def test_a_killed_bench_goes_on(ended: tuple[Path, Ran]) -> None:
    """The same command resumes the campaign that ran, and runs those that are left."""
    project, ran = ended
    assert ran.exit_code == 0, ran.stderr
    assert "small-two-demo-tumours-s0: ended after" in ran.stderr
    states = [read_state(folder) for folder in map(ProjectFolder(project).campaign, _names(ran))]
    assert [state.ended is not None for state in states] == [True, True]
    assert len({state.split.key for state in states if state.split}) == 1
    assert [run["status"] for run in ran.json["runs"]] == ["ended", "ended"]
    assert ran.json["runs"][0]["score"] == ran.json["runs"][1]["score"] > 0.9


def _names(ran: Ran) -> list[str]:
    return [run["campaign"] for run in ran.json["runs"]]


def test_nothing_runs_twice(ended: tuple[Path, Ran]) -> None:
    """What has ended is only graded again; another budget needs another name."""
    project, ran = ended
    before = (project / "runs" / _names(ran)[0] / "log.jsonl").read_bytes()
    again = _bench(project)
    assert again.json["runs"] == ran.json["runs"]
    assert (project / "runs" / _names(ran)[0] / "log.jsonl").read_bytes() == before
    _write(project, common=_PLAN["common"] | {"minutes": 7})
    other = _bench(project, "--dry-run")
    _write(project)
    assert other.exit_code == 2
    assert "was opened with minutes" in other.json["error"]["message"]


def test_cells_may_be_added(ended: tuple[Path, Ran]) -> None:
    """A further seed is what is left; a dry run names its campaigns."""
    project, _ = ended
    _write(project, seeds=2)
    ran = _bench(project, "--dry-run")
    _write(project)
    assert ran.json["left"] == ["small-one-demo-tumours-s1", "small-two-demo-tumours-s1"]
    assert "bench small: 4 campaigns, left: 2 campaigns, at most 1.0 h, no model calls" in ran.stderr


def test_campaigns_are_children_of_the_benchs_run(ended: tuple[Path, Ran]) -> None:
    """MLflow has one run for the bench with its results, and each campaign's run below it."""
    project, ran = ended
    store = TrackingStore(project)
    found = store.search_runs({"comind.bench": "small"})
    [(own, _)] = [(run_id, tags) for run_id, tags in found if "comind.campaign" not in tags]
    children = [tags for _, tags in found if tags.get("mlflow.parentRunId") == own]
    assert {tags["comind.campaign"] for tags in children} == set(_names(ran))
    assert {each.path for each in store.client.list_artifacts(own)} >= {
        "results.json",
        "results.csv",
        "report.md",
        "figures",
    }
    results = json.loads((project / "benches" / "small" / "results.json").read_text())
    assert results["conditions"]["network"] == "none (bubblewrap)"


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_a_bench_killed_ten_times_ends_as_if_undisturbed(
    ended: tuple[Path, Ran], tmp_path: Path, shared_server: str
) -> None:
    """Killed at ten points drawn at random, its results are those of a bench that was not killed."""
    _write(tmp_path)
    kills = 0
    for point in random.Random(0).sample(KILL_POINTS, len(KILL_POINTS)):
        ran = _bench(tmp_path, COMIND_KILL_AT=point)
        kills += ran.exit_code == _SIGKILLED
        if kills == 10:
            break
    assert kills >= 5, "few points of these campaigns were reached"
    assert _results(_bench(tmp_path)) == _results(ended[1])


def _results(ran: Ran) -> list[dict[str, Any]]:
    assert ran.exit_code == 0, ran.stderr
    return [{name: run[name] for name in run if name != "seconds"} for run in ran.json["runs"]]


def test_a_competition_without_answers_is_refused(ended: tuple[Path, Ran], tmp_path: Path) -> None:
    """Arms are compared on the true answers, so they have to be there before anything runs."""
    project, _ = ended
    live = tmp_path / "live"
    shutil.copytree(project / "data" / "demos" / "demo-tumours", live)
    shutil.rmtree(live / "private")
    _write(tmp_path, competitions=[str(live)])
    ran = _bench(tmp_path)
    assert ran.exit_code == 2
    assert ran.json["error"]["message"].endswith("live: has no true answers, on which arms are compared")


def test_its_page_is_written_again_from_its_results(ended: tuple[Path, Ran], tmp_path: Path) -> None:
    """`comind report BENCH --html` needs the results alone."""
    project, _ = ended
    folder = project / "benches" / "small"
    ran = comind("report", folder, "--html", tmp_path / "page.html", "--json")
    assert ran.exit_code == 0, ran.stderr
    assert (tmp_path / "page.html").read_bytes() == (folder / "report.html").read_bytes()


def test_a_command_that_moved_is_one_line(tmp_path: Path) -> None:
    """`comind bench list` names `comind mlebench list`."""
    ran = comind("bench", "list", "--json", cwd=tmp_path)
    assert ran.exit_code == 2
    assert ran.json["error"]["message"] == "comind bench list is comind mlebench list now"

"""The best public notebook of a competition is an arm that runs nothing."""

from pathlib import Path

import pytest

from comind.app.bench_results import read_results
from comind.app.benches import open_bench
from comind.bench.plan import BenchPlan
from comind.bench.results import RunResult
from comind.demos.make import make_demo

_SCRIPT = Path(__file__).parents[2] / "e2e" / "script.yaml"
_SCORES = "score\n0.99\n0.97076\n0.96\n0.95\n"


def _published(project: Path, **values: object) -> list[RunResult]:
    """Return the runs of the arm `best` beside another arm, which has not run."""
    folder = make_demo("demo-tumours", project / "data" / "demos")
    (folder / "leaderboard").mkdir(exist_ok=True)
    (folder / "leaderboard" / "public.csv").write_text(_SCORES)
    plan = BenchPlan(
        name="small",
        competitions=(str(folder),),
        seeds=(0, 1),
        arms={"comind": {"model": f"scripted:{_SCRIPT}", **values}},
        best_notebook="best",
    )
    results = read_results(open_bench(project, plan), {})
    assert results.arms == ("comind", "best")
    assert "nothing is run" in results.conditions.knowledge["best"]
    return [run for run in results.runs if run.arm == "best"]


def test_it_is_ranked_on_the_public_leaderboard(tmp_path: Path) -> None:
    """The best score that any notebook has ties with the second of four teams, for all seeds."""
    runs = _published(tmp_path)
    assert [run.seed for run in runs] == [0, 1]
    assert {(run.notebook, run.score) for run in runs} == {
        ("ines-prat/logs-and-a-curved-border", 0.97076)
    }
    assert [run.win_rate for run in runs] == [0.625, 0.625]
    assert [run.campaign for run in runs] == ["", ""]
    assert runs[0].curve[0].win_rate == 0.625


def test_later_notebooks_do_not_count(tmp_path: Path) -> None:
    """The community is read as of the time of the arms."""
    [run, _] = _published(tmp_path, as_of="2023-04-01T00:00:00Z")
    assert run.notebook == "m-okafor/which-measurements-matter"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"community": "none"}, "no arm reads a community"),
        ({"as_of": "2001-01-01T00:00:00Z"}, "no public notebook has a score"),
    ],
)
def test_without_a_scored_notebook_it_is_missing(
    tmp_path: Path, values: dict[str, object], reason: str
) -> None:
    """A missing run is left out of all means."""
    [run, _] = _published(tmp_path, **values)
    assert (run.status, run.reason) == ("missing", reason)

"""Campaigns of a bench become results: ended, failed with a reason, or missing."""

from pathlib import Path

import pytest

from comind.app.bench_results import read_results, write_results
from comind.app.benches import Bench, BenchCell
from comind.bench.plan import BenchPlan, Cell
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from tests.unit.campaign.page_campaign import write_campaign


def _bench(project: Path, *, ended: bool, **changes: object) -> Bench:
    """Return a bench of one campaign, whose competition is not there any more."""
    folder = write_campaign(project / "runs" / "small-one-demo-s0", ended=ended)
    spec = CAMPAIGN_LOG.read(folder.log).spec.model_copy(update={"id": folder.name, **changes})
    plan = BenchPlan(name="small", competitions=("demo",), seeds=(0,), arms={"one": {}})
    return Bench(project, plan, (BenchCell(Cell("one", "demo", 0), spec, folder),))


def test_an_interrupted_campaign_is_missing(tmp_path: Path) -> None:
    """It says nothing about its arm; the same command continues it."""
    [run] = read_results(_bench(tmp_path, ended=False), {}).runs
    assert (run.status, run.reason, run.valid) == ("missing", "not ended", False)


def test_a_failed_campaign_stays_failed_until_it_has_ended(tmp_path: Path) -> None:
    """Its reason is kept with the results, so a report that is written later does not leave it out."""
    bench = _bench(tmp_path / "a", ended=False)
    failed = read_results(bench, {"small-one-demo-s0": "the endpoint is down"})
    write_results(bench, failed)
    [run] = read_results(bench, {}).runs
    assert (run.status, run.reason, run.valid) == ("failed", "the endpoint is down", False)
    assert run.attempts == 4
    assert "the endpoint is down" in (bench.folder / "report.md").read_text()
    ended = _bench(tmp_path / "b", ended=True)
    [run] = read_results(ended, {"small-one-demo-s0": "the endpoint is down"}).runs
    assert run.status == "ended"


def test_answers_that_are_gone_make_no_valid_run(tmp_path: Path) -> None:
    """The reason names the folder; the curve has each new best submission of the agent."""
    [run] = read_results(_bench(tmp_path, ended=True), {}).runs
    assert (run.valid, run.win_rate, run.score) == (False, None, None)
    assert run.reason
    assert [point.validation_score for point in run.curve] == [0.7, 0.702, 0.703]


@pytest.mark.parametrize("content", ["", "nonsense", '{"name": 3}'])
def test_damaged_results_are_written_again(content: str, tmp_path: Path) -> None:
    """They are derived from the logs; only reasons of failures are lost with them."""
    bench = _bench(tmp_path, ended=True)
    bench.folder.mkdir(parents=True)
    (bench.folder / "results.json").write_text(content)
    write_results(bench, read_results(bench, {}))
    assert read_results(bench, {}).runs[0].status == "ended"


@pytest.mark.parametrize(
    ("changes", "knowledge"),
    [
        ({"community": "none"}, "none of others' work"),
        ({"community": "none", "parameters": {"knowledge": "none"}}, "none of others' work"),
        (
            {"community": "none", "parameters": {"knowledge": "builtin@sha256:12", "cards": "none"}},
            "knowledge base builtin@sha256:12",
        ),
        (
            {"community": "", "parameters": {"knowledge": "base@sha256:34"}},
            "public notebooks and discussions of any time, knowledge base base@sha256:34",
        ),
    ],
)
def test_the_knowledge_of_an_arm_names_its_base(
    changes: dict[str, object], knowledge: str, tmp_path: Path
) -> None:
    """The conditions have what an arm could read: the community, and bases of its agent."""
    results = read_results(_bench(tmp_path, ended=True, **changes), {})
    assert results.conditions.knowledge == {"one": knowledge}

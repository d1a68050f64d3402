"""Campaigns of a bench are specified alike, whatever runs beside them."""

from pathlib import Path

from comind.app.benches import open_bench
from comind.bench.plan import BenchPlan
from comind.demos.make import make_demo
from comind.system.hardware import usable_cores


def _cores(project: Path, **values: object) -> set[int | None]:
    folder = make_demo("demo-tumours", project / "data" / "demos")
    arms = {"one": {"model": "offline"}, "two": {"model": "offline", "blend": False}}
    plan = BenchPlan.model_validate(
        {"name": "b", "competitions": (str(folder),), "arms": arms, **values}
    )
    return {cell.spec.cores for cell in open_bench(project, plan).cells}


def test_campaigns_side_by_side_have_equal_cores(tmp_path: Path) -> None:
    """An attempt that got the cores of a campaign that has ended could score better than its pair."""
    assert _cores(tmp_path) == {None}
    assert _cores(tmp_path, at_once=2) == {max(1, usable_cores() // 2)}
    assert _cores(tmp_path, at_once=64) == {max(1, usable_cores() // 64)}


def test_a_plan_may_state_cores(tmp_path: Path) -> None:
    """For a machine that other work shares, or for comparisons between machines."""
    assert _cores(tmp_path, at_once=2, common={"cores": 1}) == {1}

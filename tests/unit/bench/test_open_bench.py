"""Campaigns of a bench are specified alike, whatever runs beside them."""

from pathlib import Path

import pytest

from comind.app.benches import open_bench
from comind.bench.plan import BenchPlan
from comind.demos.make import make_demo
from comind.errors import UsageError
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


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({}, ""),
        ({"as_of": "none"}, "sees what was published of any time, also after the deadline, 2020-01-01"),
        ({"as_of": "2020-02-01T00:00:00Z"}, "as of 2020-02-01 00:00 UTC, after the deadline"),
        ({"as_of": "2019-01-01T00:00:00Z"}, ""),
        ({"as_of": "none", "community": "none"}, "sees what was published of any time"),
    ],
)
def test_no_arm_reads_what_followed_the_deadline_unless_the_plan_says_so(
    values: dict[str, str], refused: str, tmp_path: Path
) -> None:
    """A winner's solution, in the community or in a knowledge base, would decide the comparison."""
    folder = make_demo("demo-tumours", tmp_path / "data" / "demos")
    about = folder / "competition.yaml"
    about.write_text(f"{about.read_text()}deadline: 2020-01-01T00:00:00Z\n")
    (tmp_path / "rules.yaml").write_text("[]\n")
    arms = {"one": {"model": f"scripted:{tmp_path / 'rules.yaml'}", **values}}
    given = {"name": "b", "competitions": (str(folder),), "arms": arms}
    if refused:
        with pytest.raises(UsageError, match=refused) as caught:
            open_bench(tmp_path, BenchPlan.model_validate(given))
        assert "after_deadline: true" in str(caught.value.hint)
        given["after_deadline"] = True
    assert len(open_bench(tmp_path, BenchPlan.model_validate(given)).cells) == 3

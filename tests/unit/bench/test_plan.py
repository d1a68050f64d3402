"""A plan names arms, competitions and seeds; each cell is a campaign with a derived name."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.app.params import read_params
from comind.bench.plan import BenchPlan, Cell, read_plan
from comind.campaign.log.campaign_settings import CampaignSettings
from comind.errors import UsageError

_PLANS = sorted((Path(__file__).parents[3] / "benchmarks" / "plans").glob("*.yaml"))


def _plan(folder: Path, **values: Any) -> BenchPlan:
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump({"competitions": ["a"], "arms": {"one": {}, "two": {}}} | values))
    return read_plan(path)


def test_cells_are_all_combinations_and_pairs_come_first(tmp_path: Path) -> None:
    """All arms of one competition and seed run before the next one begins."""
    plan = _plan(tmp_path, seeds=2, competitions=["a", "b"])
    assert plan.name == "small"
    assert len(plan.cells()) == 8
    assert plan.cells()[:2] == [Cell("one", "a", 0), Cell("two", "a", 0)]
    assert plan.campaign(Cell("two", "data/b", 1), "b") == "small-two-b-s1"
    assert plan.compared_with == "one"


def test_values_of_an_arm_go_before_those_of_all(tmp_path: Path) -> None:
    """Parameters of the agent are merged by name; the seed is the cell's."""
    plan = _plan(
        tmp_path,
        common={"minutes": 5, "model": "m", "set": {"x": 1, "y": 1}},
        arms={"one": {"minutes": 9, "set": {"y": 2}}, "two": None},
    )
    assert plan.options(Cell("one", "a", 3)) == {
        "minutes": 9,
        "model": "m",
        "set": {"x": 1, "y": 2},
        "seed": 3,
    }
    assert plan.options(Cell("two", "a", 0))["minutes"] == 5


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"arms": {}}, "arms: dictionary should have at least 1 item"),
        ({"arms": ["one"]}, "arms: is no mapping of names to parameters"),
        ({"seeds": []}, "seeds: tuple should have at least 1 item"),
        ({"seeds": [1, 1]}, "1 is named twice"),
        ({"competitions": ["a", "a"]}, "'a' is named twice"),
        ({"reference": "three"}, "reference: there is no arm 'three'"),
        ({"arms": {"one": {"seed": 1}}}, "one: seed is the same for all arms"),
        ({"arms": {"a/b": {}}}, "'a/b' is not a name"),
        ({"budget": 1}, "there is no key 'budget'"),
        ({"seeds": 10**12}, "seeds: tuple should have at most 1000 items"),
        ({"arms": {"one": {"set": 3}}}, "one: set is no mapping of names to parameters"),
        ({"common": {"set": [1]}}, "common: set is no mapping of names to parameters"),
        ({"best_notebook": "one"}, "'one' is named twice"),
        ({"at_once": 0}, "at_once: input should be greater than or equal to 1"),
    ],
)
def test_a_wrong_plan_is_one_line(values: dict[str, Any], line: str, tmp_path: Path) -> None:
    """It names the file and the key."""
    with pytest.raises(UsageError) as error:
        _plan(tmp_path, **values)
    assert "small.yaml" in str(error.value)
    assert line in str(error.value)


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_a_file_that_is_no_plan_is_one_line(text: str, tmp_path: Path) -> None:
    """Nothing, a list and broken YAML are refused."""
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"p\.yaml: is "):
        read_plan(tmp_path / "p.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_plan(tmp_path / "absent.yaml")


def test_a_name_may_not_be_too_long(tmp_path: Path) -> None:
    """Names of campaigns are folders and git refs."""
    with pytest.raises(UsageError, match=r"bench small: .* is not a name"):
        _plan(tmp_path).campaign(Cell("one", "a", 0), "c" * 120)


@pytest.mark.parametrize("path", _PLANS, ids=lambda path: path.stem)
def test_plans_that_ship_are_valid(path: Path) -> None:
    """Each arm has parameters of `solve` alone, and profiles that exist."""
    plan, params = read_plan(path), read_params(_PLANS[0].parents[2])
    for cell in plan.cells():
        CampaignSettings.model_validate(plan.options(cell))
        for name in plan.profiles(cell.arm):
            assert params.with_profile(name).solve.given()


def test_an_arm_starts_from_its_profile(tmp_path: Path) -> None:
    """The plan's own profile comes first; values of the arm override both."""
    plan = _plan(tmp_path, profile="quick", arms={"one": {"profile": "aideml", "steps": 9}, "two": {}})
    assert (plan.profiles("one"), plan.profiles("two")) == (("quick", "aideml"), ("quick",))
    assert plan.options(Cell("one", "a", 0)) == {"steps": 9, "seed": 0}

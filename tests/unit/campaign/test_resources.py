"""Resources are filled in when work is planned, and are the same in a replay."""

import re
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_events import EnvironmentRead, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.domain.environment import Environment, Machine, StoreItem
from comind.domain.resources import TOOLBOX, Resources
from tests.unit.campaign.samples import code, opened, records
from tests.unit.campaign.world import World

_MODEL = StoreItem(
    name="bert", path="input/models/bert", format="transformers", load="AutoModel...", sha256="ab"
)
_OWN = Environment(
    python="3.11.7",
    packages=("anyio==4.0", "numpy==2.4.6", "xgboost-cpu==3.1.0"),
    machine=Machine(cores=8, memory_bytes=1000, gpus=("H100, 570",)),
)
_TOOLBOX = _OWN.model_copy(update={"toolbox": "c0ffee", "models": (_MODEL,)})


def test_they_follow_from_environment_and_coders() -> None:
    """Cores are a fair share, memory is the attempt's limit, packages are those of the spec."""
    assert Resources.of(_TOOLBOX, 3) == Resources(
        python="3.11.7",
        packages={"numpy": "2.4.6", "xgboost-cpu": "3.1.0"},
        toolbox="c0ffee",
        cores=2,
        machine_cores=8,
        coders=3,
        memory_bytes=750,
        gpus=("H100, 570",),
        models=(_MODEL,),
    )


def test_an_attempt_always_has_a_core() -> None:
    """With more coders than cores each attempt has one core."""
    assert Resources.of(_OWN, 16).cores == 1


def test_a_limit_on_cores_is_shared() -> None:
    """Attempts share the cores that the user allows, as far as the machine has them."""
    limited = Resources.of(_OWN, 2, 4)
    assert (limited.cores, limited.machine_cores) == (2, 4)
    assert Resources.of(_OWN, 2, 64) == Resources.of(_OWN, 2)


@pytest.mark.parametrize(
    ("given", "at_once", "each"),
    [
        ({"coders": 2}, 2, 4),
        ({"coders": 2, "cores": 1}, 1, 1),
        ({"coders": 16}, 8, 1),
        ({"coders": 4, "cores": 3}, 3, 1),
        ({"coders": 16, "pool": "nodes"}, 16, 1),
    ],
)
def test_at_most_one_attempt_a_core_runs(given: dict[str, Any], at_once: int, each: int) -> None:
    """Coders beyond the cores given, or the machine's, wait; nodes of a pool have cores of their own."""
    state = CAMPAIGN_LOG.fold(records(opened(**given), EnvironmentRead(environment=_OWN)))
    resources = state.resources()
    assert resources is not None
    assert (state.free_slots(), resources.coders, resources.cores) == (at_once, at_once, each)


def test_unknown_machines_limit_nothing() -> None:
    """Without a recorded environment as many attempts run as there are coders."""
    assert CAMPAIGN_LOG.fold(records(opened(coders=16))).free_slots() == 16


def test_they_are_recorded_with_the_work(tmp_path: Path) -> None:
    """All planned work carries its resources, so contexts agree before and after a restart."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(EnvironmentRead(environment=_OWN))
    state = world.run(campaign)
    given = [record.work.resources for record in state.works]
    assert given == [Resources.of(_OWN, 2)] * 3
    assert [record.work.resources for record in CAMPAIGN_LOG.read(world.folder.log).works] == given


def test_work_of_an_old_log_has_none(tmp_path: Path) -> None:
    """Without a recorded environment, or in older logs, there are no resources."""
    world = World(tmp_path)
    state = world.run(world.campaign())
    assert {record.work.resources for record in state.works} == {None}


def test_an_attempt_keeps_the_environment_it_was_planned_for(tmp_path: Path) -> None:
    """A toolbox built while an attempt is in flight is not recorded as its environment."""
    world = World(tmp_path)
    campaign = world.campaign()
    campaign.record(EnvironmentRead(environment=_OWN))
    planned = code().model_copy(update={"resources": campaign.state.resources()})
    campaign.record(WorkPlanned(id="attempt-000", work=planned))
    campaign.record(EnvironmentRead(environment=_TOOLBOX))
    state = world.run(campaign)
    assert state.environment_of("attempt-000") == _OWN
    assert state.environment_of("attempt-001") == _TOOLBOX


def test_an_environment_without_toolbox_keeps_its_hash() -> None:
    """An environment of an older version keeps the hash in its lineage."""
    assert Environment().sha256 == "8b82b486b7c4010be869fe282b689ac47482ecf142a66b009f60979ac56f3c46"
    assert _OWN.sha256 != _TOOLBOX.sha256


def test_another_toolbox_and_another_model_are_told() -> None:
    """Toolboxes and models that differ are reported as differences."""
    other = _OWN.model_copy(update={"models": (_MODEL.model_copy(update={"sha256": "cd"}),)})
    assert _TOOLBOX.differences(other) == (
        "toolbox none instead of c0ffee",
        "models: bert is another",
    )
    assert _TOOLBOX.differences(_OWN)[-1] == "models: bert is missing"


def test_the_list_is_that_of_the_requirements() -> None:
    """Every package of the toolbox can be named in a prompt, except the session's own."""
    path = Path(__file__).parents[3] / "requirements" / "toolbox.in"
    named = re.findall(r"^[a-z][\w-]*", path.read_text(), re.MULTILINE)
    assert set(named) - {"ipykernel"} == set(TOOLBOX)

"""Drafts that need a kind of node: when that is offered, and what becomes of a need."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.draft import Draft
from comind.domain.resources import Hardware
from tests.unit.agents.second_round import draft_reply, propose, second_round

_KINDS = (Hardware(memory_gb=32), Hardware(gpus=2, memory_gb=64))
_POOL: dict[str, Any] = {"pool": "mixed", "node_kinds": _KINDS}


def _needs(outcome: dict[str, Any]) -> list[Hardware]:
    return [Draft.model_validate(each).needs for each in outcome["drafts"]]


def test_the_coordinator_sees_the_kinds_and_names_one(tmp_path: Path) -> None:
    """A draft that states nothing runs anywhere."""
    reply = [draft_reply("a net", gpus=1, memory_gb=48), draft_reply("a line")]
    outcome, [request, _] = propose(tmp_path, second_round(**_POOL), reply, reply)
    assert "- no GPU, 32 GB of memory\n- 2 GPUs, 64 GB of memory" in request.messages[-1].content
    assert "memory_gb" in str(request.reply_schema)
    assert _needs(outcome) == [Hardware(gpus=1, memory_gb=48), Hardware()]


def test_a_need_that_no_kind_has_is_reduced_and_noted(tmp_path: Path) -> None:
    """The coding agent reads for which machine the draft was proposed."""
    reply = [draft_reply("a net", gpus=4), draft_reply("a line")]
    outcome, _ = propose(tmp_path, second_round(**_POOL), reply, reply)
    large, small = (Draft.model_validate(each) for each in outcome["drafts"])
    assert large.needs == Hardware(gpus=2)
    assert (
        "proposed for a machine with 4 GPUs, 0 GB of memory; it runs on one with 2 GPUs" in large.method
    )
    assert "proposed for" not in small.method


@pytest.mark.parametrize("spec", [{}, {"node_kinds": _KINDS}, {"pool": "mixed"}])
def test_without_a_pool_of_several_kinds_nothing_is_offered(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    """The request is as before, and what a model states all the same has no effect."""
    outcome, [request] = propose(tmp_path, second_round(**spec), [draft_reply("a net", gpus=1)])
    assert "# Machines" not in request.messages[-1].content
    assert "memory_gb" not in str(request.reply_schema)
    assert _needs(outcome) == [Hardware()]


_HARDWARE = st.builds(Hardware, gpus=st.integers(0, 8), memory_gb=st.integers(0, 512))


@given(need=_HARDWARE, kinds=st.lists(_HARDWARE, max_size=4))
def test_a_limited_need_fits_some_machine(need: Hardware, kinds: list[Hardware]) -> None:
    """It is never more than was stated; what fits is unchanged."""

    def fits(wanted: Hardware, machine: Hardware) -> bool:
        return wanted.gpus <= machine.gpus and wanted.memory_gb <= machine.memory_gb

    limited = need.limited_to(kinds)
    assert fits(limited, need)
    assert limited == Hardware() if not kinds else any(fits(limited, each) for each in kinds)
    if any(fits(need, each) for each in kinds):
        assert limited == need

"""Whole campaigns: knowledge found, planned, decomposed, failed, debugged, improved."""

import shutil
from pathlib import Path

import pytest

from comind.agents.automind import AutoMind
from comind.agents.automind.planner import CHECK, PLAN, SEARCH
from comind.campaign.log.campaign_state import CampaignState
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from tests.unit.agents.automind.trees import grown


def _summary(state: CampaignState) -> list[tuple[str, str, tuple[str, ...], str, str, str]]:
    return [
        (a.id, a.work.operator.value, a.work.parents, a.work.session, a.result, a.work.draft.kind)
        for a in state.works.attempts()
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CampaignState]:
    """A campaign of four nodes, run to its end."""
    root = tmp_path_factory.mktemp("tree")
    world, state = grown(root)
    del world
    return root, state


def test_a_tree_grows(tree: tuple[Path, CampaignState]) -> None:
    """A complex draft is coded in steps, a simple one fails, and is debugged; the best is improved."""
    print(_summary(tree[1]))
    _, state = tree
    for r in state.works:
        print(r.id, r.outcome)
    assert 0

"""AutoMind's prompts match the reviewed snapshots.

Run with UPDATE_SNAPSHOTS=1 to rewrite snapshots/, and review the diff.
"""

import os
from pathlib import Path

import pytest

from comind.llm.model_ports import ModelRequest
from tests.unit.agents.automind.trees import grown

_SNAPSHOTS = Path(__file__).parent / "snapshots"
_NAMES = {
    "categories": ("Labels", "Categories:"),
    "labels": ("Labels", "Labels:"),
    "plan_draft": ("Plan", "METHOD-A"),
    "plan_debug": ("Plan", "Find the cause"),
    "plan_improve": ("Plan", "Plan one change"),
    "complexity": ("Complexity", ""),
    "decompose": ("Steps", ""),
    "step_first": ("Program", "code of step 1"),
    "step_failed": ("Program", "Your last try"),
    "one_pass_draft": ("Program", "METHOD-B"),
    "one_pass_improve": ("Program", "METHOD-D"),
    "verify": ("Verdict", ""),
}


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> list[ModelRequest]:
    """All requests of a campaign of four nodes."""
    world, _ = grown(tmp_path_factory.mktemp("tree"))
    return world.model.requests


@pytest.mark.parametrize("name", _NAMES)
def test_prompts_are_as_reviewed(name: str, requests: list[ModelRequest]) -> None:
    """The first prompt of each kind in a small tree matches its snapshot."""
    reply, words = _NAMES[name]
    request = next(r for r in requests if r.reply_name == reply and words in r.messages[-1].content)
    asked = "\n\n".join(f"=== {m.role}\n{m.content}" for m in request.messages) + "\n"
    snapshot = _SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.write_text(asked)
    assert asked == snapshot.read_text()

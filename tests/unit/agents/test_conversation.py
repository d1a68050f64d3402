"""A conversation is compacted rarely, many steps at once, and keeps scores, errors and files."""

import json
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from comind.agents.comind.conversation import Conversation, Turn
from comind.campaign.worker import execute
from comind.llm.model_ports import Message
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.unit.agents.samples import AGENT, FRAME
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World

OPENING = (Message(role="system", content="Rules."), Message(role="user", content="A task."))


def _history(context_tokens: int) -> Conversation:
    return Conversation(OPENING, context_tokens=context_tokens, reply_tokens=1_000, most_tokens=24_000)


@given(st.lists(st.integers(1, 700), max_size=40), st.integers(3_000, 40_000))
def test_steps_fit_and_stand_still(sizes: list[int], context_tokens: int) -> None:
    """Steps stay within their limit but for the last, and most requests only append."""
    history = _history(context_tokens)
    requests, compactions = [history.messages], 0
    for number, size in enumerate(sizes):
        history.add(Turn("words " * size, "told " * size, f"Step {number}: tried."))
        requests.append(history.messages)
    for before, after in pairwise(requests):
        assert after[:2] == OPENING
        compactions += after[: len(before)] != before
        steps = sum(count_tokens(message.content) for message in after[2:-2])
        assert steps <= history.room
    total = sum(2 * size for size in sizes)
    assert compactions <= 1 + total / (0.3 * history.room)


def test_a_compaction_makes_room_for_many_steps() -> None:
    """About half of the room is free after each; summary lines stay, until many are dropped at once."""
    history = _history(8_192)
    digests: list[str] = []
    for number in range(240):
        before = history.messages
        history.add(Turn("words " * 100, "told " * 100, f"Step {number}: tried.", "fit()\n" * 200))
        if history.messages[: len(before)] != before:
            used = sum(count_tokens(message.content) for message in history.messages[2:])
            assert used <= 0.55 * history.room
            digests.append(history.messages[2].content.partition("Step ")[2])
    kept = [after.startswith(before.partition("\n\n")[0]) for before, after in pairwise(digests)]
    assert 5 < len(digests) < 15, "one in about twenty steps"
    assert kept.count(False) < len(kept) / 2
    assert "without the first " in history.messages[2].content


def test_the_room_follows_from_the_context() -> None:
    """Small context windows compact early, large ones at the stated limit."""
    assert _history(8_192).room < 6_500
    assert _history(1_000_000).room == 24_000
    assert _history(1_024).room == 1_000


def test_scores_errors_files_and_decisions_are_kept(tmp_path: Path) -> None:
    """After compaction each step is one line, and the best cell is kept verbatim."""
    world = World(tmp_path, cells={FRAME: lambda workspace: ""})
    steps = [
        {"goal": "look around", "code": "look"},
        {"goal": "try the impossible", "code": "unknown"},
        {"goal": "hand in", "code": "good"},
        {"goal": "words in place of numbers", "code": "words"},
    ]
    long = [{"goal": "think " * 700, "code": "look"}] * 3
    replies = [json.dumps(step) for step in (*steps, *long)]
    world.model = ScriptedModel([*replies, '{"summary": "Done."}'], context_tokens=6_000)
    execute(AGENT, code(steps=8), world.folder.work("attempt-000"), world.dependencies())
    digest = world.model.requests[-1].messages[2].content
    assert "Step 2: look around: ran in 0.0 s." in digest
    assert "Step 3: try the impossible: NameError: no cell named 'unknown'." in digest
    assert "Step 4: hand in: ran in 0.0 s; scored written 0.9 [0.9, 0.9]; wrote" in digest
    assert "validation_submission.csv" in digest
    assert "not scored: validation_submission.csv is not a number" in digest
    assert "```python\ngood\n```" in digest

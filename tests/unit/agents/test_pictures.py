"""CoMind's roles see samples of the data, and coders the pictures that their cells save for them."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Pillow

from comind.agents.comind.conversation import Conversation, Turn
from comind.campaign.log.work import Code, Think
from comind.campaign.worker import execute
from comind.errors import ModelServiceError
from comind.llm.images import encode_image
from comind.llm.model_ports import Message, ModelRequest
from comind.testing import ScriptedModel
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import after_one_round, drafting, proposing, reading
from tests.unit.agents.samples import FRAME, PROBLEM, agent_for
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World

_SHEET = encode_image(Pillow.new("RGB", (768, 512)), "Pictures of some rows of train.csv.")
_AGENT = agent_for(PROBLEM.model_copy(update={"samples": _SHEET}), community=VIEW)
_RULE = "- You see pictures."


def _draw(*names: str) -> Callable[[Path], str]:
    """Return a cell that saves pictures, the last one last; a text if its name has `bad` in it."""

    def cell(workspace: Path) -> str:
        for time, name in enumerate(names, start=1):
            if "bad" in name:
                (workspace / name).write_text("words")
            else:
                Pillow.new("RGB", (900, 600), "green").save(workspace / name)
            os.utime(workspace / name, (time, time))
        return "drawn"

    return cell


_CELLS = {
    FRAME: lambda workspace: "",
    "plot": _draw("plot.png", "show_errors.png"),
    "many": _draw("show_a.png", "show_b.JPG", "show_c.jpeg", "show.png", "ashow_d.png"),
    "bad": _draw("show_bad.png"),
}


def _asked(
    root: Path, work: Code | Think, *replies: dict[str, object], takes_images: bool = True
) -> list[ModelRequest]:
    """Execute work until the script has no more replies; return the requests."""
    world = World(root, cells=_CELLS)  # type: ignore[arg-type]
    world.model = ScriptedModel([json.dumps(each) for each in replies], takes_images=takes_images)
    with pytest.raises(ModelServiceError, match="no more replies"):
        execute(_AGENT, work, world.folder.work("work-000"), world.dependencies())
    return world.model.requests


def _cells(*names: str) -> list[dict[str, object]]:
    return [{"goal": f"Try {name}.", "code": name} for name in names]


def _captions(message: Message) -> list[str]:
    return [each.caption for each in message.images]


def test_every_role_begins_with_samples_of_the_data(tmp_path: Path) -> None:
    """The first prompt of a role that takes images has the sheet; that of another has no image."""
    state = after_one_round()
    works = [code(steps=3), reading(state, VIEW), proposing(state), drafting(state, VIEW)]
    for number, work in enumerate(works):
        assert work is not None
        for takes in (True, False):
            [request] = _asked(tmp_path / f"{number}-{takes}", work, takes_images=takes)
            system, user = request.messages
            assert system.images == ()
            assert user.images == ((_SHEET,) if takes else ())
            assert (_RULE in system.content) == (takes and number == 0)


def test_a_coder_sees_what_its_cells_save_for_it(tmp_path: Path) -> None:
    """Of a cell the last two files named show_NAME come with its result; other pictures do not."""
    asked = _asked(tmp_path, code(steps=9), *_cells("plot", "many", "bad", "look"))
    told = [request.messages[-1] for request in asked]
    assert [_captions(each) for each in told[1:]] == [
        ["show_errors.png"],
        ["show_b.JPG", "show_c.jpeg"],
        [],
        [],
    ]
    assert "Not shown: show_bad.png is neither a PNG nor a JPEG file." in told[3].content.splitlines()
    blind = _asked(tmp_path / "blind", code(steps=9), *_cells("plot", "bad"), takes_images=False)
    assert not any(message.images for message in blind[-1].messages)
    assert "Not shown" not in blind[-1].messages[-1].content


def test_images_leave_a_conversation_with_their_steps() -> None:
    """Images count towards the room of the steps, and are gone once their step is one line."""
    opening = (Message(role="system", content="Rules."), Message(role="user", content="A task."))
    limits = {"context_tokens": 32_768, "reply_tokens": 1_000, "most_tokens": 24_000}
    plain, seen = Conversation(opening, **limits), Conversation(opening, **limits)
    for number in range(50):
        plain.add(Turn("fit()", "It ran.", f"Step {number}: tried."))
        seen.add(Turn("fit()", "It ran.", f"Step {number}: tried.", images=(_SHEET, _SHEET)))
    assert len(plain.messages) == 102
    left = [message for message in seen.messages if message.images]
    assert 0 < len(left) < 30
    assert "Step 0: tried." in seen.messages[2].content
    assert seen.messages[2].images == ()
    sheet = (opening[0], opening[1].model_copy(update={"images": (_SHEET,)}))
    assert (
        Conversation(sheet, **{**limits, "context_tokens": 8_192}).room
        < Conversation(opening, **{**limits, "context_tokens": 8_192}).room - 400
    )


def test_a_resumed_coder_asks_with_the_same_pictures(tmp_path: Path) -> None:
    """The last prompt before a kill is the first one after it, with its images."""
    before = _asked(tmp_path, code(steps=9), *_cells("plot"))
    after = _asked(tmp_path, code(steps=9), *_cells("look"))
    assert after[0].fingerprint() == before[-1].fingerprint()
    assert after[0].messages == before[-1].messages
    assert _captions(after[0].messages[-1]) == ["show_errors.png"]

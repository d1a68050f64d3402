"""`CodeContext.show`: pictures that cells wrote, as images for a model; a replay has the same."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow
from pydantic import BaseModel

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.messages import read_messages
from comind.campaign.log.outcome import CodeOutcome, CodeResult, FailureCause
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WORK_EVENTS, CallSent, PictureShown
from comind.campaign.work.context import CodeContext
from comind.campaign.worker import execute
from comind.domain.spend import Budget
from comind.errors import ModelServiceError
from comind.eventlog.log import read_log
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from comind.testing import ScriptedModel, TinyAgent
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import status
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, reply


class _Cell(BaseModel):
    code: str


class _Showing(TinyAgent):
    """Runs a cell, then asks for the next one with the picture that it drew, if the model takes it."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        del work
        message = Message(role="user", content="begin")
        while context.steps_left:
            request = ModelRequest(role="coding_agent", messages=(message,))
            step = context.step("next", context.ask(request, _Cell).value.code)
            written = [file.name for file in step.files] if context.takes_images else []
            shown = [context.show(name) for name in written]
            images = tuple(each.image for each in shown if each.image is not None)
            told = "; ".join(each.refused for each in shown if each.refused)
            message = Message(role="user", content=told or "on", images=images)
        return CodeResult()


def _draw(name: str, content: str = "") -> object:
    """Return a cell that draws a plot, or writes something else in its place."""

    def cell(workspace: Path) -> str:
        if content:
            (workspace / name).write_text(content)
        else:
            Pillow.new("RGB", (1_000, 500), "blue").save(workspace / name)
        return "drawn"

    return cell


CELLS = {"draw": _draw("plot.png"), "text": _draw("plot.png", "words")}


def _world(root: Path, script: list[str], *, takes_images: bool = True) -> World:
    world = World(root, cells=CELLS)
    world.agent, world.model = _Showing(), ScriptedModel(script, takes_images=takes_images)
    return world


def _run(world: World) -> WorkFolder:
    """Run an attempt until the script has no more replies."""
    folder = world.folder.work("attempt-000")
    with pytest.raises(ModelServiceError, match="no more replies"):
        execute(world.agent, code(steps=9), folder, world.dependencies())
    return folder


def _shown(world: World) -> list[Message]:
    return [request.messages[-1] for request in world.model.requests]


def test_a_picture_is_kept_recorded_and_sent(tmp_path: Path) -> None:
    """The log has its hash and size, the attempt's folder its bytes, the messages a line about it."""
    world = _world(tmp_path, [reply("draw"), reply("look")])
    folder = _run(world)
    _, drawn, looked = _shown(world)
    [image] = drawn.images
    assert (image.caption, image.width, image.height) == ("plot.png", 768, 384)
    assert looked.images == ()
    assert folder.picture(image.sha256).read_bytes() == image.data
    events = [record.event for record in read_log(folder.log, WORK_EVENTS)]
    [recorded] = [event for event in events if isinstance(event, PictureShown)]
    assert recorded.image == image.model_copy(update={"data": b""})
    kept = [each.content for each in read_messages(folder.messages).values()]
    assert f"on\n\n[picture {image.sha256[:16]}.jpg, 768 x 384: plot.png]" in kept


def test_a_resumed_attempt_sends_the_same_pictures(tmp_path: Path) -> None:
    """A replay reads the bytes that were sent, whatever the file is by now; changed ones end it."""
    folder = _run(_world(tmp_path, [reply("draw")]))
    (folder.workspace / "plot.png").write_bytes(b"")
    resumed = _world(tmp_path, [reply("look")])
    _run(resumed)
    image = _shown(resumed)[0].images[0]
    assert folder.picture(image.sha256).read_bytes() == image.data
    folder.picture(image.sha256).unlink()
    outcome = execute(resumed.agent, code(steps=9), folder, resumed.dependencies())
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.REPLAY
    assert "was changed after a model was shown it" in outcome.failure.message


def test_a_bad_file_is_a_line(tmp_path: Path) -> None:
    """What is no picture is refused with its name, also in a replay; no link is followed."""
    secret = tmp_path / "secret.png"
    Pillow.new("RGB", (9, 9)).save(secret)
    world = _world(tmp_path, [reply("text")])
    folder = _run(world)
    assert _shown(world)[-1].content == "plot.png is neither a PNG nor a JPEG file"
    resumed = _world(tmp_path, [reply("linked")])
    resumed.cells["linked"] = lambda workspace: str(_replace(workspace / "plot.png", secret))
    resumed.agent = _Linked()
    _run(resumed)
    assert _shown(resumed)[0] == _shown(world)[-1]
    assert "not a plain file" in _shown(resumed)[-1].content
    assert not list(folder.root.glob("pictures/*"))


class _Linked(_Showing):
    """Shows one file, whatever a cell wrote."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        del work
        message = Message(role="user", content="begin")
        while context.steps_left:
            request = ModelRequest(role="coding_agent", messages=(message,))
            context.step("next", context.ask(request, _Cell).value.code)
            message = Message(role="user", content=context.show("plot.png").refused)
        return CodeResult()


def _replace(path: Path, target: Path) -> Path:
    path.unlink()
    path.symlink_to(target)
    return path


@pytest.mark.parametrize("takes", [True, False])
def test_a_replay_assumes_what_was_recorded(takes: bool, tmp_path: Path) -> None:
    """Whether the model takes images is recorded with the work's calls, so prompts stay the same."""
    first = _world(tmp_path, [reply("draw")], takes_images=takes)
    folder = _run(first)
    later = _world(tmp_path, [reply("look")], takes_images=not takes)
    _run(later)
    assert _shown(later)[0] == _shown(first)[-1]
    events = [record.event for record in read_log(folder.log, WORK_EVENTS)]
    sent = [event for event in events if isinstance(event, CallSent)]
    assert {event.takes_images for event in sent} == {takes}
    assert ("takes_images" in folder.log.read_text()) == takes


def _served(root: Path, server: Endpoint, **settings: Any) -> tuple[CodeOutcome, int]:
    """Run an attempt of two cells with a model of a server; return the outcome and the request count."""
    world = _world(root, [])
    world.budget = Budget(seconds=3_600, tokens=settings.pop("tokens", None))
    found = ModelSettings(**settings)
    world.model = OpenAIModel("m", base_url=server.url, api_key=None, settings=found)  # type: ignore[assignment]
    outcome = execute(world.agent, code(steps=2), world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome, len(server.requests)


def test_a_model_that_refuses_pictures_goes_on_in_words(tmp_path: Path) -> None:
    """The refused request is sent again without its picture, and nothing is charged for it."""
    refusing = lambda _n, asked: status(400, "no image input") if "base64" in asked.text else None  # noqa: E731
    with Endpoint(lambda asked: reply("draw"), refusing) as server:
        outcome, requests = _served(tmp_path, server)
        assert "(A picture is left out here: plot.png)" in server.requests[-1].text
    assert (outcome.steps, outcome.spend.calls, requests) == (2, 2, 3)
    assert outcome.spend.tokens == server.counted.tokens


def test_a_picture_counts_in_the_budget(tmp_path: Path) -> None:
    """A request is not sent where the worst case of its picture exceeds the limit of tokens."""
    with Endpoint(lambda asked: reply("draw")) as server:
        outcome, requests = _served(tmp_path / "seen", server, tokens=8_000)
        assert outcome.failure is not None
        assert (outcome.failure.cause, outcome.steps, requests) == (FailureCause.BUDGET, 1, 1)
        outcome, requests = _served(tmp_path / "blind", server, tokens=8_000, images=False)
        assert (outcome.steps, requests) == (2, 3)

"""What a campaign was asked, replied and ran is listed: all work, one piece of it, or one step."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code
from comind.campaign.reports.work_listing import list_campaign, list_step, list_work
from comind.campaign.work.context import CodeContext
from comind.cli.main import main
from comind.errors import CampaignError
from comind.testing import TinyAgent
from tests.unit.campaign.world import World, hand_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A campaign of the tiny agent that has ended."""
    write: Any = hand_in("0.95")
    world = World(tmp_path, cells={"better": lambda folder: f"\x1b[2J{write(folder)} loudly"})
    world.run(world.campaign())
    return world


def test_a_campaign_lists_its_work(world: World) -> None:
    """Each piece of work has its kind, result, steps and cost, in the order of planning."""
    listed = list_campaign(world.folder)
    first = next(each for each in listed["work"] if each["work"] == "attempt-001")
    assert listed["picked"] in {each["work"] for each in listed["work"]}
    assert listed["ended"]
    assert (first["failure"], first["calls"], first["steps"]) == (None, 2, 2)
    assert first["tokens"] == 240
    assert "0.9" in first["result"]


def test_work_lists_calls_and_cells_in_the_order_of_time(world: World) -> None:
    """A call comes before the cell that it wrote."""
    events = list_work(world.folder, "attempt-001")["events"]
    assert [each["event"] for each in events[:2]] == ["call", "cell"]
    assert events[1]["score"]


def test_a_step_has_prompt_reply_code_and_output(world: World) -> None:
    """Everything that was sent for it, what came back, and what ran."""
    step = list_step(world.folder, "attempt-001", 1)
    [call], [cell] = step["calls"], step["cells"]
    assert call["messages"][-1]["content"]
    assert not call["messages"][-1]["sent_before"]
    assert json.loads(call["reply"]) == {"code": cell["code"]}
    assert "wrote 0.95" in cell["output"]


class _Faulty(TinyAgent):
    def code(self, work: Code, _context: CodeContext) -> CodeResult:
        raise KeyError(work.draft.title)


def test_the_traceback_of_a_failure_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of work that failed by a bug, below its other facts."""
    world = World(tmp_path)
    world.agent = _Faulty()
    world.run(world.campaign())
    listed = list_work(world.folder, "attempt-000")
    assert listed["traceback"].endswith("KeyError: 'baseline'")
    assert main(["show", world.folder.name, "attempt-000", "--out", str(tmp_path)]) == 0
    assert f"\ntraceback:\n{listed['traceback']}" in capfd.readouterr().out


def test_what_is_not_there_is_one_line(world: World) -> None:
    """An unknown attempt or step names those that there are."""
    with pytest.raises(CampaignError, match="there is no work 'attempt-999'"):
        list_work(world.folder, "attempt-999")
    with pytest.raises(CampaignError, match="attempt-001 has no step 9") as error:
        list_step(world.folder, "attempt-001", 9)
    assert error.value.hint == "its steps: 1 to 2"


@pytest.mark.parametrize(
    ("named", "line"),
    [
        (["demo-tiny-1"], "attempt-001  improve: "),
        (["demo-tiny-1", "attempt-001"], "step 2  ok"),
        (["demo-tiny-1/attempt-001"], "step 2  ok"),
        (["demo-tiny-1", "attempt-001", "1"], "wrote 0.95 loudly"),
        (["demo-tiny-1/attempt-001", "1"], "wrote 0.95 loudly"),
    ],
)
def test_the_command_prints_text_or_json(
    named: list[str], line: str, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    """Control codes of a model or of a cell's output do not reach the terminal."""
    given = ["show", *named, "--out", str(world.root)]
    assert main(given) == 0
    text = capfd.readouterr().out
    assert line in text
    assert "\x1b" not in text
    assert main([*given, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)


def test_messages_that_were_not_kept_are_said(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    """A campaign of an older version has replies and no prompts."""
    world.folder.work("attempt-001").messages.unlink()
    assert main(["show", "demo-tiny-1", "attempt-001", "1", "--out", str(world.root)]) == 0
    assert "not kept, as in older campaigns" in capfd.readouterr().out


@pytest.mark.parametrize("named", [["attempt-001", "x"], ["attempt-001", "-1"], ["attempt-001/2", "1"]])
def test_a_step_that_is_no_number_is_one_line(
    named: list[str], world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bad usage is exit code 2, whatever stands in the place of the step."""
    assert main(["show", f"demo-tiny-1/{named[0]}", *named[1:], "--out", str(world.root)]) == 2
    assert "is not the number of a step" in capfd.readouterr().err


def test_an_unknown_campaign_is_one_line(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    """It names those that there are."""
    assert main(["show", "nothing", "--out", str(world.root)]) == 2
    assert "nothing" in capfd.readouterr().err

"""The agent of docs/agents.md, installed from a folder outside the project, in a campaign of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from comind.app.campaign_opening import resume_campaign
from comind.app.lineage import lineage
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Think
from comind.campaign.log.work_events import WORK_EVENTS, CallSent, CellEnded, SessionOpened
from comind.campaign.loop import read_state
from comind.errors import UsageError
from comind.eventlog.log import read_log
from comind.wiring.agents import prompts_sha256
from tests.e2e.command import Ran, comind

_PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
_FILE = re.compile(r"^`([\w/.]+)`\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SIGKILLED = -9
_LOOK = """
import pandas as pd
folder = 'input/demo-tumours'
validation = pd.read_csv(f'{folder}/sample_validation_submission.csv')
print(len(validation))
"""
_HAND_IN = """
validation.to_csv('validation_submission.csv', index=False)
pd.read_csv(f'{folder}/sample_submission.csv').to_csv('submission.csv', index=False)
"""
_RULES = [
    {"reply": "Methods", "say": {"methods": ["Predict the same.", "The same again.", "And again."]}},
    {"reply": "Cell", "contains": "Your method: ", "say": {"code": _LOOK}},
    {"reply": "Cell", "contains": "The cell ended: ok.", "say": {"code": _HAND_IN}},
]


# Every process of the campaign imports this when it starts.
_WATCH = """
import sys
def _watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        where = args[0] if event.startswith("socket.get") else args[1]
        with open({log!r}, "a") as file:
            file.write(event + " " + repr(where) + "\\n")
sys.addaudithook(_watch)
"""
_LOCAL = ("127.0.0.1", "localhost", "'/", '"/', "b'/", "None", "::1", "\\x00")


class Place:
    """The folder that the agent is installed in, and the project that it works on."""

    def __init__(self, root: Path) -> None:
        self.site, self.project = root / "site", root / "project"
        source = root / "source"
        for name, text in _FILE.findall(_PAGE.read_text()):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        alone = ["--no-index", "--no-deps", "--no-build-isolation"]  # builds a wheel, offline
        subprocess.run([*pip, *alone, "--target", self.site, source], check=True)
        self.calls = root / "calls"
        """The addresses that processes connected to, one line each."""
        (self.site / "sitecustomize.py").write_text(_WATCH.format(log=str(self.calls)))
        self.script = root / "script.yaml"
        self.script.write_text(yaml.safe_dump(_RULES))

    def comind(self, *arguments: str | Path, **env: str) -> Ran:
        """Run `comind` where the agent can be imported; nothing is installed beside CoMind itself."""
        return comind(*arguments, PYTHONPATH=str(self.site), **env)

    @property
    def campaign(self) -> str:
        """The one campaign."""
        [folder] = (self.project / "runs").iterdir()
        return folder.name

    @property
    def state(self) -> CampaignState:
        """Of the one campaign."""
        return read_state(ProjectFolder(self.project).campaign(self.campaign))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> Place:
    """A campaign of the agent that was killed after a cell, met no agent, and went on to its end."""
    place = Place(tmp_path_factory.mktemp("plugins"))
    ran = place.comind(
        "solve", "demo-tumours", "--agent", "sketch", "--set", "methods=2", "--coders", "1",
        "--model", f"scripted:{place.script}", "--baseline", "none", "--out", place.project,
        COMIND_KILL_AT="cell-recorded",
    )  # fmt: skip
    assert ran.exit_code == _SIGKILLED, ran.stderr
    before, environment = ProjectFolder(place.project).campaign(place.campaign), dict(os.environ)
    killed = before.log.read_bytes()
    with pytest.raises(UsageError, match="unknown agent 'sketch'"):
        resume_campaign(place.project, place.campaign, print)
    os.environ.clear()
    os.environ.update(environment)
    assert before.log.read_bytes() == killed
    with (place.site / "comind_sketch" / "prompts" / "told.j2").open("a") as prompt:
        prompt.write("Hurry.\n")  # no request with it is recorded yet
    ran = place.comind("solve", "--resume", place.campaign, "--out", place.project, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert (ran.json["agent"], ran.json["best_from"]) == ("sketch", "agent")
    assert (ran.json["attempts"], ran.json["valid_attempts"], ran.json["refitted"]) == (2, 2, True)
    return place


def test_an_installed_agent_is_listed(place: Place) -> None:
    """`comind agents` tells the wheel that it came from, its roles and its parameters."""
    [told] = place.comind("agents", "sketch", "--json").json["agents"]
    assert told["origin"] == "comind-sketch 1.0"
    assert told["summary"] == "Asks for a list of methods once, then tries each of them."
    assert [*told["roles"]] == ["planner", "coder"]
    assert told["parameters"] == {"methods": {"default": 3, "description": "methods that are tried"}}


def test_its_prompts_are_printed(place: Place) -> None:
    """`comind prompts` needs nothing from an agent: it runs its own code on sample facts."""
    ran = place.comind("prompts", "sketch", "--json")
    assert ran.exit_code == 0, ran.stderr
    found = {each["prompt"]: each for each in ran.json["prompts"]}
    assert found["list"]["roles"] == ["planner"]
    assert found["cell"]["roles"] == found["result"]["roles"] == ["coder"]
    assert "Predict from laboratory measurements" in found["list"]["text"]


def test_nothing_leaves_the_machine(place: Place) -> None:
    """No part of a campaign looks up a name or connects anywhere but to the loopback."""
    calls = place.calls.read_text().splitlines()
    assert calls, "the watch was not kept"
    outside = [line for line in calls if not any(local in line for local in _LOCAL)]
    assert outside == []


def test_its_name_version_and_parameters_are_in_the_log(place: Place) -> None:
    """The campaign's name and its first event say which agent of which version ran with what."""
    spec = place.state.spec
    assert place.campaign.startswith("demo-tumours-sketch-")
    assert (spec.agent, spec.agent_origin) == ("sketch", "comind-sketch 1.0")
    assert spec.parameters == {"methods": 2}


def test_its_thoughts_are_typed_and_recorded_once(place: Place) -> None:
    """Facts and result are JSON in the log; what was recorded before the kill is not done again."""
    state = place.state
    thought, *attempts = list(state.works)
    assert isinstance(thought.work, Think)
    assert (thought.work.purpose, thought.work.facts.root) == ("list", {"methods": 2})
    assert thought.outcome is not None
    assert thought.outcome.kind == "think"
    assert thought.outcome.result.root == {"methods": ["Predict the same.", "The same again."]}
    assert [each.id for each in attempts] == ["attempt-000", "attempt-001", "refit-000"]
    folder = ProjectFolder(place.project).campaign(place.campaign)
    events = [each.event for each in read_log(folder.work("attempt-000").log, WORK_EVENTS)]
    assert [each.role for each in events if isinstance(each, CallSent)] == ["coder", "coder"]
    assert sum(isinstance(each, CellEnded) for each in events) == 2
    sessions = [each.replayed_cells for each in events if isinstance(each, SessionOpened)]
    assert sessions == [0, 1], "killed after the first cell, which rebuilt the interpreter"


def test_its_prompts_are_part_of_the_environment(place: Place) -> None:
    """A prompt that was changed between kill and resume is another environment, in nothing else."""
    first, second = place.state.environments
    assert first.prompts_sha256 != second.prompts_sha256
    assert prompts_sha256(()) not in {first.prompts_sha256, second.prompts_sha256}
    assert first.model_copy(update={"prompts_sha256": second.prompts_sha256}) == second


def test_its_submission_has_a_lineage(place: Place) -> None:
    """`comind lineage` names agent and version; without the agent the platform's own graph is told."""
    ran = place.comind("lineage", place.campaign, "--out", place.project, "--json")
    assert ran.exit_code == 0, ran.stderr
    told = ran.json
    assert (told["agent"], told["missing"]) == ("sketch", [])
    recorded = told["recorded"]["parameters"]
    assert (recorded["agent_origin"], recorded["parameters"]) == ("comind-sketch 1.0", {"methods": 2})
    without = lineage(place.project, place.campaign)
    assert without["nodes"] == told["nodes"]
    [missing] = without["missing"]
    assert missing == "unknown agent 'sketch', so the nodes of comind-sketch 1.0 are missing"


def test_its_submission_is_had_again_without_it(place: Place) -> None:
    """Scripts of an agent's attempts run where nobody has installed the agent."""
    ran = comind("reproduce", place.campaign, "--out", place.project, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["verdict"] == "identical"

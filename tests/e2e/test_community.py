"""Four coders, two rounds, a small community: each role does its part, and all of it can be traced."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.pool import graph_with_ideas, pool_of
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded, MonitorAsked, WorkEvent
from comind.campaign.loop import read_state
from comind.community.snapshot import SnapshotFolder
from comind.eventlog.log import read_log
from comind.session.session_ports import CellStatus
from tests.e2e.command import QUIET, comind

# test_demo.py has a community of recorded replies; tests/contract/test_monitor.py stops cells.
pytestmark = pytest.mark.torture

_BORDER = """
import joblib, os
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

folder = 'input/demo-tumours'
parts = ('train', 'validation', 'test')
train, validation, test = (pd.read_csv(f'{folder}/{part}.csv') for part in parts)
features = [column for column in test if column != 'sample_id']
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
model.fit(train[features], train['benign'])
os.makedirs('checkpoints', exist_ok=True)
joblib.dump(model, 'checkpoints/model.joblib')
for rows, name in ((validation, 'validation_submission.csv'), (test, 'submission.csv')):
    rows[['sample_id']].assign(benign=model.predict(rows[features])).to_csv(name, index=False)
"""

_GO_ON = _BORDER.replace(
    "model.fit(train[features], train['benign'])",
    "model = joblib.load('input/solutions/attempt-001/checkpoints/model.joblib')",
)

_LOST = """
import time
for epoch in range(1000):
    print(f'epoch {epoch} loss: nan', flush=True)
    time.sleep(0.5)
"""

_SLOW = """
import time
for epoch in range(50):
    print(f'epoch {epoch} held-out score: nan', flush=True)  # evidence, but nothing certain
    time.sleep(0.5)
"""


def _rule(reply: str, say: dict[str, Any], contains: str = "") -> dict[str, Any]:
    return {"reply": reply, "contains": contains, "say": say}


def _draft(title: str, kind: str, **values: Any) -> dict[str, Any]:
    return {"title": title, "kind": kind, "method": f"{title}.", **values}


def _rules() -> list[dict[str, Any]]:
    ratings = QUIET[0]["say"]
    scaling = {
        "summary": "Scale all columns before drawing one straight border.",
        "ideas": ["Scale."],
        "effectiveness": 9,  # the best report, R1
    }
    idea = "Scale the columns, then draw one straight border."
    first = [
        _draft("draw a border", "novel", ideas=[1]),
        _draft("lose the way", "baseline"),
        _draft("take the time", "novel"),
        _draft("more of the best", "extend"),
    ]
    second = [_draft("go on from the border", "extend", start_from="attempt-001", ideas=[1])]
    rated = {"feasibility": 9, "potential": 8, "agreement": 7}
    raw = {"text": idea, "sources": ["R1"]}
    kept = {"text": idea, "made_from": ["N1"], **rated}
    step = {title: {"goal": title, "code": code} for title, code in _CELLS.items()}
    return [
        _rule("Analysis", ratings | scaling, "Scale before you judge"),
        _rule("Analysis", ratings),
        _rule("Brainstorm", {"paths": [{"approach": "Lines.", "ideas": [raw]}]}),
        _rule("Selection", {"ideas": [kept]}),
        _rule("Drafts", {"drafts": second}, "lose the way: "),
        _rule("Drafts", {"drafts": first}),
        *(_rule("CodingStep", say, f"# Your draft: {title}") for title, say in step.items()),
        _rule("CodingStep", {"goal": "over", "code": ""}),
        _rule(
            "MonitorVerdict",
            {"stop": True, "quote": "epoch 7 loss: nan", "reason": "The loss is no number."},
            "epoch 7 loss: nan",
        ),
        _rule("MonitorVerdict", {"stop": True, "quote": "I am stuck", "reason": "It looks stuck."}),
        _rule("AttemptReport", {"summary": "A straight border is enough."}),
        _rule("CritiqueReply", {"findings": []}),
    ]


_CELLS = {
    "draw a border": _BORDER,
    "lose the way": _LOST,
    "take the time": _SLOW + _BORDER,
    "more of the best": "import time; time.sleep(15)\n" + _BORDER,  # so that the border is first
    "go on from the border": _GO_ON,
}


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> tuple[Path, dict[str, Any]]:
    """A project with a campaign of four coders and two rounds, all roles scripted."""
    project = tmp_path_factory.mktemp("community")
    script = project / "script.yaml"
    script.write_text(json.dumps(_rules()))
    arguments = ("--coders", "4", "--iterations", "2", "--steps", "4", "--out", project, "--json")
    arguments = (*arguments, "--set", "one_call_minutes=0")
    ran = comind("solve", "demo-tumours", "--model", f"scripted:{script}", "--no-refit", *arguments)
    assert ran.exit_code == 0, ran.stderr
    return project, ran.json


@pytest.fixture
def state(solved: tuple[Path, dict[str, Any]]) -> CampaignState:
    """The campaign's state, from its log."""
    project, answer = solved
    return read_state(ProjectFolder(project).campaign(answer["campaign"]))


def _titled(state: CampaignState, title: str) -> str:
    return next(a.id for a in state.works.attempts() if a.work.draft.title == title)


def _events(solved: tuple[Path, dict[str, Any]], work_id: str) -> list[WorkEvent]:
    project, answer = solved
    folder = ProjectFolder(project).campaign(answer["campaign"]).work(work_id)
    return [record.event for record in read_log(folder.log, WORK_EVENTS)]


def test_every_role_has_a_typed_result(state: CampaignState) -> None:
    """Reports, ideas and drafts of both rounds stand in the log; every part is played."""
    pool = pool_of(state)
    assert {"notebook", "discussion", "solution"} <= {report.item_type for report in pool.reports}
    assert [idea.id for idea in pool.ideas] == ["idea-000", "idea-001"]
    assert sorted(draft.strategy for draft in pool.drafts[:4]) == [
        "baseline",
        "extend",
        "novel",
        "novel",
    ]
    assert len(state.works.attempts()) == 6


def test_a_solution_goes_back_to_a_discussion(
    solved: tuple[Path, dict[str, Any]], state: CampaignState
) -> None:
    """From the last solution a line leads over drafts and ideas to the thread that gave the idea."""
    project, _ = solved
    assert state.community is not None
    view = SnapshotFolder(ProjectFolder(project).communities / state.community.key).read()
    graph = graph_with_ideas(state, view)
    last = _titled(state, "go on from the border")
    names = [node.id for node in graph.ancestors(f"solution:{last}")]
    assert {"discussion:1", "idea:idea-000", "solution:attempt-001"} <= set(names)


def test_a_publication_is_used(solved: tuple[Path, dict[str, Any]], state: CampaignState) -> None:
    """The model that one attempt kept is loaded by a later one from its published solution."""
    later = state.works[_titled(state, "go on from the border")]
    assert later.work.kind == "code"
    assert later.work.parents == ("attempt-001",)
    assert later.outcome is not None
    assert later.outcome.kind == "code"
    earlier = state.works["attempt-001"].outcome
    assert earlier is not None
    assert earlier.kind == "code"
    assert later.outcome.score == earlier.score
    project, answer = solved
    kept = ProjectFolder(project).solution(answer["campaign"], "attempt-001") / "checkpoints"
    assert (kept / "model.joblib").is_file()


def test_a_lost_cell_is_stopped(solved: tuple[Path, dict[str, Any]], state: CampaignState) -> None:
    """A loss that is no number ends the cell long before its time, with the line that shows it."""
    events = _events(solved, _titled(state, "lose the way"))
    _, ended, *_ = [event for event in events if isinstance(event, CellEnded)]  # the first reads tables
    assert ended.result.status is CellStatus.STOPPED
    assert ended.result.seconds < 120
    assert "nan" in ended.result.error


def test_a_slow_healthy_cell_is_left_alone(
    solved: tuple[Path, dict[str, Any]], state: CampaignState
) -> None:
    """A model that wants it stopped but quotes what was never printed is not obeyed."""
    events = _events(solved, _titled(state, "take the time"))
    assert any(isinstance(event, MonitorAsked) for event in events)
    _, ended, *_ = [event for event in events if isinstance(event, CellEnded)]  # the first reads tables
    assert ended.result.status is CellStatus.OK
    assert ended.submitted is not None


def test_the_journal_tells_it(solved: tuple[Path, dict[str, Any]]) -> None:
    """People find what was read and why, and what came of it, in one page."""
    project, answer = solved
    told = ProjectFolder(project).campaign(answer["campaign"]).journal.read_text()
    for words in ("number 1 of 3 notebooks by rank", "idea-000", "lose the way", "discussion 1: "):
        assert words in told

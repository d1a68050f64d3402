"""Any reply in any role ends work with a valid outcome after a bounded number of calls."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from comind.agents.comind.analyzer import Analysis
from comind.agents.comind.coding_agent import AttemptReport, CodingStep
from comind.agents.comind.critic import CRITICIZE, CritiqueReply, Finalist
from comind.agents.comind.draft_replies import Drafts, OpenDrafts, Preparation
from comind.agents.comind.idea_proposer import Brainstorm, Selection
from comind.agents.comind.thoughts import ANALYZE, PREPARE, Preparing
from comind.authoring.author import REPAIRS, EvaluateScript, SplitScript, author_split
from comind.campaign.log.campaign_events import WorkFinished, WorkPlanned
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.outcome import FailureCause, Outcome
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    MonitorHeard,
    MonitorVerdict,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.campaign.worker import execute
from comind.competitions.competition_folder import load_competition
from comind.domain.spend import Budget, Spend
from comind.errors import NoSubmissionError, ReplyError
from comind.eventlog.log import read_log
from comind.llm.exchange import parse, request_for
from comind.llm.model_ports import ModelRequest
from comind.llm.rate_limiter import RateLimiter
from comind.session.session_ports import CellStatus, Handle, SandboxSpec
from comind.testing import ScriptedSession
from tests.unit.agents.community import VIEW
from tests.unit.agents.drawn_replies import DrawnModel, drawn_replies
from tests.unit.agents.rounds import after_one_round, drafting, opening, proposing, reading
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, records
from tests.unit.campaign.world import World, run_inline
from tests.unit.competitions.folders import competition_folder

pytestmark = pytest.mark.slow

_AGENT = agent_for(community=VIEW)
_TRIES = 3
_SECONDS_AT_LENGTH = 120.0  # for each role


def _work(role: str) -> tuple[Think | Code, int]:
    """Return work of a role and its maximum number of requests."""
    state = after_one_round()
    if role == "analyzer":
        work = reading(state, VIEW)
        assert work is not None
        facts = ANALYZE.facts_of(work)
        return work, len(facts.sampled) + len(facts.solutions)
    if role == "idea_proposer":
        return proposing(state), 4  # brainstorm and selection, each once more for unknown sources
    if role == "critic":
        program = "train = 1\ngood = train"
        return CRITICIZE.work(
            Finalist(id="attempt-001", title="t", score="s", code=program, seconds=1)
        ), 1
    if role == "coordinator":
        return drafting(state, VIEW), 2
    if role == "opening":
        return opening(state, VIEW), 2
    if role == "preparation":
        return PREPARE.work(Preparing(folds=5, methods=("Extra trees.",))), 1
    return code(steps=3), 3 * 3 + 3 + 1  # steps, each after two words that it is done; then the report


def _converse(role: str, data: st.DataObject) -> None:
    """Carry out work of a role to its end, twice."""
    with tempfile.TemporaryDirectory() as name:
        world = World(Path(name))
        world.model = DrawnModel(data)
        work, questions = _work(role)
        folder = world.folder.work("work-000")
        outcome = execute(_AGENT, work, folder, world.dependencies())
        assert outcome.failure is None or outcome.failure.cause is not FailureCause.INTERNAL, (
            outcome.failure
        )
        assert len(world.model.requests) <= _TRIES * questions
        assert outcome.spend.calls == len(world.model.requests)
        last = read_log(folder.log, WORK_EVENTS)[-1].event
        assert isinstance(last, WorkEnded)
        assert last.outcome == outcome
        again = execute(_AGENT, work, folder, world.dependencies())
        assert again == outcome
        _plan_on(work, outcome)


def _plan_on(work: Think | Code, outcome: Outcome) -> None:
    """Plan again with the outcome of the work."""
    state = after_one_round()
    work_id = state.next_id(work)
    events = [WorkPlanned(id=work_id, work=work), WorkFinished(id=work_id, outcome=outcome)]
    for record in records(*events):
        state = CAMPAIGN_LOG.apply(state, record)
    assert _AGENT.plan(state) is not None
    assert _AGENT.journal(state, VIEW)


def _watch_a_cell(data: st.DataObject) -> None:
    """A healthy cell runs to its end unless the monitor's model quotes a printed line."""
    events: list[WorkEvent] = []
    settings = MonitorSettings(Monitoring(ask_seconds=20), start=run_inline)
    watch = CellMonitor(DrawnModel(data), events.append, settings, "Fit.", "fit()", 3_600)
    cell = {"fit()": lambda _workspace: iter([(100.0 * n, f"epoch {n}") for n in range(1, 6)])}
    result = ScriptedSession(Path(), cell).run("fit()", seconds=3_600, watch=watch)
    watch.close()
    asked = [event for event in events if event.type == "monitor-asked"]
    heard = [event for event in events if event.type == "monitor-heard"]
    assert len(asked) == len(heard) <= Monitoring().questions
    accepted = any(isinstance(event, MonitorHeard) and event.accepted for event in heard)
    assert (result.status is CellStatus.STOPPED) == accepted


class _NothingRuns:
    """A sandbox in which every program succeeds and does nothing."""

    name, sealed, python = "nothing", True, "python"

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        return workspace, runtime

    def start(self, spec: SandboxSpec) -> Handle:
        spec.log.touch()
        return self  # type: ignore[return-value]

    def alive(self) -> bool:
        return False

    def exit_code(self) -> int:
        return 0

    def stop(self) -> None: ...


def _write_an_evaluator(data: st.DataObject) -> None:
    """Programs that write nothing end the work after all repairs, with its log closed."""
    with tempfile.TemporaryDirectory() as name:
        competition = load_competition(competition_folder(Path(name), metric=None, split=None))
        folder, model = WorkFolder(Path(name) / "evaluator"), DrawnModel(data)
        for _ in range(2):
            with pytest.raises(NoSubmissionError, match="no evaluator could be written"):
                author_split(
                    competition,
                    folder,
                    lambda note: MeteredModel(
                        model, Meter(BudgetLedger(Budget(), Spend()), RateLimiter(), note=note)
                    ),
                    _NothingRuns(),
                )
        assert len(model.requests) <= _TRIES * (REPAIRS + 1)
        ended = [isinstance(each.event, WorkEnded) for each in read_log(folder.log, WORK_EVENTS)]
        assert ended.count(True) == 1
        assert ended[-1]


_TRIED: dict[str, Callable[[st.DataObject], None]] = {
    "analyzer": partial(_converse, "analyzer"),
    "idea_proposer": partial(_converse, "idea_proposer"),
    "coordinator": partial(_converse, "coordinator"),
    "opening": partial(_converse, "opening"),
    "preparation": partial(_converse, "preparation"),
    "coding_agent": partial(_converse, "coding_agent"),
    "critic": partial(_converse, "critic"),
    "evaluator": _write_an_evaluator,
    "monitor": _watch_a_cell,
}


@pytest.mark.parametrize("role", _TRIED)
@given(data=st.data())
def test_no_reply_breaks_a_role(role: str, data: st.DataObject) -> None:
    """Any reply gives a valid outcome, a log that ends with it, and a campaign that continues."""
    _TRIED[role](data)


@pytest.mark.torture
@pytest.mark.parametrize("role", _TRIED)
def test_no_reply_breaks_a_role_at_length(role: str) -> None:
    """The same for some minutes with new replies every time; their number is printed."""
    tried, until = 0, time.monotonic() + _SECONDS_AT_LENGTH

    @given(data=st.data())
    @settings(max_examples=50, derandomize=False, database=None)
    def some(data: st.DataObject) -> None:
        nonlocal tried
        tried += 1
        _TRIED[role](data)

    while time.monotonic() < until:
        some()
    print(f"\n{role}: {tried} conversations")  # noqa: T201 - what a torture run counts


@pytest.mark.parametrize(
    "reply_type",
    [
        *(Analysis, Brainstorm, Selection, Drafts, CodingStep, AttemptReport, CritiqueReply),
        *(OpenDrafts, Preparation),
        *(SplitScript, EvaluateScript, MonitorVerdict),
    ],
)
@given(data=st.data())
def test_every_reply_is_a_value_or_refused(reply_type: type[BaseModel], data: st.DataObject) -> None:
    """A reply that parses can be serialised; one that does not is refused with a short reason."""
    prompt = ModelRequest(role="x", messages=())
    reply = data.draw(drawn_replies(request_for(prompt, reply_type)))
    refused, written = "", ""
    try:
        written = parse(reply, reply_type).model_dump_json()
    except ReplyError as error:
        refused = str(error)
    assert bool(refused) != bool(written)
    assert len(refused) < 1_000
    assert "\\u0000" not in written

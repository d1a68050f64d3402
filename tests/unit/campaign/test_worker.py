"""Work resumes from its log: the same steps, the same outcome, no request sent or charged twice."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from comind.campaign.agent import Agent
from comind.campaign.log.outcome import (
    CodeOutcome,
    CodeResult,
    Execution,
    FailureCause,
    Outcome,
    ThinkOutcome,
)
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    CallAnswered,
    CallSent,
    Graded,
    NodeLost,
    SessionOpened,
    WorkEnded,
)
from comind.campaign.log.work_items import Purpose
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.campaign.work.hand_in import FilesHandedIn
from comind.campaign.worker import execute
from comind.domain.metric import Paired
from comind.domain.spend import Budget, Spend
from comind.domain.value import Value
from comind.errors import GraderError, ModelServiceError, NodeLostError, SubmissionError
from comind.eventlog.log import EventLog, read_log
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from comind.testing import ColumnGrader, ScriptedModel, TinyAgent
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import changed, status
from tests.examples import examples
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, hand_in, reply


def _carry_out(
    world: World, *, steps: int = 2, session: Literal["notebook", "script"] = "notebook"
) -> CodeOutcome:
    folder = world.folder.work("attempt-000")
    work = code(steps=steps).model_copy(update={"session": session})
    outcome = execute(world.agent, work, folder, world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome


def test_an_attempt_keeps_its_best_step(tmp_path: Path) -> None:
    """The outcome names the best graded step, whose files are kept as collected."""
    world = World(tmp_path, [reply("good"), reply("better"), reply("poor")])
    outcome = _carry_out(world, steps=3)
    assert outcome.score is not None
    assert outcome.score.value.value == 0.95
    assert outcome.submitted is not None
    assert outcome.submitted.step == 2
    folder = world.folder.work("attempt-000")
    assert folder.validation_submission(2).read_text() == "0.95"
    assert folder.test_submission(2).read_text() == "test rows"
    assert outcome.failure is None
    assert outcome.spend.calls == 3
    assert outcome.spend.tokens == 3 * 120


@pytest.mark.parametrize(
    ("noise", "picked"), [(0.1, 2), (0.001, 1)], ids=["within the noise", "clearly worse"]
)
def test_a_nominated_step_is_delivered_where_it_ties(noise: float, picked: int, tmp_path: Path) -> None:
    """Outcome, code and interim submission are the nominated step's if it ties with the leader."""
    cells = {"final": hand_in("0.89", final=True), "more": hand_in("0.901")}
    world = World(tmp_path, [reply("good"), reply("final"), reply("more")], cells=cells)
    world.grader = ColumnGrader(noise=noise)
    outcome = _carry_out(world, steps=3)
    last = 3 if picked == 1 else picked
    assert outcome.submitted is not None
    assert outcome.submitted.step == last
    assert outcome.score is not None
    assert outcome.score.value.value == (0.89 if picked == 2 else 0.901)
    assert outcome.code.split("\n\n") == ["good", "final", "more"][:last]


def test_a_resumed_attempt_picks_the_same_step(tmp_path: Path) -> None:
    """The comparison that decided on a nomination is logged, so a replay does not repeat it."""
    cells = {"final": hand_in("0.89", final=True), "more": hand_in("0.901")}
    world = World(tmp_path, [reply("good"), reply("final"), reply("more")], cells=cells)
    world.grader = ColumnGrader(noise=0.1)
    outcome = _carry_out(world, steps=3)
    log = world.folder.work("attempt-000").log
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    again = World(tmp_path, [], cells=cells)
    resumed = _carry_out(again, steps=3)
    assert (resumed.submitted, resumed.score) == (outcome.submitted, outcome.score)
    assert again.ran == []


@pytest.mark.parametrize(
    ("content", "noted"),
    [("0.8", "0.8"), ("words", "out_of_fold.csv is not a number"), ("", None)],
    ids=["scored", "malformed", "none"],
)
def test_out_of_fold_predictions_never_cost_a_score(
    content: str, noted: str | None, tmp_path: Path
) -> None:
    """Out-of-fold predictions are scored beside the pair; a fault in them leaves the step's score."""
    cells = {"oof": hand_in("0.9", out_of_fold=content)}
    world = World(tmp_path, [reply("oof")], cells=cells)
    outcome = _carry_out(world, steps=1)
    assert outcome.score is not None
    assert outcome.submitted is not None
    assert bool(outcome.submitted.out_of_fold_sha256) == bool(content)
    records = read_log(world.folder.work("attempt-000").log, WORK_EVENTS)
    [graded] = [record.event for record in records if isinstance(record.event, Graded)]
    verdict = graded.out_of_fold
    said = verdict and (str(verdict.score.value) if verdict.score else verdict.message)
    assert said == noted
    assert outcome.out_of_fold == (verdict.score if verdict else None)


@pytest.mark.parametrize(
    ("content", "message"),
    [("0.4", ""), ("", "validation_probabilities.csv is empty"), (None, None)],
    ids=["valid", "invalid", "none"],
)
def test_probabilities_beside_labels_never_cost_a_score(
    content: str | None, message: str | None, tmp_path: Path
) -> None:
    """The grader checks them, and what is wrong is recorded beside the step's score."""
    cells = {"soft": hand_in("0.9", probabilities=content)}
    world = World(tmp_path, [reply("soft")], cells=cells, hand_in=FilesHandedIn(probabilities=True))
    outcome = _carry_out(world, steps=1)
    assert outcome.score is not None
    assert outcome.submitted is not None
    assert bool(outcome.submitted.test_probabilities_sha256) == (content is not None)
    log = world.folder.work("attempt-000").log
    [graded] = [r.event for r in read_log(log, WORK_EVENTS) if isinstance(r.event, Graded)]
    verdict = graded.probabilities
    assert (verdict.message if verdict else None) == message
    [cell] = WORK_LOG.read(log).cells
    assert cell.probabilities == verdict


class _Gone(ColumnGrader):
    """A grader whose process does not answer."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        del validation, test
        raise GraderError("the grader process did not start")


class _Unreadable(ColumnGrader):
    """A grader that exceeds a limit with the first submission, and with each comparison."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        if validation.read_text() == "0.9":
            return GradeReport(valid=False, message="grading needed more than 600 s of processor time")
        return super().grade(validation, test)

    def compare(self, one: Path, other: Path) -> Paired:
        raise SubmissionError(f"{one} and {other}: grading took more than 60 minutes")


def test_a_submission_without_its_grade_is_graded_on_resume(tmp_path: Path) -> None:
    """A grader that is gone halts; what it had to grade is graded then, and may be unreadable."""
    world = World(tmp_path, [reply("good")])
    world.grader = _Gone()
    with pytest.raises(GraderError):
        _carry_out(world)
    again = World(tmp_path, [reply("better"), reply("poor")])
    again.grader = _Unreadable()
    outcome = _carry_out(again, steps=3)
    assert outcome.score is not None
    assert outcome.score.value.value == 0.95
    records = read_log(again.folder.work("attempt-000").log, WORK_EVENTS)
    graded = [record.event for record in records if isinstance(record.event, Graded)]
    assert [each.report.valid for each in graded] == [False, True, True]
    assert graded[0].report.message == "grading needed more than 600 s of processor time"
    assert [each.gain for each in graded] == [None, None, None]


class _Sized(TinyAgent):
    """Puts its model's context window and reply limit into its prompts."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        del work
        while context.steps_left:
            told = (
                f"{context.context_tokens} tokens, {context.reply_tokens(16_384)} of them for the reply"
            )
            prompt = ModelRequest(role="coding_agent", messages=(Message(role="user", content=told),))
            context.step("next", context.ask(prompt, _Cell).value.code)
        return CodeResult()


class _Cell(BaseModel):
    code: str


def test_prompts_of_a_work_stay_the_same_when_a_smaller_context_is_learnt(tmp_path: Path) -> None:
    """A resumed attempt replays with the recorded context window, not with a smaller new one."""
    world = World(tmp_path, [reply("look")])
    world.agent, world.model.context_tokens = _Sized(), 32_768
    with pytest.raises(ModelServiceError, match="no more replies"):
        _carry_out(world)
    later = World(tmp_path, [reply("good")])
    later.agent, later.model.context_tokens = _Sized(), 8_192
    assert _carry_out(later).failure is None
    told = "32768 tokens, 13107 of them for the reply"
    assert [request.messages[0].content for request in later.model.requests] == [told]
    events = [record.event for record in read_log(world.folder.work("attempt-000").log, WORK_EVENTS)]
    sent = [event.context_tokens for event in events if isinstance(event, CallSent)]
    assert set(sent) == {32_768}
    fresh = World(tmp_path / "other", [reply("look"), reply("good")])
    fresh.agent, fresh.model.context_tokens = _Sized(), 8_192
    assert _carry_out(fresh).failure is None
    assert fresh.model.requests[0].messages[0].content.startswith("8192 tokens")


def test_a_raised_limit_is_played_back(tmp_path: Path) -> None:
    """A truncated reply is followed by the recorded one with twice the limit in a replay."""
    cut = changed(finish_reason="length", content='{"co')
    with Endpoint(lambda asked: reply("good"), [cut, None, status(401), None, None]) as server:
        for context_tokens, failing in ((32_000, True), (9_000, False)):
            world = World(tmp_path)
            settings = ModelSettings(context_tokens=context_tokens)
            world.model = OpenAIModel("m", base_url=server.url, api_key=None, settings=settings)  # type: ignore[assignment]
            if failing:
                with pytest.raises(ModelServiceError, match="refuses the key"):
                    _carry_out(world)
            else:
                assert _carry_out(world).failure is None
        limits = [asked.body["max_tokens"] for asked in server.requests]
    assert limits == [4_096, 8_192, 4_096, 3_600]
    events = [record.event for record in read_log(world.folder.work("attempt-000").log, WORK_EVENTS)]
    first = next(event.reply for event in events if isinstance(event, CallAnswered))
    assert (first.finish, first.limit, first.can_rise) == ("length", 4_096, True)


def test_a_users_limit_is_told_to_the_writer(tmp_path: Path) -> None:
    """A reply limit set by the user takes precedence, even if it is larger."""
    world = World(tmp_path, [reply("look"), reply("good")])
    world.agent, world.model.reply_tokens = _Sized(), 20_000
    _carry_out(world)
    assert world.model.requests[0].messages[0].content.endswith(" 20000 of them for the reply")


def test_a_script_attempt_keeps_the_program_that_handed_in(tmp_path: Path) -> None:
    """With a new interpreter for each step, the outcome's code is the best step's program."""
    world = World(tmp_path, [reply(cell) for cell in ("look", "better", "poor")])
    outcome = _carry_out(world, steps=3, session="script")
    assert outcome.submitted is not None
    assert outcome.submitted.step == 2
    assert outcome.code == "better"


def test_a_notebook_attempt_keeps_all_cells_that_led_to_its_submission(tmp_path: Path) -> None:
    """In a persistent notebook the outcome's code is all cells up to the best step."""
    world = World(tmp_path, [reply(cell) for cell in ("look", "unknown", "better", "poor")])
    outcome = _carry_out(world, steps=4)
    assert outcome.code == "look\n\nbetter"


@pytest.mark.parametrize("session", ["notebook", "script"])
def test_what_failed_is_kept(tmp_path: Path, session: Literal["notebook", "script"]) -> None:
    """An attempt without a score keeps its last program, the cells before it, and its error."""
    world = World(tmp_path, [reply("look"), reply("unknown")])
    outcome = _carry_out(world, session=session)
    assert outcome.score is None
    assert outcome.last is not None
    assert outcome.last.program == ("look\n\nunknown" if session == "notebook" else "unknown")
    assert outcome.last.error == "NameError: no cell named 'unknown'"


def test_what_ran_last_is_kept_beside_what_was_best(tmp_path: Path) -> None:
    """A worse step after the best one is kept as the last execution, with the end of its output."""
    outcome = _carry_out(World(tmp_path, [reply("better"), reply("poor")]), session="script")
    assert outcome.code == "better"
    assert outcome.last == Execution(program="poor", output="wrote 0.5")


@given(printed=st.text(st.characters(exclude_characters="\0"), max_size=20), times=st.integers(1, 3_000))
@examples(20)
def test_programs_and_outputs_of_an_outcome_are_truncated(
    tmp_path_factory: pytest.TempPathFactory, printed: str, times: int
) -> None:
    """Long programs and outputs are truncated in the outcome to their ends."""
    program = f"{'#' * 70_000}\n{printed}"
    cells = {program: lambda workspace: printed * times}
    world = World(tmp_path_factory.mktemp("bounded"), [reply(program)], cells=cells)
    last = _carry_out(world, steps=1).last
    assert last is not None
    assert len(last.program) == 60_000
    assert program.endswith(last.program)
    assert len(last.output) <= 5_000
    assert (printed * times).endswith(last.output)


@pytest.mark.parametrize(
    ("script", "cause", "message"),
    [
        (["look", "look"], FailureCause.NO_SUBMISSION, "2 steps and no pair of submissions"),
        (["words", "words"], FailureCause.NO_SUBMISSION, "is not a number"),
        (["look", "unknown"], FailureCause.CODE, "NameError: no cell named 'unknown'"),
    ],
)
def test_an_attempt_without_a_score_says_why(
    tmp_path: Path, script: list[str], cause: FailureCause, message: str
) -> None:
    """Without a valid submission the outcome has a failure with the reason."""
    outcome = _carry_out(World(tmp_path, [reply(cell) for cell in script]))
    assert outcome.score is None
    assert outcome.failure is not None
    assert outcome.failure.cause is cause
    assert re.search(message, outcome.failure.message)


class _Faulty(TinyAgent):
    """Has a bug that shows a key."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        super().code(work, context)
        raise KeyError(os.environ["OPENAI_API_KEY"])


def test_a_bug_keeps_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure has it, the log of the program as well; keys are in neither of the work's texts."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-of-a-key")
    world = World(tmp_path, [reply("good"), reply("better")])
    world.agent = _Faulty()
    outcome = _carry_out(world)
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.INTERNAL
    assert outcome.failure.message == "KeyError: '[key]'"
    assert "in code\n" in outcome.failure.traceback
    assert outcome.failure.traceback.endswith("KeyError: '[key]'")
    assert "attempt-000: failed inside CoMind" in caplog.text
    log = tmp_path.rglob("log.jsonl")
    assert not any("canary" in each.read_text() for each in log)


def test_files_of_an_earlier_step_are_not_graded_again(tmp_path: Path) -> None:
    """A cell that names submissions but does not write them gets no grade for old ones."""
    world = World(tmp_path, [reply("good"), reply("again")])
    _carry_out(world)
    last = read_log(world.folder.work("attempt-000").log, WORK_EVENTS)[-2].event
    assert last.type == "cell-ended"
    assert "was not written by this cell" in last.refused


def test_three_bad_replies_end_an_attempt(tmp_path: Path) -> None:
    """A model that never matches the schema costs three calls and one failure."""
    world = World(tmp_path, ["what?"] * 3)
    outcome = _carry_out(world)
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.REPLY
    assert outcome.spend.calls == 3
    assert "it is not JSON" in world.model.requests[1].messages[-1].content


def _timeless(outcome: Outcome) -> Outcome:
    return outcome.model_copy(
        update={"spend": outcome.spend.model_copy(update={"seconds": 0.0, "lost_calls": 0})}
    )


def test_work_killed_after_any_record_resumes_to_the_same_outcome(tmp_path: Path) -> None:
    """Killed after any record, work resumes to the same end, and repeats no recorded request."""
    script = ["look", "good", "words", "better"]
    whole = World(tmp_path / "whole", [reply(cell) for cell in script])
    expected = _carry_out(whole, steps=4)
    lines = whole.folder.work("attempt-000").log.read_bytes().splitlines(keepends=True)
    for cut in range(len(lines) + 1):
        root = tmp_path / f"cut-{cut}"
        shutil.copytree(tmp_path / "whole", root)
        log = root / "runs/demo-tiny-1/attempt-000/log.jsonl"
        log.write_bytes(b"".join(lines[:cut]))
        kept = read_log(log, WORK_EVENTS)
        answered = sum(record.event.type == "call-answered" for record in kept)
        world = World(root, [reply(cell) for cell in script[answered:]])
        outcome = _carry_out(world, steps=4)
        lost = int(bool(kept) and isinstance(kept[-1].event, CallSent))
        assert outcome.spend.lost_calls == lost
        assert len(world.model.requests) == len(script) - answered
        assert outcome.spend.calls == len(script) + lost
        expected_spend = expected.spend.tokens + 120 * lost
        assert outcome.spend.tokens == expected_spend
        assert _timeless(outcome).model_copy(update={"spend": Spend()}) == _timeless(
            expected
        ).model_copy(update={"spend": Spend()})


def test_a_new_session_is_brought_back_to_where_it_was(tmp_path: Path) -> None:
    """After a restart the finished cells are replayed before the next one, and that is recorded."""
    world = World(tmp_path, [reply("look"), reply("good")])
    _carry_out(world)
    log = world.folder.work("attempt-000").log
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:5]))
    again = World(tmp_path, [reply("good")])
    _carry_out(again)
    assert again.ran == ["look", "good"]
    sessions = [r.event for r in read_log(log, WORK_EVENTS) if isinstance(r.event, SessionOpened)]
    assert [session.replayed_cells for session in sessions] == [0, 1]


class _NodeThatIsLost:
    """A cell that loses its node the first `times` times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, workspace: Path) -> str:
        if self.left:
            self.left -= 1
            raise NodeLostError("node a is lost", node="a")
        hand_in("0.9")(workspace)  # type: ignore[operator]
        return "wrote it"


def test_a_lost_node_costs_a_replay(tmp_path: Path) -> None:
    """The cells so far are run again in another session, then the cell that was running."""
    world = World(tmp_path, [reply("look"), reply("fragile")])
    world.cells["fragile"] = _NodeThatIsLost(2)
    outcome = _carry_out(world)
    assert world.ran == ["look", "fragile", "look", "fragile", "look", "fragile"]
    assert outcome.score is not None, "the last time"
    log = read_log(world.folder.work("attempt-000").log, WORK_EVENTS)
    lost = [record.event for record in log if isinstance(record.event, NodeLost)]
    assert [(each.node, each.message) for each in lost] == [("a", "node a is lost")] * 2
    sessions = [record.event for record in log if isinstance(record.event, SessionOpened)]
    assert [each.replayed_cells for each in sessions] == [0, 1, 1]


def test_a_cell_that_loses_every_node_has_died(tmp_path: Path) -> None:
    """Such a cell is probably the reason; the agent is told, as of a dead interpreter."""
    world = World(tmp_path, [reply("look"), reply("fragile"), reply("good")])
    world.cells["fragile"] = _NodeThatIsLost(9)
    outcome = _carry_out(world, steps=3)
    assert world.ran.count("fragile") == 3
    assert "node a is lost" in world.model.requests[-1].messages[-1].content
    assert outcome.score is not None


def test_work_killed_after_a_loss_resumes_to_the_same_outcome(tmp_path: Path) -> None:
    """Killed after any record of a loss, the work resumes to the same outcome."""
    whole = World(tmp_path / "whole", [reply("look"), reply("fragile")])
    whole.cells["fragile"] = _NodeThatIsLost(1)
    expected = _carry_out(whole)
    lines = whole.folder.work("attempt-000").log.read_bytes().splitlines(keepends=True)
    for cut in range(len(lines) + 1):
        root = tmp_path / f"cut-{cut}"
        shutil.copytree(tmp_path / "whole", root)
        log = root / "runs/demo-tiny-1/attempt-000/log.jsonl"
        log.write_bytes(b"".join(lines[:cut]))
        answered = sum(each.event.type == "call-answered" for each in read_log(log, WORK_EVENTS))
        world = World(root, [reply(cell) for cell in ("look", "fragile")[answered:]])
        world.cells["fragile"] = _NodeThatIsLost(0)
        assert _timeless(_carry_out(world)).score == expected.score


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    """The outcome of finished work is read from its log."""
    world = World(tmp_path, [reply("look"), reply("good")])
    first = _carry_out(world)
    assert _carry_out(World(tmp_path, [])) == first


def test_work_in_flight_at_a_refusing_endpoint_is_resumed(tmp_path: Path) -> None:
    """When the endpoint fails, the work has no outcome and is resumed later."""
    world = World(tmp_path, [reply("look")])
    with pytest.raises(ModelServiceError):
        _carry_out(world)
    state = WORK_LOG.read(world.folder.work("attempt-000").log)
    assert state.outcome is None
    assert state.spend.calls == 1
    outcome = _carry_out(World(tmp_path, [reply("good")]))
    assert outcome.score is not None
    assert outcome.spend.lost_calls == 0


def test_other_steps_than_recorded_are_refused(tmp_path: Path) -> None:
    """Resumed with a draft that leads to other requests, the recorded replies are not used."""
    world = World(tmp_path, [reply("look"), reply("good")])
    _carry_out(world)
    log = world.folder.work("attempt-000").log
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    outcome = execute(
        world.agent, code("another title"), world.folder.work("attempt-000"), world.dependencies()
    )
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.REPLAY
    assert "message 1 (user) differs in line 1: recorded '" in outcome.failure.message
    assert len(world.model.requests) == 2


def test_a_call_that_the_budget_forbids_is_not_made(tmp_path: Path) -> None:
    """The worst case of a call is reserved, and an attempt without budget ends with its best."""
    world = World(tmp_path, [reply("good")], budget=Budget(tokens=200))
    outcome = _carry_out(world)
    assert len(world.model.requests) == 1
    assert outcome.score is not None
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.BUDGET
    ended = read_log(world.folder.work("attempt-000").log, WORK_EVENTS)[-1].event
    assert isinstance(ended, WorkEnded)


def test_replies_of_former_fingerprints_are_not_asked_again(tmp_path: Path) -> None:
    """An attempt with fingerprints of version 1 replays its recorded replies."""
    whole = World(tmp_path / "whole", [reply("look"), reply("good")])
    expected = _carry_out(whole)
    world = World(tmp_path / "old", [])
    old = {"fingerprint": "another hash", "fingerprint_version": 1}
    with EventLog(world.folder.work("attempt-000").log, WORK_EVENTS) as log:
        for record in read_log(whole.folder.work("attempt-000").log, WORK_EVENTS)[:-1]:
            sent = isinstance(record.event, CallSent)
            log.append(record.event.model_copy(update=old) if sent else record.event)
    outcome = _carry_out(world)
    assert world.model.requests == []
    assert outcome.submitted == expected.submitted
    assert outcome.failure is None


class _Seen(Value):
    number: int


class _Thinker(TinyAgent):
    """Returns the result that it was given."""

    purposes: ClassVar = (Purpose("look", role="eye", facts=_Seen, result=_Seen),)
    found: Value

    def think(self, work: Think, context: ThinkContext) -> Value:
        del work, context
        return self.found


@pytest.mark.parametrize(
    ("found", "result", "failure"),
    [
        (_Seen(number=3), {"number": 3}, None),
        (Agent.parameters(), {}, "LogError: a recorded look is no _Seen: number: Field required"),
        (None, {}, "AttributeError: 'NoneType' object has no attribute 'model_dump_json'"),
    ],
    ids=["right", "another type", "nothing"],
)
def test_a_thought_ends_with_the_result_of_its_purpose(
    tmp_path: Path, found: Value, result: dict[str, int], failure: str | None
) -> None:
    """A result of another type is a failure of this work, and never in the campaign's log."""
    world, agent = World(tmp_path), _Thinker()
    agent.found = found
    folder = world.folder.work("think-000")
    outcome = execute(agent, agent.purposes[0].work(_Seen(number=1)), folder, world.dependencies())
    assert isinstance(outcome, ThinkOutcome)
    assert outcome.result.root == result
    assert (outcome.failure and outcome.failure.message) == failure


def _writes_then_fails(workspace: Path) -> str:
    hand_in("0.9")(workspace)  # type: ignore[operator]
    raise ValueError("a plot failed")


def test_what_was_written_before_an_error_is_scored(tmp_path: Path) -> None:
    """A cell that fails after it has submitted keeps its score and its error."""
    world = World(tmp_path, script=[reply("plot")], cells={"plot": _writes_then_fails})
    outcome = execute(world.agent, code(steps=1), world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    assert outcome.score is not None
    assert outcome.score.value.value == 0.9
    assert outcome.last is not None
    assert "a plot failed" in outcome.last.error


def test_a_step_knows_its_gain(tmp_path: Path) -> None:
    """Each scored step after the first is compared with the best before it, on the same rows."""
    world = World(tmp_path, script=[reply("good"), reply("better"), reply("poor")])
    folder = world.folder.work("attempt-000")
    execute(world.agent, code(steps=3), folder, world.dependencies())
    graded = [r.event for r in read_log(folder.log, WORK_EVENTS) if isinstance(r.event, Graded)]
    gains = [each.gain.difference if each.gain else None for each in graded]
    assert gains == [None, pytest.approx(0.05), pytest.approx(-0.45)]


class _Reviewer(TinyAgent):
    """Calls the model of another role before it ends."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Ask twice, each time in another role."""
        message = Message(role="user", content="a word")
        for role in (work.role, "reviewer"):
            context.ask(ModelRequest(role=role, messages=(message,)), _Seen)
        return CodeResult()


def test_a_request_goes_to_the_model_of_its_role(tmp_path: Path) -> None:
    """Each role's own model is called, and the log has its name."""
    world = World(tmp_path)
    models = {role: ScriptedModel(['{"number": 1}'], name=role) for role in ("coding_agent", "reviewer")}
    dependencies = replace(world.dependencies(), model_of=models.__getitem__)
    folder = world.folder.work("attempt-000")
    execute(_Reviewer(), code(), folder, dependencies)
    assert [len(model.requests) for model in models.values()] == [1, 1]
    sent = [r.event for r in read_log(folder.log, WORK_EVENTS) if isinstance(r.event, CallSent)]
    assert [(each.role, each.model) for each in sent] == [
        ("coding_agent", "coding_agent"),
        ("reviewer", "reviewer"),
    ]

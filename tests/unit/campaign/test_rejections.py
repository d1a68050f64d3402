"""What an agent rejects is neither picked nor blended nor delivered while anything else is valid."""

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.closing.blend_plan import candidates
from comind.campaign.closing.final_pick import leaderboard_csv
from comind.campaign.log.campaign_events import (
    AttemptRejected,
    CampaignEvent,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeResult, Submitted
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded, CellStarted, Graded, WorkEvent
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.reports.campaign_journal import journal_of
from comind.campaign.reports.campaign_summary import scores_csv
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.work_listing import list_campaign, list_work
from comind.campaign.work.context import CodeContext
from comind.domain.draft import Blend, BlendMember, Operator
from comind.domain.metric import Interval, Paired
from comind.eventlog.log import EventLog
from comind.grading.grader_port import GradeReport
from comind.session.session_ports import CellResult, CellStatus
from comind.testing import TinyAgent
from tests.unit.campaign.samples import code, opened, records, score, scored
from tests.unit.campaign.work_logs import records_of
from tests.unit.campaign.world import World

_REASON = "the verifier: labels leak"
_OUTCOMES = st.tuples(st.none() | st.integers(0, 5), st.sampled_from(["", "at its end", "later"]))


@given(st.lists(_OUTCOMES, min_size=1, max_size=8), st.data())
def test_no_rejected_attempt_is_delivered_while_another_is_valid(
    outcomes: list[tuple[int | None, str]], data: st.DataObject
) -> None:
    """Whatever ends and is rejected in whichever order; of equals the first planned is delivered."""
    events: list[CampaignEvent] = [opened()]
    events += [WorkPlanned(id=f"attempt-{n:03d}", work=code()) for n in range(len(outcomes))]
    waiting: list[int] = []
    state = CampaignState()
    for number in data.draw(st.permutations(range(len(outcomes)))):
        value, rejected = outcomes[number]
        outcome = scored(0.0 if value is None else value / 10)
        outcome = outcome.model_copy(update={"score": None, "submitted": None} if value is None else {})
        if value is not None and rejected == "at its end":
            outcome = outcome.model_copy(update={"rejected": _REASON})
        events.append(WorkFinished(id=f"attempt-{number:03d}", outcome=outcome))
        waiting += [number] if value is not None and rejected == "later" else []
        while waiting and data.draw(st.booleans()):
            events.append(AttemptRejected(id=f"attempt-{waiting.pop():03d}", reason=_REASON))
    events += [AttemptRejected(id=f"attempt-{n:03d}", reason=_REASON) for n in waiting]
    for end in range(1, len(events) + 1):
        state = CAMPAIGN_LOG.fold(records(*events[:end]))
        valid = [each for each in state.works.attempts() if each.score is not None]
        able = [each for each in valid if not each.rejected] or valid
        best = max(able, key=lambda each: each.score.value if each.score else 0, default=None)
        delivered = state.delivered()
        assert (delivered and delivered.id) == (best and best.id)
        assert [each.id for each in state.works.best_first()][:1] == ([best.id] if best else [])
    rejected_ids = {each.id for each in state.works.rejected()}
    assert rejected_ids == {
        f"attempt-{n:03d}" for n, (value, how) in enumerate(outcomes) if value is not None and how
    }


_STEPS = st.tuples(st.integers(0, 4), st.booleans(), st.booleans(), st.booleans())


@given(st.lists(_STEPS, min_size=1, max_size=8))
def test_no_rejected_step_is_picked_while_another_is_scored(
    steps: list[tuple[int, bool, bool, bool]],
) -> None:
    """Also if it is nominated, or a nominated one was rejected; the pick says whether it was."""
    events: list[WorkEvent] = []
    known: dict[int, tuple[float, bool]] = {}
    for number, (value, rejected, nominated, tie) in enumerate(steps, start=1):
        hashes = {"validation_sha256": str(number) * 64, "test_sha256": "b" * 64}
        submitted = Submitted(step=number, nominated=nominated, **hashes)
        near = Paired(
            difference=0.0 if tie else 1.0,
            standard_error=0.1,
            interval=Interval(low=-0.1 if tie else 0.8, high=0.2 if tie else 1.2),
        )
        reason = _REASON if rejected else ""
        result = CellResult(status=CellStatus.OK)
        report = GradeReport(valid=True, score=score(value / 10))
        events += [
            CellStarted(ordinal=2 * number, step=number, goal="g", code="c", rejected=reason),
            CellEnded(ordinal=2 * number, result=result, submitted=submitted),
            Graded(ordinal=2 * number + 1, submitted=submitted, report=report, gain=near, nominee=near),
        ]
        known[number] = (value / 10, rejected)
        state = WORK_LOG.fold(records_of(*events))
        assert state.best is not None
        assert state.leader is not None
        able = {n: v for n, (v, bad) in known.items() if not bad} or {
            n: v for n, (v, _) in known.items()
        }
        assert state.best.step in able
        assert bool(state.rejected) == known[state.best.step][1]
        assert able[state.leader.step] == max(able.values())


class _Strict(TinyAgent):
    """Rejects the attempts with these titles."""

    def __init__(self, *titles: str) -> None:
        super().__init__()
        self._titles = titles

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Reject them once they have a score."""
        ended = [each for each in state.works.attempts() if each.score is not None]
        return {each.id: _REASON for each in ended if each.work.draft.title in self._titles}


def _ran(root: Path, *titles: str, **spec: object) -> tuple[World, CampaignState]:
    """Run a baseline (0.9) and an improvement of it (0.95), with these titles rejected."""
    world = World(root)
    world.agent = _Strict(*titles)
    return world, world.run(world.campaign(iterations=1, coders=1, **spec))


_BETTER = "improvement of attempt-000"


@pytest.mark.parametrize("pick", ["best", "simplest"])
def test_a_rejected_attempt_is_not_picked(pick: str, tmp_path: Path) -> None:
    """The valid one is, though it scores less; leaderboard, journal and listings say why."""
    world, state = _ran(tmp_path, _BETTER, pick=pick)
    assert state.picked is not None
    assert state.picked.work_id == "attempt-000"
    assert state.picked.reason.endswith(f"what was rejected: attempt-001 by {_REASON}")
    delivered = state.delivered()
    assert delivered is not None
    assert delivered.id == "attempt-000"
    rows = list(csv.DictReader(leaderboard_csv(state.picked.leaderboard).splitlines()))
    assert [(row["attempt"], row["score"], row["rejected"]) for row in rows] == [
        ("attempt-000", "0.9", ""),
        ("attempt-001", "0.95", _REASON),
    ]
    assert f"0.95 [0.95, 0.95], rejected by {_REASON}" in journal_of(state).replace("\\", "")
    listed = {each["work"]: each["result"] for each in list_campaign(world.folder)["work"]}
    assert listed["attempt-001"].endswith(f"rejected by {_REASON}")
    assert scores_csv(read_view(world.folder)).splitlines()[1:] == ["0,0.9,0.9", "1,0.95,0.9"]
    assert [each.attempt.id for each in candidates(state, world.folder)] == ["attempt-000"]


def test_where_all_are_rejected_the_best_is_delivered_and_it_is_said(tmp_path: Path) -> None:
    """Something that may leak is better than nothing, if the reader knows."""
    _, state = _ran(tmp_path, "baseline", _BETTER)
    assert state.picked is not None
    assert state.picked.work_id == "attempt-001"
    assert f"every scored attempt was rejected, this one by {_REASON}" in state.picked.reason


def test_a_verdict_is_recorded_once_and_kept(tmp_path: Path) -> None:
    """A log from before verdicts were recorded gets them when it is resumed; another is picked."""
    world, state = _ran(tmp_path)
    assert state.picked is not None
    assert state.picked.work_id == "attempt-001"
    world.agent = _Strict(_BETTER)
    for _ in range(2):
        campaign = world.campaign()
        campaign.resume()
        state = world.run(campaign)
        assert state.picked is not None
        assert state.picked.work_id == "attempt-000"
    with world.campaign() as campaign:
        found = [each for each in campaign.records if isinstance(each.event, AttemptRejected)]
    assert [each.event.id for each in found] == ["attempt-001"]  # type: ignore[union-attr]


def test_a_blend_with_a_rejected_member_is_rejected() -> None:
    """Such as one of a log from before verdicts were recorded."""
    gain = Paired(difference=0.01, standard_error=0.004, interval=Interval(low=0.002, high=0.02))
    members = tuple(BlendMember(attempt=f"attempt-00{n}", step=1, weights=(1,)) for n in (0, 1))
    blend = Blend(mean="vote", ids=("id",), targets=("y",), members=members, gain=gain)
    work = code().model_copy(update={"operator": Operator.BLEND, "blend": blend})
    events: list[CampaignEvent] = [opened()]
    for name, planned, value in (
        ("attempt-000", code(), 0.9),
        ("attempt-001", code(), 0.8),
        ("blend-000", work, 0.95),
    ):
        events += [WorkPlanned(id=name, work=planned), WorkFinished(id=name, outcome=scored(value))]
    events.append(AttemptRejected(id="attempt-001", reason=_REASON))
    works = CAMPAIGN_LOG.fold(records(*events)).works
    assert [each.id for each in works.best_first(blends=True)] == ["attempt-000"]
    assert works.attempt("blend-000").rejected == f"{_REASON} (attempt-001)"


class _Stepwise(TinyAgent):
    """Runs three cells, the second of which is rejected before it runs."""

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Run them."""
        del work
        for cell, rejected in (("good", ""), ("better", _REASON), ("poor", "")):
            context.step(cell, cell, rejected=rejected)
        return CodeResult()


def test_a_rejected_step_is_neither_its_attempts_result_nor_blended(tmp_path: Path) -> None:
    """The attempt ends with its best step that is valid."""
    world = World(tmp_path)
    world.agent = _Stepwise()
    state = world.run(world.campaign(iterations=0, steps=3))
    [attempt] = state.works.attempts()
    assert attempt.score is not None
    assert attempt.score.value.value == 0.9
    assert not attempt.rejected
    assert sorted(each.submitted.step for each in candidates(state, world.folder)) == [1, 3]
    cells = list_work(world.folder, attempt.id)["events"]
    assert [each["rejected"] for each in cells] == [None, f"by {_REASON}", None]


def test_while_attempts_run_a_rejected_step_is_not_the_best(tmp_path: Path) -> None:
    """The running best is that of the valid steps, of which a rejected one is behind any."""
    world = World(tmp_path)
    with world.campaign() as campaign:
        for name, cell, rejected in (("attempt-000", "good", ""), ("attempt-001", "leaks", _REASON)):
            campaign.record(WorkPlanned(id=name, work=code()))
            _log_step(world, name, cell, rejected)
            best = read_view(world.folder).best
            assert best is not None
            assert best.work_id == "attempt-000"


def _log_step(world: World, name: str, cell: str, rejected: str) -> None:
    submitted = Submitted(step=1, validation_sha256="a" * 64, test_sha256="b" * 64)
    report = GradeReport(valid=True, score=score({"good": 0.9, "leaks": 0.99}[cell]))
    with EventLog(world.folder.work(name).log, WORK_EVENTS) as log:
        log.append(CellStarted(ordinal=0, step=1, goal="g", code=cell, rejected=rejected))
        log.append(CellEnded(ordinal=0, result=CellResult(status=CellStatus.OK), submitted=submitted))
        log.append(Graded(ordinal=1, submitted=submitted, report=report))

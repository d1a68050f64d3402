"""Folding a campaign's log: any prefix has a state, and no work or spend is lost."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_events import (
    CampaignEnded,
    CampaignEvent,
    CampaignResumed,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.domain.spend import Budget
from comind.errors import LogError
from comind.eventlog.log import Record
from tests.unit.campaign.samples import code, failed, opened, records, scored

_OUTCOMES = st.one_of(
    st.builds(scored, st.floats(0, 1), tokens=st.integers(0, 1000)),
    st.builds(failed, tokens=st.integers(0, 1000)),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Record[CampaignEvent]]:
    """Any campaign: work planned and finished in any order, resumed now and then."""
    events: list[CampaignEvent] = [opened()]
    in_flight: list[str] = []
    planned = 0
    for _ in range(draw(st.integers(0, 25))):
        move = draw(st.sampled_from(["plan", "finish", "resume"]))
        if move == "plan":
            in_flight.append(f"attempt-{planned:03d}")
            events.append(WorkPlanned(id=in_flight[-1], work=code()))
            planned += 1
        elif move == "finish" and in_flight:
            work_id = in_flight.pop(draw(st.integers(0, len(in_flight) - 1)))
            events.append(WorkFinished(id=work_id, outcome=draw(_OUTCOMES)))
        elif move == "resume":
            events.append(CampaignResumed(budget=Budget(seconds=draw(st.integers(1, 100)))))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [Record(seq, start, float(seq), event) for seq, event in enumerate(events)]


@given(histories())
def test_every_prefix_has_a_state(history: list[Record[CampaignEvent]]) -> None:
    """Folding any prefix works, and continuing from it equals folding the whole."""
    for cut in range(len(history) + 1):
        state = CAMPAIGN_LOG.fold(history[:cut])
        for record in history[cut:]:
            state = CAMPAIGN_LOG.apply(state, record)
        assert state == CAMPAIGN_LOG.fold(history)


@given(histories())
def test_work_in_flight_is_known(history: list[Record[CampaignEvent]]) -> None:
    """Work in flight is what was planned and has not finished, in order of planning."""
    planned = [r.event.id for r in history if isinstance(r.event, WorkPlanned)]
    finished = {r.event.id for r in history if isinstance(r.event, WorkFinished)}
    state = CAMPAIGN_LOG.fold(history)
    assert [w.id for w in state.works.in_flight()] == [i for i in planned if i not in finished]
    assert [w.id for w in state.works] == planned


@given(histories())
def test_the_best_never_gets_worse(history: list[Record[CampaignEvent]]) -> None:
    """The best is the best score of all finished attempts; ties go to the first planned."""
    best: list[float] = []
    state = CampaignState()
    for record in history:
        state = CAMPAIGN_LOG.apply(state, record)
        best.append(state.best.score.value.value if state.best else float("-inf"))
    assert best == sorted(best)
    scores = [w.outcome.score for w in state.works if w.outcome and w.outcome.score]  # type: ignore[union-attr]
    assert best[-1] == max((s.value.value for s in scores), default=float("-inf"))


@given(histories())
def test_spend_adds_up(history: list[Record[CampaignEvent]]) -> None:
    """Tokens are the sum over finished work; seconds are the campaign's own."""
    outcomes = [r.event.outcome for r in history if isinstance(r.event, WorkFinished)]
    state = CAMPAIGN_LOG.fold(history)
    assert state.spend.tokens == sum(outcome.spend.tokens for outcome in outcomes)
    assert state.spend.seconds == history[-1].elapsed


def test_lower_is_better_where_the_metric_says_so() -> None:
    """The best score of an error metric is the lowest."""
    state = CAMPAIGN_LOG.fold(
        records(
            opened(),
            WorkPlanned(id="attempt-000", work=code()),
            WorkPlanned(id="attempt-001", work=code()),
            WorkFinished(id="attempt-000", outcome=scored(0.5, maximize=False)),
            WorkFinished(id="attempt-001", outcome=scored(0.4, maximize=False)),
        )
    )
    assert state.best is not None
    assert state.best.work_id == "attempt-001"


def test_a_campaign_is_resumed_with_a_raised_budget() -> None:
    """A campaign that ended by its time limit can be resumed with more time."""
    ended = records(opened(budget=Budget(seconds=10)), CampaignEnded(reason="budget"))
    assert CAMPAIGN_LOG.fold(ended).exhausted() == "time limit"
    resumed = [*ended, Record(2, ended[1].at, 10.0, CampaignResumed(budget=Budget(seconds=60)))]
    assert CAMPAIGN_LOG.fold(resumed).exhausted() is None
    assert CAMPAIGN_LOG.fold(resumed).ended is None


@pytest.mark.parametrize(
    "events",
    [
        [opened(), WorkFinished(id="attempt-000", outcome=failed())],
        [opened(), *[WorkPlanned(id="attempt-000", work=code())] * 2],
    ],
    ids=["finished but never planned", "planned twice"],
)
def test_a_contradiction_is_an_error(events: list[CampaignEvent]) -> None:
    """A log with contradicting events is refused."""
    with pytest.raises(LogError):
        CAMPAIGN_LOG.fold(records(*events))


def test_planning_needs_an_opening() -> None:
    """A log without its first event has no specification."""
    with pytest.raises(LogError, match="does not begin with its opening"):
        _ = CampaignState().spec


def test_the_best_does_not_depend_on_who_finishes_first() -> None:
    """Of two equal scores, the one of the work that was planned first is the best."""
    planned = [opened(), *[WorkPlanned(id=f"attempt-{n:03d}", work=code()) for n in range(2)]]
    finishes = [WorkFinished(id=f"attempt-{n:03d}", outcome=scored(0.5)) for n in range(2)]
    for order in (finishes, finishes[::-1]):
        state = CAMPAIGN_LOG.fold(records(*planned, *order))
        assert state.best is not None
        assert state.best.work_id == "attempt-000"

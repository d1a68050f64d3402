"""Thoughts are typed for agents and JSON in the log, and a replay reads the same values."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from comind.campaign.log.campaign_events import (
    CAMPAIGN_EVENTS,
    CampaignEvent,
    FoldFinished,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work import Think
from comind.campaign.log.work_events import CellStarted, WorkEvent
from comind.campaign.log.work_items import Purpose
from comind.domain.value import Payload, Value
from comind.errors import LogError
from tests.unit.agents.rounds import state_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Value):
    name: str
    weight: float | None = None


class Question(Value):
    parts: tuple[Part, ...] = ()
    colours: dict[Colour, int] = {}
    at: datetime | None = None
    path: Path = Path()
    extra: Any = None


class Found(Value):
    number: int


OUTLINE = Purpose("outline", role="planner", facts=Question, result=Found)

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_QUESTIONS = st.builds(
    Question,
    parts=st.lists(st.builds(Part, name=_TEXT, weight=st.none() | _FLOATS)).map(tuple),
    colours=st.dictionaries(st.sampled_from(Colour), st.integers()),
    at=st.none() | st.datetimes(timezones=st.just(UTC)),
    path=st.just(Path("a") / "b"),
    extra=st.none() | st.booleans() | st.integers() | _FLOATS | _TEXT,
)


@given(_QUESTIONS)
def test_a_value_comes_back_from_its_json(question: Question) -> None:
    """Facts that are written to the log and read again are equal, as a value and as JSON."""
    work = OUTLINE.work(question)
    again = Think.model_validate_json(work.model_dump_json())
    assert OUTLINE.facts_of(work) == OUTLINE.facts_of(again) == question
    assert again == work
    assert again.model_dump_json() == work.model_dump_json()


def test_the_log_holds_facts_as_plain_json() -> None:
    """A payload is the object itself, without a wrapper, in the order of its fields."""
    work = OUTLINE.work(Question(parts=(Part(name="a", weight=1.0),), colours={Colour.RED: 2}))
    facts = '{"parts":[{"name":"a","weight":1.0}],"colours":{"red":2},"at":null,"path":".","extra":null}'
    kind = '"kind":"think","purpose":"outline"'
    assert work.model_dump_json() == f'{{{kind},"facts":{facts},"resources":null}}'
    outcome = ThinkOutcome(result=Payload.of(Found(number=3)))
    finished = CAMPAIGN_EVENTS.dump_json(WorkFinished(id="think-000", outcome=outcome))
    assert json.loads(finished)["outcome"]["result"] == {"number": 3}
    assert Think(purpose="outline").model_dump()["facts"] == {}


def test_what_is_seen_live_is_what_a_replay_sees() -> None:
    """What JSON cannot represent is lost when the work is planned, not when it is resumed."""
    work = OUTLINE.work(Question(extra=("a", 1)))
    assert OUTLINE.facts_of(work).extra == ["a", 1]
    again = Think.model_validate_json(work.model_dump_json())
    assert OUTLINE.facts_of(again) == OUTLINE.facts_of(work)


def test_a_payload_is_read_once_for_each_type() -> None:
    """A payload is validated once; the parsed value is cached."""
    payload = Payload({"number": 3})
    assert payload.read(Found) is payload.read(Found)
    assert payload == Payload({"number": 3})
    with pytest.raises(ValidationError):
        payload.read(Part)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"number": "many"}, "a recorded outline is no Found: number: Input should be a valid integer"),
        ({}, "a recorded outline is no Found: number: Field required"),
        ({"number": 1, "more\nlines": 2}, "more\\nlines: Extra inputs are not permitted"),
    ],
)
def test_a_result_of_another_type_is_told(result: dict[str, Any], said: str) -> None:
    """A result of another version of an agent is refused with its purpose and field."""
    state = state_of(
        WorkPlanned(id="think-000", work=OUTLINE.work(Question())),
        WorkFinished(id="think-000", outcome=ThinkOutcome(result=Payload(result))),
    )
    with pytest.raises(LogError) as caught:
        state.works.thoughts(OUTLINE)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "version of the agent" in caught.value.hint


def test_facts_of_another_type_are_told() -> None:
    """Facts are validated against their type as well."""
    with pytest.raises(LogError, match=r"a recorded outline is no Question: width: Extra inputs"):
        OUTLINE.facts_of(Think(purpose="outline", facts=Payload({"width": 1})))


@pytest.mark.parametrize("name", ["opening_version", "edition", "blend"])
def test_fields_of_older_work_that_are_gone_are_left_out(name: str) -> None:
    """Older logs have the version of the opening cells, under two names; nothing reads it any more."""
    work = {
        "kind": "code",
        "operator": "draft",
        "draft": {"title": "a", "method": "b"},
        "budget": {"seconds": 1, "steps": 1, "cell_seconds": 1},
        name: None if name == "blend" else 1,
    }
    recorded = {"type": "work-planned", "id": "attempt-000", "work": work}
    planned = CAMPAIGN_EVENTS.validate_python(recorded)
    assert isinstance(planned, WorkPlanned)
    assert "opening_version" not in planned.model_dump_json()
    assert CAMPAIGN_EVENTS.validate_json(planned.model_dump_json()) == planned


def test_renamed_fields_of_events_are_read() -> None:
    """Older logs call a scratch cell `aside`; after a fold, `finalists-left` lists who is `going_on`."""
    cell = {"type": "cell-started", "ordinal": 1, "step": 1, "goal": "search", "code": "1"}
    started = TypeAdapter(WorkEvent).validate_json(json.dumps({**cell, "aside": True}))
    assert isinstance(started, CellStarted)
    assert started.scratch
    left = {"type": "finalists-left", "fold": 1, "going_on": ["attempt-001"]}
    finished = TypeAdapter(CampaignEvent).validate_json(json.dumps(left))
    assert isinstance(finished, FoldFinished)
    assert finished.continuing == ("attempt-001",)
    assert TypeAdapter(CampaignEvent).validate_json(finished.model_dump_json()) == finished

"""Facts and results of attempts, typed, and those of older logs."""

from typing import Any

import pytest

from comind.agents.automind.planner import NODE, Implementing
from comind.agents.baseline.search_attempts import SEARCH, Found, SearchFacts, Step
from comind.agents.mlestar.solution_chain import CODING, Phase, Place
from comind.baseline.search_programs import Screened, SearchResult
from comind.campaign.log.campaign_events import WorkFinished, WorkPlanned
from comind.campaign.log.older_logs import upgrade_event
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from comind.domain.draft import Draft
from comind.domain.value import Payload
from comind.errors import LogError
from tests.unit.campaign.samples import code, scored, spec


def _read(work: dict[str, Any]) -> Code:
    values = {"type": "work-planned", "id": "attempt-001", "work": work}
    event = WorkPlanned.model_validate(upgrade_event(values))
    assert isinstance(event.work, Code)
    return event.work


def _outcome(outcome: dict[str, Any]) -> CodeOutcome:
    values = {"type": "work-finished", "id": "attempt-001", "outcome": outcome}
    event = WorkFinished.model_validate(upgrade_event(values))
    assert isinstance(event.outcome, CodeOutcome)
    return event.outcome


def test_facts_and_results_are_typed() -> None:
    """They are read back as values; work may have none, and other types are refused in one line."""
    facts, found = SearchFacts(step=Step.SEARCH, family="trees"), Found(screened=())
    work = _read(code().model_copy(update={"facts": Payload.of(facts)}).model_dump(mode="json"))
    assert SEARCH.facts_of(work) == facts
    assert SEARCH.facts_of(code()) is None
    outcome = scored(0.5).model_copy(update={"result": Payload.of(found)})
    assert SEARCH.result_of(_outcome(outcome.model_dump(mode="json"))) == found
    assert SEARCH.result_of(None) is None
    with pytest.raises(LogError, match="a recorded attempt is no Place"):
        CODING.facts_of(work)


def test_logs_without_facts_keep_their_bytes() -> None:
    """Empty facts and results are not written."""
    assert "facts" not in code().model_dump()
    assert "result" not in scored(0.5).model_dump()


@pytest.mark.parametrize(
    ("label", "facts"),
    [
        ("first average", SearchFacts(step=Step.FIRST)),
        ("average", SearchFacts(step=Step.AVERAGE)),
        ("nearest neighbours", SearchFacts(step=Step.SEARCH, family="nearest neighbours")),
    ],
)
def test_a_search_of_an_older_log_goes_on(label: str, facts: SearchFacts) -> None:
    """Older logs have the step in the draft's kind."""
    work = code().model_dump(mode="json") | {"role": "baseline"}
    work["draft"] |= {"kind": label, "codebase": "search()"}
    assert SEARCH.facts_of(_read(work)) == facts


def test_places_of_an_older_log_are_read() -> None:
    """Older logs have the place of an attempt of MLE-STAR in the draft's kind."""
    work = code().model_dump(mode="json")
    work["draft"] |= {"kind": "refine 2.3"}
    assert CODING.facts_of(_read(work)) == Place(phase=Phase.REFINE, solution=2, number=3)


def test_plans_of_an_older_log_are_read() -> None:
    """Older logs have the plan of AutoMind's attempts as the first source of the draft."""
    work = code().model_dump(mode="json")
    work["draft"] |= {"sources": ["plan-003", "an entry"]}
    assert NODE.facts_of(_read(work)) == Implementing(plan="plan-003")


def test_a_strategy_is_logged_by_its_former_name() -> None:
    """Logs and lineages of before and now have the same bytes."""
    draft = Draft(title="a forest", method="m", strategy="novel")
    assert draft.model_dump(mode="json")["kind"] == "novel"
    assert Draft.model_validate(draft.model_dump(mode="json")) == draft


def test_findings_of_an_older_log_are_read() -> None:
    """Older logs have settings and losses as JSON in the report."""
    best = SearchResult(settings={"strength": 1.0}, loss=0.5, seconds=1.0)
    outcome = scored(0.5).model_dump(mode="json")
    found = _outcome(outcome | {"report": f"It found:\n{best.model_dump_json()}"})
    assert SEARCH.result_of(found) == Found(best=best)
    told = 'An average:\n{"kind":"trees","loss":0.5,"seconds":2.0}\n{"kind":"net","loss":1,"seconds":3}'
    screened = (
        Screened(family="trees", loss=0.5, seconds=2.0),
        Screened(family="net", loss=1.0, seconds=3.0),
    )
    assert SEARCH.result_of(_outcome(outcome | {"report": told})) == Found(screened=screened)


def test_parameters_that_an_agent_no_longer_has_are_dropped() -> None:
    """A campaign that was begun with one can be continued; those of other agents stay."""
    given = {"random_per_round": 1, "patience": 3}
    assert spec(agent="comind", parameters=given).parameters == {"patience": 3}
    assert spec(agent="weaver", parameters=given).parameters == given

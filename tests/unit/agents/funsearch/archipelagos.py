"""Helpers that grow FunSearch's islands, an event at a time."""

from datetime import UTC, datetime
from typing import Any

from comind.agents.funsearch import FunSearch
from comind.agents.funsearch.funsearch import FunSearchParameters
from comind.agents.funsearch.islands import PROGRAM, Parts, Place
from comind.campaign.baseline_first import seen_by_agents
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.outcome import CodeOutcome, Execution
from comind.campaign.log.work import Code, Decision
from comind.campaign.log.work_items import Attempt
from comind.domain.community import CommunityView
from comind.domain.value import Payload
from comind.eventlog.log import Record
from tests.unit.agents.rounds import baseline, state_of
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.samples import code, failed, scored

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def good(
    value: float, program: str = "fit()", *, maximize: bool = True, parts: tuple[float, ...] = ()
) -> CodeOutcome:
    """Return the outcome of a scored program."""
    values = {"code": program, "code_seconds": 2.0, "result": Payload.of(Parts(scores=parts))}
    return scored(value, maximize=maximize).model_copy(update=values)


def bad() -> CodeOutcome:
    """Return the outcome of a program that failed."""
    last = Execution(program="broken()", error="KeyError: 'x'")
    return failed().model_copy(update={"last": last, "report": "A plan."})


def member(number: int, outcome: CodeOutcome) -> Attempt:
    """Return an attempt that has ended."""
    return Attempt(f"attempt-{number:03d}", code(), outcome)


def place_of(work: Code) -> Place:
    """Return where a planned program belongs."""
    place = PROGRAM.facts_of(work)
    assert place is not None
    return place


class Archipelago:
    """A campaign of FunSearch, one decision and one outcome at a time, after the baseline."""

    def __init__(
        self, *, seed: int = 0, first: CodeOutcome | None = None, spec: Any = None, **how: Any
    ) -> None:
        """Begin; `first` is the outcome of the baseline, `how` are FunSearch's parameters."""
        parameters = FunSearchParameters.model_validate(how)
        self.agent = FunSearch(PROBLEM, parameters, seed=seed, community=CommunityView())
        given = {"coders": 1, "parameters": parameters.model_dump(mode="json")} | (spec or {})
        self.state = state_of(*baseline(first or good(0.7, "baseline()")), **given)
        self.seconds = 0.0

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts that the agent sees."""
        return seen_by_agents(self.state).works.attempts()

    def plan(self) -> Decision:
        """Return the decision on the present state."""
        return self.agent.plan(seen_by_agents(self.state))

    def next(self) -> list[Code]:
        """Return the programs that are planned now."""
        planned = self.plan()
        return [each for each in planned if isinstance(each, Code)] if isinstance(planned, list) else []

    def record(self, event: CampaignEvent) -> None:
        """Take one event into the state, at the present time."""
        self.state = CAMPAIGN_LOG.apply(self.state, Record(0, _NOW, self.seconds, event))

    def begin(self) -> list[str]:
        """Plan once and record what was planned; returns the ids."""
        names = []
        for work in self.next():
            names.append(self.state.next_id(work))
            self.record(WorkPlanned(id=names[-1], work=work))
        return names

    def end(self, name: str, outcome: CodeOutcome) -> None:
        """Let a program end."""
        self.record(WorkFinished(id=name, outcome=outcome))

    def grow(self, *outcomes: CodeOutcome) -> list[Place]:
        """Let one program after another end so; returns their places."""
        places = []
        for outcome in outcomes:
            [name] = self.begin()
            places.append(place_of(self.state.works.attempt(name).work))
            self.end(name, outcome)
        return places

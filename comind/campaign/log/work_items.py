"""Hold all work of a campaign as an immutable value, and read it back typed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from immutables import Map
from pydantic import ValidationError

from comind.campaign.log.outcome import CodeOutcome, Failure, Outcome, Submitted, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.domain.draft import Operator
from comind.domain.metric import ValidationScore
from comind.domain.value import Payload, Value
from comind.errors import LogError

__all__ = ["Assignment", "Attempt", "Purpose", "Thought", "WorkItems", "WorkRecord"]

FactsT = TypeVar("FactsT", bound=Value)
ResultT = TypeVar("ResultT", bound=Value)
ValueT = TypeVar("ValueT", bound=Value)


@dataclass(frozen=True, slots=True)
class WorkRecord:
    """One piece of work and, once it has finished, its outcome."""

    id: str
    work: Think | Code
    outcome: Outcome | None = None
    rejected: str = ""
    """By whom and why its agent rejected it."""
    planned_at: float = field(default=0.0, compare=False)
    """Seconds of the campaign."""
    finished_at: float | None = field(default=None, compare=False)

    @property
    def in_flight(self) -> bool:
        """Whether it was submitted to the executor and has no outcome yet."""
        return self.outcome is None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A `Code` with its outcome."""

    id: str
    work: Code
    outcome: CodeOutcome | None
    rejected: str = ""
    """By whom and why its agent rejected it, or a member of it; empty if none did."""

    @property
    def submitted(self) -> Submitted | None:
        """Its best submission, if it made one."""
        return self.outcome.submitted if self.outcome else None

    @property
    def score(self) -> ValidationScore | None:
        """Validation score of its best submission, if it has one."""
        return self.outcome.score if self.outcome else None

    @property
    def title(self) -> str:
        """Title of the report, else of the draft."""
        return (self.outcome.title if self.outcome else "") or self.work.draft.title

    @property
    def result(self) -> str:
        """Score or failure, in one line, with the reason of a rejection."""
        if self.outcome is None:
            return "running"
        if self.outcome.score is not None:
            more = f", rejected by {self.rejected}" if self.rejected else ""
            return f"{self.outcome.score}{more}"
        return self.outcome.failure.message if self.outcome.failure else "no score"


@dataclass(frozen=True, slots=True)
class Purpose(Generic[FactsT, ResultT]):
    """A kind of `Think` that an agent registers: the role it calls, and the types of input and result.

    The log stores both as JSON; agents see values only.
    """

    name: str
    role: str
    facts: type[FactsT]
    result: type[ResultT]

    def work(self, facts: FactsT) -> Think:
        """Return a `Think` with this purpose and these facts."""
        return Think(purpose=self.name, facts=Payload.of(facts))

    def facts_of(self, work: Think) -> FactsT:
        """Return the facts of `work` as a value.

        Raises:
            LogError: they are not of this purpose's type.
        """
        return _read(work.facts, self.facts, self.name)

    def result_of(self, payload: Payload) -> ResultT:
        """Return the result in `payload` as a value.

        Raises:
            LogError: it is not of this purpose's type.
        """
        return _read(payload, self.result, self.name)


class NoResult(Value):
    """An attempt or a thought has nothing to say but its score and report."""


@dataclass(frozen=True, slots=True)
class Assignment(Generic[FactsT, ResultT]):
    """A kind of `Code` of an agent: what it knows of an attempt, and what the attempt found.

    `Code.facts` and `CodeResult.result` have both as JSON; agents see values only.
    """

    name: str
    facts: type[FactsT]
    result: type[ResultT]

    def facts_of(self, work: Code) -> FactsT | None:
        """Return the facts of `work` as a value; None where it has none, such as attempt 0.

        Raises:
            LogError: they are not of this type.
        """
        return _read(work.facts, self.facts, self.name) if work.facts.root else None

    def result_of(self, outcome: CodeOutcome | None) -> ResultT | None:
        """Return what an attempt found as a value; None while it runs, or where it has no result.

        Raises:
            LogError: it is not of this type.
        """
        found = outcome.result if outcome is not None else Payload()
        return _read(found, self.result, self.name) if found.root else None


def _read(payload: Payload, value_type: type[ValueT], purpose: str) -> ValueT:
    try:
        return payload.read(value_type)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise LogError(
            f"a recorded {purpose} is no {value_type.__name__}: {place}: {first['msg']}",
            hint="resume with the version of the agent that started the campaign",
        ) from None


@dataclass(frozen=True, slots=True)
class Thought(Generic[FactsT, ResultT]):
    """A `Think` with its facts and, once it has ended, its result or failure."""

    id: str
    facts: FactsT
    result: ResultT | None
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class WorkItems:
    """Work in the order it was planned; a persistent collection, so updates share structure."""

    _records: Map[int, WorkRecord] = field(default_factory=Map)
    _numbers: Map[str, int] = field(default_factory=Map)
    _first: int = 0
    """Position of the first one that is shown."""

    def __len__(self) -> int:
        return len(self._records) - self._first

    def __iter__(self) -> Iterator[WorkRecord]:
        return (self._records[number] for number in range(self._first, len(self._records)))

    def __getitem__(self, work_id: str) -> WorkRecord:
        return self._records[self._numbers[work_id]]

    def number(self, work_id: str) -> int:
        """Return the position of `work_id` in the order of planning."""
        return self._numbers[work_id]

    def in_flight(self) -> list[WorkRecord]:
        """Return planned work without an outcome, oldest first."""
        return [record for record in self if record.in_flight]

    def attempts(self) -> list[Attempt]:
        """Return all attempts with the baseline, oldest first.

        Closing work is excluded: agents plan by these, and a blend would leak labels to them.
        """
        return [each for each in self.codes() if not each.work.is_closing]

    def best_first(self, *, blends: bool = False) -> list[Attempt]:
        """Return the scored attempts, and `blends` too, best first; ties in order of planning.

        Those that their agents rejected are left out, unless all were.
        """
        tried = self.rankable() if blends else self.attempts()
        found = [(each.score.value, each) for each in tried if each.score is not None]
        found = [pair for pair in found if not pair[1].rejected] or found
        return [each for _, each in sorted(found, key=lambda pair: pair[0], reverse=True)]

    def rejected(self) -> list[Attempt]:
        """Return the scored attempts and blends that were rejected, best first."""
        found = [(each.score.value, each) for each in self.rankable() if each.rejected and each.score]
        return [each for _, each in sorted(found, key=lambda pair: pair[0], reverse=True)]

    def rankable(self) -> list[Attempt]:
        """Return attempts and blends, the candidates for the final pick, oldest first."""
        apart = (Operator.REFIT, Operator.FOLD)
        return [each for each in self.codes() if each.work.operator not in apart]

    def blend(self) -> Attempt | None:
        """Return the blend planned after the last attempt; None if there is none yet."""
        last = self.rankable()[-1:]
        return last[0] if last and last[0].work.operator is Operator.BLEND else None

    def runs_of(self, work_id: str, operator: Operator) -> list[Attempt]:
        """Return the fold runs, or the refits, of an attempt or blend, oldest first."""
        return [each for each in self.codes(operator) if each.work.parents == (work_id,)]

    def codes(self, *operators: Operator) -> list[Attempt]:
        """Return attempts, fold runs, blends and refits, or only those of `operators`, oldest first."""
        codes = [self.attempt(record.id) for record in self if isinstance(record.work, Code)]
        return [each for each in codes if not operators or each.work.operator in operators]

    def attempt(self, work_id: str) -> Attempt:
        """Return one attempt, fold run, blend or refit.

        Raises:
            LogError: that work is a `Think`.
        """
        record = self[work_id]
        work, outcome, rejected = record.work, record.outcome, record.rejected
        if not isinstance(work, Code):
            raise LogError(f"{work_id} is no attempt")
        for each in work.blend.members if work.blend else ():
            if why := self[each.attempt].rejected:
                rejected = rejected or f"{why} ({each.attempt})"
        return Attempt(work_id, work, outcome if isinstance(outcome, CodeOutcome) else None, rejected)

    def thoughts(self, purpose: Purpose[FactsT, ResultT]) -> list[Thought[FactsT, ResultT]]:
        """Return all `Think` work of one purpose, oldest first.

        Raises:
            LogError: recorded facts or results are not of the purpose's types.
        """
        found = []
        for record in self:
            if isinstance(record.work, Think) and record.work.purpose == purpose.name:
                facts, outcome = purpose.facts_of(record.work), record.outcome
                failure, result = outcome.failure if outcome else None, None
                if isinstance(outcome, ThinkOutcome) and failure is None:
                    result = purpose.result_of(outcome.result)
                found.append(Thought(record.id, facts, result, failure))
        return found

    def without_first(self) -> "WorkItems":
        """Return a view that does not show the work planned first, the baseline."""
        return replace(self, _first=1)

    def planned(self, work_id: str, work: Think | Code, at: float = 0.0) -> "WorkItems":
        """Return a copy with one more piece of work, planned `at` so many seconds of the campaign.

        Raises:
            LogError: the id is taken.
        """
        if work_id in self._numbers:
            raise LogError(f"{work_id} was planned twice")
        number = len(self._records)
        return replace(
            self,
            _records=self._records.set(number, WorkRecord(work_id, work, planned_at=at)),
            _numbers=self._numbers.set(work_id, number),
        )

    def finished(self, work_id: str, outcome: Outcome, at: float) -> "WorkItems":
        """Return a copy with the outcome of one piece of work, `at` so many seconds of the campaign.

        Raises:
            LogError: no work with this id is in flight.
        """
        number = self._numbers.get(work_id)
        if number is None or not self._records[number].in_flight:
            raise LogError(f"{work_id} finished but was not in flight")
        rejected = outcome.rejected if isinstance(outcome, CodeOutcome) else ""
        known = self._records[number]
        record = replace(known, outcome=outcome, rejected=rejected, finished_at=at)
        return replace(self, _records=self._records.set(number, record))

    def with_rejection(self, work_id: str, reason: str) -> "WorkItems":
        """Return a copy in which an attempt is rejected."""
        number = self._numbers[work_id]
        record = replace(self._records[number], rejected=reason)
        return replace(self, _records=self._records.set(number, record))

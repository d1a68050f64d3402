"""Attempts of the baseline's search: the step that each carries out, and what it found."""

from dataclasses import dataclass
from enum import StrEnum

from comind.baseline.search_programs import Screened, SearchResult
from comind.campaign.log.work_items import Assignment, Attempt
from comind.domain.value import Value


class Step(StrEnum):
    """Step of the search that an attempt carries out."""

    FIRST = "first average"  # screens families before it averages them
    SEARCH = "search"
    AVERAGE = "average"


class SearchFacts(Value):
    """The step that an attempt carries out, and the family whose settings it searches."""

    step: Step
    family: str = ""


class Found(Value):
    """The best settings that an attempt found, or the losses of families on one fold."""

    best: SearchResult | None = None
    screened: tuple[Screened, ...] = ()


SEARCH = Assignment("search", SearchFacts, Found)


@dataclass(frozen=True)
class Tried:
    """An attempt of the search."""

    attempt: Attempt

    facts: SearchFacts
    result: Found

    @classmethod
    def of(cls, attempts: list[Attempt]) -> "list[Tried]":
        """Return the attempts of the search, oldest first."""
        pairs = ((each, SEARCH.facts_of(each.work)) for each in attempts)
        return [
            cls(each, facts, SEARCH.result_of(each.outcome) or Found()) for each, facts in pairs if facts
        ]

    @property
    def family(self) -> str:
        """The family whose settings it searches; empty for an average."""
        return self.facts.family

    @property
    def running(self) -> bool:
        """Whether it has no outcome yet."""
        return self.attempt.outcome is None

    @property
    def averages(self) -> bool:
        """Whether it averages several families instead of searching the settings of one."""
        return self.facts.step is not Step.SEARCH

    @property
    def found(self) -> SearchResult | None:
        """Its best settings; None while it runs, if it has no score, or for an average."""
        return self.result.best if self.attempt.score and not self.averages else None

    @property
    def seconds(self) -> float:
        """Duration of the attempt; 0 while it runs."""
        return self.attempt.outcome.spend.seconds if self.attempt.outcome else 0.0

    @property
    def fit_seconds(self) -> float:
        """Run time of the program that it submits."""
        return self.attempt.outcome.code_seconds if self.attempt.outcome else 0.0

"""Order the attempts of one solution: candidates, merges, refinements (Algorithms 1 and 2).

What follows is a pure function of the attempts so far.
"""

from collections.abc import Sequence
from enum import StrEnum

from comind.agents.mlestar.star_requests import CODER
from comind.campaign.log.work_items import Assignment, Attempt, NoResult
from comind.domain.value import Value


class Phase(StrEnum):
    """Part of the algorithm that an attempt belongs to."""

    CANDIDATE = "candidate"
    MERGE = "merge"
    REFINE = "refine"
    ENSEMBLE = "ensemble"


class Place(Value):
    """Phase, solution and number of an attempt, the latter two from 1: the facts of its work."""

    phase: Phase
    solution: int = 0
    number: int = 0

    def __str__(self) -> str:
        return f"{self.phase} {self.solution}.{self.number}"


CODING = Assignment("attempt", Place, NoResult)


class SolutionChain:
    """One solution: its attempts so far, and what follows them."""

    def __init__(self, number: int, attempts: Sequence[Attempt], given: Sequence[Attempt] = ()) -> None:
        """Take the attempts of one solution, in order of planning; `given` are further candidates."""
        self.number = number
        self.length = len(attempts)
        self._attempts = attempts
        self._given = given

    def of(self, phase: Phase) -> list[Attempt]:
        """Return the attempts of a phase."""
        places = ((each, CODING.facts_of(each.work)) for each in self._attempts)
        return [each for each, place in places if place is not None and place.phase is phase]

    @property
    def best(self) -> Attempt | None:
        """The best attempt so far; of equals the first."""
        return next(iter(best_first([*self._given, *self._attempts])), None)

    def unmerged(self) -> list[Attempt]:
        """Return the candidates that remain to be merged, best first.

        Empty once a merge was worse than what it started from.
        """
        ranked, merges = best_first([*self._given, *self.of(Phase.CANDIDATE)]), self.of(Phase.MERGE)
        before = ranked[0] if ranked else None
        for merge in merges:
            if before is None or _rank(merge) < _rank(before):
                return []
            before = merge
        return ranked[1 + len(merges) :]

    def next(self, models: int, refinements: int) -> list[Place]:
        """Return the places of what can be planned now; empty while an attempt runs, or at its end.

        It gets this number of candidates, and of refinements at most.
        """
        candidates = len(self.of(Phase.CANDIDATE))
        if candidates < models:
            numbers = range(candidates + 1, models + 1)
            return [self._place(Phase.CANDIDATE, each) for each in numbers]
        if self.best is None or any(each.outcome is None for each in self._attempts):
            return []
        if self.unmerged():
            return [self._place(Phase.MERGE, len(self.of(Phase.MERGE)) + 1)]
        refined = len(self.of(Phase.REFINE))
        if refined < refinements:
            return [self._place(Phase.REFINE, refined + 1)]
        return []

    def _place(self, phase: Phase, number: int) -> Place:
        return Place(phase=phase, solution=self.number, number=number)


def chains_of(attempts: Sequence[Attempt], solutions: int) -> list[SolutionChain]:
    """Return the chains of all solutions; a visible and scored baseline is a candidate of each."""
    own: dict[int, list[Attempt]] = {number: [] for number in range(1, solutions + 1)}
    for each in attempts:
        place = CODING.facts_of(each.work) if each.work.role == CODER else None
        if place is not None and place.solution:
            own[place.solution].append(each)
    given = [each for each in attempts if each.work.is_baseline and each.score is not None]
    return [SolutionChain(number, found, given) for number, found in own.items()]


def best_first(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the scored attempts, best first; of equals the first planned is first.

    Those whose program the checker rejected are left out, unless all were.
    """
    scored = [each for each in attempts if each.score is not None]
    able = [each for each in scored if not each.rejected] or scored
    return sorted(able, key=_rank, reverse=True)


def _rank(attempt: Attempt) -> tuple[bool, bool, float]:
    """Return a sort key: without a score lowest, then rejected, then by score."""
    signed = attempt.score.value.signed if attempt.score is not None else 0.0
    return attempt.score is not None, not attempt.rejected, signed

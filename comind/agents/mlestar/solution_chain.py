"""Order the attempts of one solution: candidates, merges, refinements (Algorithms 1 and 2).

What follows is a pure function of the attempts so far.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Self

from comind.agents.mlestar.star_requests import CODER
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Draft


class Phase(StrEnum):
    """Part of the algorithm that an attempt belongs to."""

    CANDIDATE = "candidate"
    MERGE = "merge"
    REFINE = "refine"
    ENSEMBLE = "ensemble"


class Place(NamedTuple):
    """Phase, solution and number of an attempt, the latter two from 1; the kind of its draft."""

    phase: Phase
    solution: int = 0
    number: int = 0

    def __str__(self) -> str:
        return f"{self.phase} {self.solution}.{self.number}"

    @classmethod
    def of(cls, draft: Draft) -> Self:
        """Return the place of a draft of this agent."""
        found = re.fullmatch(r"(\w+) (\d+)\.(\d+)", draft.kind)
        assert found, draft.kind
        return cls(Phase(found[1]), int(found[2]), int(found[3]))


class SolutionChain:
    """One solution: its attempts so far, and what follows them."""

    def __init__(self, number: int, attempts: Sequence[Attempt]) -> None:
        """Take the attempts of one solution, in order of planning."""
        self.number = number
        self.length = len(attempts)
        self._attempts = attempts

    def of(self, phase: Phase) -> list[Attempt]:
        """Return the attempts of a phase."""
        return [each for each in self._attempts if Place.of(each.work.draft).phase is phase]

    @property
    def best(self) -> Attempt | None:
        """The best attempt so far; of equals the first."""
        return next(iter(best_first(self._attempts)), None)

    def unmerged(self) -> list[Attempt]:
        """Return the candidates that remain to be merged, best first.

        Empty once a merge was worse than what it started from.
        """
        ranked, merges = best_first(self.of(Phase.CANDIDATE)), self.of(Phase.MERGE)
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
            return [Place(Phase.CANDIDATE, self.number, each) for each in numbers]
        if self.best is None or any(each.outcome is None for each in self._attempts):
            return []
        if self.unmerged():
            return [Place(Phase.MERGE, self.number, len(self.of(Phase.MERGE)) + 1)]
        refined = len(self.of(Phase.REFINE))
        if refined < refinements:
            return [Place(Phase.REFINE, self.number, refined + 1)]
        return []


def chains_of(attempts: Sequence[Attempt], solutions: int) -> list[SolutionChain]:
    """Return the chains of all solutions; other agents' attempts and ensembles are left out."""
    own: dict[int, list[Attempt]] = {number: [] for number in range(1, solutions + 1)}
    for each in attempts:
        if each.work.role == CODER and (place := Place.of(each.work.draft)).solution:
            own[place.solution].append(each)
    return [SolutionChain(number, found) for number, found in own.items()]


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

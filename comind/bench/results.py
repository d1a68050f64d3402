"""Define the results of a bench: one run per arm, competition and seed."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from comind.bench.plan import Cell
from comind.domain.code_metrics import RatedProgram
from comind.domain.community import CommunityStatistics
from comind.domain.value import Value, validate_input
from comind.errors import UsageError
from comind.grading.leaderboard import Medal

RunStatus = Literal["ended", "failed", "missing"]
"""A failed run counts as one without a valid submission, a missing one is left out."""

UNKNOWN = "other"
"""Kind or complexity of a competition that is not in the catalog."""


class ScorePoint(Value):
    """State of a campaign at the time when its best submission by validation score changed."""

    seconds: float = Field(ge=0)
    """Since the start of the campaign."""
    usd: float = Field(ge=0)
    """Spent until then."""
    tokens: int = Field(default=0, ge=0)
    """Prompt and completion tokens until then."""
    validation_score: float
    win_rate: float | None = Field(default=None, ge=0, le=1)
    """On the true leaderboard, of the submission that was best by validation score at that time."""
    code_lines: int | None = Field(default=None, ge=0)
    complexity: float | None = Field(default=None, ge=0)
    """Mean cyclomatic complexity of the functions of its program."""


class RunResult(Value):
    """Result of one campaign of a bench, graded on the true answers.

    The submission is that of the agent's own choice: of its attempts the one that validation scores
    best. What the platform makes of it has the fields `platform_*`.
    """

    arm: str
    competition: str
    category: str = Field(default=UNKNOWN, alias="kind")
    """Kind of data of the competition, such as tabular, image or text."""
    complexity: str = UNKNOWN
    """Complexity of the competition: low, medium, high, or other."""
    seed: int
    campaign: str = ""
    """Name of its folder."""
    notebook: str = ""
    """Reference of the public notebook whose score it is; such a run has no campaign."""
    status: RunStatus
    reason: str = ""
    """Why it failed, is missing, or has no valid submission."""
    valid: bool
    """Whether the submission is valid."""
    score: float | None = None
    """On the true answers, in units of the metric."""
    maximize: bool
    normalised_score: float | None = Field(default=None, exclude_if=lambda score: score is None)
    """Of a competition of programs, on the test instances: 0 without a valid program; None of tables."""
    win_rate: float | None = Field(default=None, ge=0, le=1)
    """Share of the leaderboard's teams that are beaten; None without a leaderboard."""
    medal: Medal | None = None
    above_median: bool | None = None
    """None if the competition has no leaderboard."""
    validation_score: float | None = None
    platform_score: float | None = None
    """Of the delivered submission: with folds, blend, refit, and the baseline where that is better."""
    platform_win_rate: float | None = Field(default=None, ge=0, le=1)
    seconds: float = Field(default=0.0, ge=0)
    usd: float = Field(default=0.0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Prompt tokens that the server read from its cache."""
    completion_tokens: int = Field(default=0, ge=0)
    evaluations: int = Field(default=0, ge=0)
    """Gradings of the agent's submissions."""
    attempts: int = Field(default=0, ge=0)
    valid_attempts: int = Field(default=0, ge=0)
    leaderboard_teams: int | None = Field(default=None, ge=1)
    program: RatedProgram | None = None
    """Of the submission."""
    curve: tuple[ScorePoint, ...] = ()
    """In order of time."""

    @property
    def cell(self) -> Cell:
        """The cell of the bench that the run is the result of."""
        return Cell(self.arm, self.competition, self.seed)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.valid and (self.score is None or self.status != "ended"):
            raise ValueError("a valid run has a score and has ended")
        if not self.valid and (self.win_rate or self.medal or self.above_median):
            raise ValueError("an invalid run has no medal, is not above the median, and wins 0")
        if any(first.seconds > second.seconds for first, second in itertools.pairwise(self.curve)):
            raise ValueError("the points of the curve are not in order of time")
        return self


class Conditions(Value):
    """The conditions of a bench that a reader needs to judge its results."""

    test_feedback: str = "none"
    """What agents learn of the true answers."""
    network: str = "none"
    """What agents' code can reach over the network."""
    knowledge: dict[str, str] = {}
    """What each arm can read beside the competition's own files, such as a community as of a time."""
    hardware: str = ""
    model: str = ""
    budget: str = ""
    """Limits of each campaign."""
    revision: str = ""
    """Of CoMind's code."""
    seeds: str = ""
    """What varies between seeds."""
    known_leaks: dict[str, tuple[str, ...]] = {}
    """Known problems of competitions, such as answers that were published."""
    reference: str
    """Name of the arm that all others are compared with."""


class BenchResults(Value):
    """Results of a bench; arms, competitions and seeds are in the order of its plan.

    A cell without a run is missing. Statistics do not depend on the order of `runs`.
    """

    name: str
    arms: tuple[str, ...] = Field(min_length=1)
    competitions: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(min_length=1)
    runs: tuple[RunResult, ...]
    leaderboards: dict[str, tuple[float, ...]] = {}
    """By competition, the scores of 101 teams at equal distances in rank, the best first."""
    communities: dict[str, CommunityStatistics] = {}
    """By competition, of what its arms could read."""
    conditions: Conditions

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        planned = {"arm": self.arms, "competition": self.competitions, "seed": self.seeds}
        for what, names in planned.items():
            if len(set(names)) < len(names):
                yield f"a {what} is listed twice"
        if self.conditions.reference not in self.arms:
            yield f"the reference {self.conditions.reference!r} is not an arm"
        cells = Counter(run.cell for run in self.runs)
        for cell, count in cells.items():
            if count > 1:
                yield f"{cell} has {count} runs"
            if not all(name in names for name, names in zip(cell, planned.values(), strict=True)):
                yield f"{cell} is not planned"
        yield from self._contradictions()

    def _contradictions(self) -> Iterator[str]:
        for run in self.runs:
            if run.valid and run.win_rate is None and run.competition in self.with_leaderboard:
                yield f"{run.cell} has no win rate, but {run.competition} has a leaderboard"
        for name in self.competitions:
            if len({run.maximize for run in self.runs if run.competition == name and run.valid}) > 1:
                yield f"{name} has scores of which larger is better and scores of which smaller is"

    @cached_property
    def by_cell(self) -> dict[Cell, RunResult]:
        """The runs that are not missing, by cell."""
        return {run.cell: run for run in self.runs if run.status != "missing"}

    @cached_property
    def with_leaderboard(self) -> frozenset[str]:
        """Competitions that have a leaderboard, according to any of their runs."""
        return frozenset(
            run.competition
            for run in self.runs
            if run.win_rate is not None or run.leaderboard_teams is not None
        )

    @cached_property
    def with_medals(self) -> frozenset[str]:
        """Competitions whose runs are compared with thresholds of medals and with the median."""
        return self.with_leaderboard | {
            run.competition for run in self.runs if run.medal is not None or run.above_median is not None
        }

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The planned cells, in the order of arms, competitions and seeds."""
        planned = itertools.product(self.arms, self.competitions, self.seeds)
        return tuple(Cell(*each) for each in planned)

    @cached_property
    def missing(self) -> tuple[Cell, ...]:
        """Planned cells without a run."""
        return tuple(cell for cell in self.cells if cell not in self.by_cell)

    def ordered_runs(self) -> list[RunResult]:
        """Return the runs that are not missing, in the order of arms, competitions and seeds."""
        return [self.by_cell[cell] for cell in self.cells if cell in self.by_cell]

    def win_rate(self, run: RunResult) -> float | None:
        """Return the win rate, 0 if the run is invalid; None without a leaderboard."""
        return (run.win_rate or 0.0) if run.competition in self.with_leaderboard else None

    def category_of(self, competition: str) -> str:
        """Return the category of a competition, according to any of its runs."""
        return self._known(competition, "category")

    def complexity_of(self, competition: str) -> str:
        """Return the complexity of a competition, according to any of its runs."""
        return self._known(competition, "complexity")

    def _known(self, competition: str, field: Literal["category", "complexity"]) -> str:
        found = {getattr(run, field) for run in self.runs if run.competition == competition}
        return min(found - {UNKNOWN}, default=UNKNOWN)

    def matrix(self, arm: str, measure: "Measure") -> np.ndarray:
        """Return a measure of an arm's runs, shape (competitions, seeds).

        It is NaN for missing runs, and where `measure` is None.
        """
        values = np.full((len(self.competitions), len(self.seeds)), np.nan)
        for row, competition in enumerate(self.competitions):
            for column, seed in enumerate(self.seeds):
                run = self.by_cell.get(Cell(arm, competition, seed))
                value = None if run is None else measure(run)
                if value is not None:
                    values[row, column] = value
        return values


Measure = Callable[[RunResult], float | None]
"""A number of a run, None if it has none."""


def dump_results(results: BenchResults) -> str:
    """Serialise results as JSON, which `load_results` reads."""
    return results.model_dump_json(indent=2) + "\n"


def load_results(text: str, where: str) -> BenchResults:
    """Parse the JSON of results; `where` names its file in messages.

    Raises:
        UsageError: it is not JSON, or a field is missing, unknown or inconsistent.
    """
    try:
        values = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}", hint="expected the JSON of a bench's results") from None
    return validate_input(BenchResults, values, where)

"""Benchmarks of past competitions: plug-ins of the entry-point group `comind.benchmarks`."""

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol, cast

from comind.grading.past_competition import PastGrade
from comind.system.plug_ins import BENCHMARKS, declared, load_plug_in

KAGGLE_RULES = "kaggle"
"""Rules of the competition's own page; those of a benchmark's grader have its name."""


class KnownCompetition(Protocol):
    """A past competition, as a benchmark describes it."""

    @property
    def category(self) -> str:
        """Kind of its data and task."""
        ...

    @property
    def complexity(self) -> str:
        """Its difficulty, such as `low`."""
        ...

    @property
    def issues(self) -> Collection[str]:
        """Known problems that make scores less informative."""
        ...

    @property
    def ends_at(self) -> datetime:
        """Its deadline."""
        ...


class PreparedCompetition(Protocol):
    """A competition's data and answers, as a benchmark prepares them."""

    def adapted_in(self, place: Path) -> Path:
        """Return its competition folder below `place`, created on first use.

        Raises:
            CompetitionError: a campaign does not support its format.
        """
        ...

    def grade(self, submission: Path, rules: str = KAGGLE_RULES) -> PastGrade:
        """Grade a submission; one that is missing or invalid has a message.

        Raises:
            CompetitionError: the answers cannot be read.
        """
        ...

    def rank(self, score: float) -> PastGrade:
        """Rank a score, which is not verified."""
        ...


class Benchmark(Protocol):
    """The object, or module, that the entry point names."""

    def known(self, competition: str) -> KnownCompetition | None:
        """Return what is known about a competition; None if it is not of this benchmark."""
        ...

    def find(self, path: Path, name: str | None = None) -> PreparedCompetition | None:
        """Return the prepared competition at `path` (or `<path>/<name>`), or None."""
        ...


def _installed() -> Iterator[Benchmark]:
    for name in declared(BENCHMARKS):
        yield cast("Benchmark", load_plug_in(BENCHMARKS, name, "benchmark"))


def known_competition(name: str) -> KnownCompetition | None:
    """Return what the first of the installed benchmarks that has a competition states about it."""
    return next((known for each in _installed() if (known := each.known(name)) is not None), None)


def find_prepared(path: Path, name: str | None = None) -> PreparedCompetition | None:
    """Return the competition that a benchmark prepared at `path` (or `<path>/<name>`), or None."""
    return next((found for each in _installed() if (found := each.find(path, name)) is not None), None)

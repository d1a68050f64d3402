"""Define a bench: arms x competitions x seeds, each cell a campaign with a derived name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import yaml
from pydantic import Field, model_validator

from comind.domain.value import Name, Value, check_name, validate_input
from comind.errors import UsageError

_SHARED = ("competition", "seed")
"""Keys that no arm may set."""
_MOST_SEEDS = 1_000
_PROFILE = "profile"


class Cell(NamedTuple):
    """One campaign of a bench."""

    arm: str
    competition: str
    """As the plan names it; in results, its id."""
    seed: int

    def __str__(self) -> str:
        return f"{self.arm}, {self.competition}, seed {self.seed}"


class BenchPlan(Value):
    """A bench as its file describes it."""

    name: Name
    competitions: Annotated[tuple[str, ...], Field(min_length=1)]
    """Folders, zips, demos or Kaggle slugs; paths are relative to the current folder."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1, max_length=_MOST_SEEDS)] = (0, 1, 2)
    arms: Annotated[dict[Name, dict[str, Any]], Field(min_length=1)]
    """By name, the values of the section `solve` of params.yaml in which an arm differs; `set` has the
    parameters of its agent, and `profile` names one of params.yaml."""
    common: dict[str, Any] = {}
    """Values of all arms: the model and one budget."""
    profile: str | None = None
    """A profile of params.yaml."""
    reference: str = ""
    """The arm that the others are compared with; empty for the first one."""
    data: str | None = None
    """Data folder of MLE-bench, with the answers of competitions that were prepared there."""
    best_notebook: Name | None = None
    """Name of one more arm, which runs nothing: the best score that a public notebook has in the
    community of the other arms."""
    after_deadline: bool = False
    """Whether arms may read what was published after the deadline of a competition that is over."""
    at_once: int = Field(default=1, ge=1, le=64)
    """Campaigns that run side by side, with equal shares of the machine's cores."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.reference and self.reference not in self.all_arms:
            raise ValueError(f"reference: there is no arm {self.reference!r}")
        for given in (self.competitions, self.seeds, self.all_arms):
            repeated = [each for each in given if list(given).count(each) > 1]
            if repeated:
                raise ValueError(f"{repeated[0]!r} is named twice")
        for arm, values in (*self.arms.items(), ("common", self.common)):
            for key in _SHARED:
                if key in values:
                    raise ValueError(f"{arm}: {key} is the same for all arms")
            if not isinstance(values.get("set", {}), dict):
                raise ValueError(f"{arm}: set is no mapping of names to parameters")  # noqa: TRY004
        return self

    @property
    def all_arms(self) -> tuple[str, ...]:
        """Names of all arms of the results, also of the one that runs nothing."""
        return (*self.arms, *([self.best_notebook] if self.best_notebook else ()))

    @property
    def compared_with(self) -> str:
        """The arm that the others are compared with."""
        return self.reference or next(iter(self.arms))

    def cells(self) -> list[Cell]:
        """Return the cells by seed, then competition, then arm, so that pairs are complete early."""
        return [
            Cell(arm, competition, seed)
            for seed in self.seeds
            for competition in self.competitions
            for arm in self.arms
        ]

    def options(self, cell: Cell) -> dict[str, Any]:
        """Return the values of `solve` for a cell: those of all arms, of its arm, and its seed."""
        own = {name: value for name, value in self.arms[cell.arm].items() if name != _PROFILE}
        agent = {**self.common.get("set", {}), **own.get("set", {})}
        return {**self.common, **own, **({"set": agent} if agent else {}), "seed": cell.seed}

    def profiles(self, arm: str) -> tuple[str, ...]:
        """Return the profiles of params.yaml that an arm starts from, those of all arms first."""
        return tuple(filter(None, (self.profile, self.arms[arm].get(_PROFILE))))

    def campaign(self, cell: Cell, competition: str) -> str:
        """Return the name of a cell's campaign; `competition` is the id of its competition.

        Raises:
            UsageError: the name is longer than names of campaigns may be.
        """
        try:
            return check_name(f"{self.name}-{cell.arm}-{competition}-s{cell.seed}")
        except ValueError as error:
            raise UsageError(f"bench {self.name}: {error}") from None


def read_plan(path: Path) -> BenchPlan:
    """Read a plan; `name` is that of the file if it has none, and `seeds` may be their number.

    Raises:
        UsageError: the file is missing or not YAML, a key is unknown, or a value out of range.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise UsageError(f"{path}: cannot be read ({reason})") from None
    except (yaml.YAMLError, ValueError):
        raise UsageError(f"{path}: is not YAML") from None
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{path}: is no plan of a bench", hint="it needs the keys competitions and arms"
        )
    given = {"name": path.stem, **values}
    if isinstance(given.get("seeds"), int):
        given["seeds"] = list(range(min(given["seeds"], _MOST_SEEDS + 1)))
    given["arms"] = {
        name: values or {} for name, values in _mapping(given.get("arms"), f"{path}: arms").items()
    }
    return validate_input(BenchPlan, given, str(path))


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: is no mapping of names to parameters")
    return value

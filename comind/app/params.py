"""Schema of `params.yaml`; a test keeps the defaults here and the values of the file equal."""

import sys
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field

from comind.adapters.notify.alert_params import AlertParams
from comind.app.defaults import PARAMS
from comind.domain.resources import Hardware, StoreFolders
from comind.domain.suggestions import did_you_mean
from comind.domain.value import Value, validate_input
from comind.errors import UsageError
from comind.following.shared_limits import SharedLimits
from comind.kaggle.settings import KaggleSettings
from comind.llm.settings import ModelSettings, Traffic

__all__ = ["NO_LIMIT", "Params", "SolveParams", "StoreParams", "parse_as_of", "read_params"]


Seed = Annotated[int, Field(ge=0, lt=1 << 32)]
"""Seed of a random generator; NumPy takes no others."""


def _as_text(value: object) -> object:
    """Return a time as text; YAML parses an unquoted time into a `date`."""
    return value.isoformat() if isinstance(value, date) else value


class _PrepareParams(Value):
    """Parameters of the split."""

    competition: str = "data/demos/demo-tumours"
    """Folder of the competition of `dvc repro`."""
    seed: Seed = 0
    """Seed of the split; separate from the campaign's seed, so that campaigns share a split."""


class PackagesParams(Value):
    """Packages that attempts may install while they run."""

    allow: tuple[str, ...] = ()
    """Names, including each dependency. Empty: nothing can be installed."""


class SolveParams(Value):
    """Parameters of a campaign; the defaults are those of the CoMind paper."""

    agent: str = "comind"
    """Name of an agent, as `comind agents` lists them."""
    model: str | None = None
    """Model name; None for the configured endpoint, else `offline`."""
    seed: Seed = 0
    iterations: int | None = Field(default=None, ge=0)
    """Rounds of ideation, or of the baseline's search; None for as many as the time allows."""
    coders: int = Field(default=4, ge=1, le=64)
    """Concurrent attempts (paper, section 5.1)."""
    cores: int | None = Field(default=None, ge=1)
    """Cores of this machine that attempts share in equal parts; None for all, shared with other
    campaigns, so an attempt gets more while others do not run."""
    steps: int = Field(default=30, ge=1)
    """Most cells per attempt (paper, section 5.1)."""
    minutes: float = Field(default=1440, gt=0)
    """Time budget of the campaign (paper, section 5.1: 24 hours)."""
    attempt_minutes: float = Field(default=300, gt=0)
    cell_minutes: float = Field(default=300, gt=0)
    """Timeout of a cell (paper, section 5.1: 5 hours)."""
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    """Budget of prompt and completion tokens together."""
    closing_share: float = Field(default=0.05, ge=0, lt=1)
    """Share of dollars and tokens that is reserved for the calls that finish work."""
    closing_time_share: float = Field(default=0.2, ge=0, lt=1)
    """Largest share of `minutes` that is reserved for folds, blend and refit, by measured run times."""
    round_share: float = Field(default=0.45, gt=0, le=1)
    """Largest share of `minutes` for an attempt while another round can follow."""
    models: dict[str, ModelSettings] = {}
    """By role; `default` for all others. comind/llm/settings.py documents the keys."""
    traffic: Traffic = Traffic()
    baseline: bool = True
    """Whether attempt 0 is the platform's baseline."""
    refit: bool = True
    """Whether the final pick's code is run again on all labelled rows."""
    blend: bool = True
    """Whether submissions of scored steps are averaged at the end, where that scores better on rows that
    were not used for the selection."""
    folds: Literal["auto"] | Annotated[int, Field(ge=0, le=9)] = "auto"
    """Further folds on which scripts with indistinguishable scores run again at the end; `auto` for up
    to four, as the time allows."""
    pick: Literal["best", "simplest"] = "best"
    """Rule of the final choice: the best expected test score, or the simplest within one standard error
    of the best validation score, which needs no folds."""
    ensemble: bool = True
    """Whether agents see the error correlation of attempts, and may ensemble them."""
    monitor: bool = True
    """Whether a model monitors cells that a model wrote, and stops failing ones (paper, 4.2)."""
    prove: bool = True
    """Whether scripts of published solutions are run again at the end, to prove that they reproduce
    them."""
    push: bool = False
    """Whether data is pushed to the DVC remote, and the campaign's ref to `origin`, at the end."""
    sandbox: str = "auto"
    node_kinds: tuple[Hardware, ...] = ()
    """Kinds of machines in the pool; with several, drafts may need one of them."""
    gpus: int = Field(default=0, ge=0)
    """With a pool: GPUs that a session must get at least; it waits for a node that has them free."""
    pool: str | None = None
    """Prefect work pool whose nodes run the sessions; None for this machine."""
    packages: PackagesParams = PackagesParams()
    community: str | None = None
    """Community folder or store, or `none`; None for the competition's own, where it has one."""
    as_of: Annotated[str | None, BeforeValidator(_as_text)] = None
    """ISO 8601 time with zone; what the community did later is ignored. None for the deadline of a
    competition that is over; `none` for no limit."""
    notebooks: int = Field(default=10, ge=0)
    """Notebooks that the agents read (paper, section 6.1)."""
    discussions: int = Field(default=10, ge=0)


NO_LIMIT = "none"
"""Value of `as_of` by which content of any time is visible."""

_RENAMED = (("kaggle", "manners", "rate_limit"),)
"""Section, former and present name of keys that were renamed since the last version."""


class StoreParams(Value):
    """The user's own models and datasets."""

    models: str | None = None
    """Folder that is mounted into every attempt at `input/models`; relative to the project."""
    datasets: str | None = None
    """The same, at `input/datasets`."""

    def below(self, project: Path) -> StoreFolders:
        """Return the folders as absolute paths."""
        given = self.model_dump(exclude_none=True).items()
        return StoreFolders(
            **{kind: str((project / Path(path).expanduser()).absolute()) for kind, path in given}
        )


class LimitParams(Value):
    """Limits of all campaigns of the project together."""

    project_usd: float | None = Field(default=None, ge=0)
    """Cost of all campaigns in `runs/`, of all processes, former ones included."""


class Params(Value):
    """Content of `params.yaml`."""

    prepare: _PrepareParams = _PrepareParams()
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0,)
    """Seeds of the campaigns that `dvc repro` runs."""
    solve: SolveParams = SolveParams()
    limits: LimitParams = LimitParams()
    store: StoreParams = StoreParams()
    nodes: dict[str, Any] = {}
    """Settings of the plug-in for `solve.pool`, which validates them."""
    agents: dict[str, dict[str, Any]] = {}
    """Parameters by agent; `comind agents` lists them."""
    kaggle: KaggleSettings = KaggleSettings()
    alerts: AlertParams = AlertParams()
    following: SharedLimits = SharedLimits()
    """Limits of all followed competitions together."""
    profiles: dict[str, dict[str, Any]] = {}

    def with_profile(self, name: str | None) -> "Params":
        """Return a copy in which a profile overrides the values of `solve`.

        Raises:
            UsageError: there is no such profile, or it has a key that `solve` has not.
        """
        if name is None:
            return self
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none"
            meant = did_you_mean(name, self.profiles)
            raise UsageError(
                f"params.yaml has no profile {name!r}{meant}", hint=f"its profiles: {known}"
            )
        return self.with_solve(self.profiles[name], f"params.yaml: profiles.{name}")

    def with_solve(self, overrides: Mapping[str, Any], where: str = "solve") -> "Params":
        """Return a copy in which values of `solve` are replaced by those that were given at `where`.

        Raises:
            UsageError: `solve` has no such key, or a value is out of range.
        """
        checked = validate_input(SolveParams, self.solve.model_dump() | dict(overrides), where)
        return self.model_copy(update={"solve": checked})


def read_params(project: Path) -> Params:
    """Read the project's parameters; the defaults where it has no `params.yaml`.

    Raises:
        UsageError: the file is not YAML, a key is unknown, or a value out of range.
    """
    path = project / "params.yaml"
    if not path.is_file():
        path = PARAMS
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError):  # an invalid time such as 2023-13-45, or not UTF-8
        raise UsageError(f"{path}: is not YAML") from None
    return validate_input(Params, _renamed(values or {}, path), str(path))


def parse_as_of(text: str | None) -> datetime | None:
    """Parse an as-of time into UTC; None for None and `none`.

    Raises:
        UsageError: it is no ISO 8601 time with a zone.
    """
    from comind.community.lines import parse_time

    if text in (None, NO_LIMIT):
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"as-of time {text!r}: {error}", hint="such as 2023-04-01T00:00:00Z") from None


def _renamed(values: Any, path: Path) -> Any:
    """Return `values` with the present names of keys; a former name is read with a warning."""
    for section, old, new in _RENAMED:
        found = values.get(section) if isinstance(values, dict) else None
        if isinstance(found, dict) and old in found and new not in found:
            found[new] = found.pop(old)
            _warn(f"{path}: {section}.{old} is {section}.{new} now, and read for one more version")
    return values


@cache
def _warn(message: str) -> None:
    sys.stderr.write(f"comind: warning: {message}\n")

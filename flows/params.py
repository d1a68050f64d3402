"""`params.yaml`, typed; the values there and the defaults here are the same (a test holds them so)."""

import sys
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field

from comind.domain.resources import StoreFolders
from comind.domain.value import Value, validate_input
from comind.errors import UsageError
from comind.kaggle.settings import KaggleSettings
from comind.llm.settings import ModelSettings, Traffic

__all__ = ["Params", "PrepareParams", "SolveParams", "read_params"]


def _as_text(value: object) -> object:
    """Return a time as text; YAML reads one without quotation marks as a time."""
    return value.isoformat() if isinstance(value, date) else value


class PrepareParams(Value):
    """How the data is split."""

    competition: str = "demo-tumours"
    """Folder or built-in demo that `dvc repro` works on."""
    seed: int = 0
    """Seed of the split; apart from the campaign's seed, so that campaigns share a split."""


class PackagesParams(Value):
    """What attempts may have installed while they run."""

    allow: tuple[str, ...] = ()
    """Names; each dependency has to be named, too. None: nothing can be installed."""


class SolveParams(Value):
    """How a campaign is run; the defaults are those of the CoMind paper."""

    agent: str = "comind"
    """One of those that `comind agents` lists."""
    model: str | None = None
    """Model name; None for the configured endpoint, else `offline`."""
    seed: int = 0
    iterations: int | None = Field(default=None, ge=0)
    """Rounds of ideation, or of the baseline's search; None for as many as the time allows."""
    coders: int = Field(default=4, ge=1, le=64)
    """Attempts that run at once (paper, section 5.1)."""
    steps: int = Field(default=30, ge=1)
    """Cells an attempt may run (paper, section 5.1)."""
    minutes: float = Field(default=1440, gt=0)
    """Time of the whole campaign (paper, section 5.1: 24 hours)."""
    attempt_minutes: float = Field(default=300, gt=0)
    cell_minutes: float = Field(default=300, gt=0)
    """Time of one cell (paper, section 5.1: 5 hours)."""
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    """Tokens of the whole campaign, read and written."""
    closing_share: float = Field(default=0.05, ge=0, lt=1)
    """Of money and tokens: kept back for the calls that bring work to its end."""
    closing_time_share: float = Field(default=0.2, ge=0, lt=1)
    """Of `minutes`: the most that is kept back for folds, blend and refit, by what code took."""
    round_share: float = Field(default=0.45, gt=0, le=1)
    """Of `minutes`: the most that an attempt gets while another round can follow."""
    models: dict[str, ModelSettings] = {}
    """By role; `default` for all others. What they can say stands in comind/llm/settings.py."""
    traffic: Traffic = Traffic()
    baseline: bool = True
    """Whether attempt 0 is the platform's baseline."""
    refit: bool = True
    """Whether the final pick's code is run once more on all labelled rows."""
    blend: bool = True
    """Whether scored steps are averaged at the end, where that is better on rows not selected on."""
    folds: Literal["auto"] | Annotated[int, Field(ge=0, le=9)] = "auto"
    """Further folds on which scripts that cannot be told apart run again at the end, to choose by more
    rows; `auto` for up to four, as the time allows."""
    pick: Literal["best", "simplest"] = "best"
    """The final one: the best expected test score, or the simplest within one standard error of the best
    validation score, which needs no folds."""
    ensemble: bool = True
    """Whether agents learn how far the errors of attempts go together, and may combine them."""
    monitor: bool = True
    """Whether cells that a model wrote are watched, and stopped when they are lost (paper, 4.2)."""
    prove: bool = True
    """Whether scripts of published solutions are run at the end, to show that they give the same."""
    push: bool = False
    """Whether data goes to the DVC remote, and the campaign's ref to `origin`, at the end."""
    sandbox: str = "auto"
    packages: PackagesParams = PackagesParams()
    community: str | None = None
    """Community folder, or `none`; None for the competition's own, where it has one."""
    as_of: Annotated[str | None, BeforeValidator(_as_text)] = None
    """ISO 8601 time with zone; nothing that the community did later has any influence."""
    notebooks: int = Field(default=10, ge=0)
    """Notebooks that the agents are told of (paper, section 6.1)."""
    discussions: int = Field(default=10, ge=0)


_RENAMED = (("kaggle", "manners", "rate_limit"),)
"""Section, former and present name of keys that were renamed since the last version."""


class StoreParams(Value):
    """The user's own models and datasets."""

    models: str | None = None
    """Folder that every attempt finds at `input/models`; one that is not absolute is the project's."""
    datasets: str | None = None
    """The same, at `input/datasets`."""

    def below(self, project: Path) -> StoreFolders:
        """Return the folders, by their whole paths."""
        given = {kind: value for kind, value in self.model_dump().items() if value is not None}
        return StoreFolders(
            **{kind: str((project / Path(path).expanduser()).absolute()) for kind, path in given.items()}
        )


class Params(Value):
    """The whole file."""

    prepare: PrepareParams = PrepareParams()
    solve: SolveParams = SolveParams()
    store: StoreParams = StoreParams()
    agents: dict[str, dict[str, Any]] = {}
    """By agent, values for its own parameters; `comind agents` lists them."""
    kaggle: KaggleSettings = KaggleSettings()
    profiles: dict[str, dict[str, Any]] = {}

    def with_profile(self, name: str | None) -> "Params":
        """Return these with the values of a profile in `solve`.

        Raises:
            UsageError: there is no such profile, or it holds what `solve` has not.
        """
        if name is None:
            return self
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none"
            raise UsageError(f"params.yaml has no profile {name!r}", hint=f"its profiles: {known}")
        solve = self.solve.model_dump() | self.profiles[name]
        checked = validate_input(SolveParams, solve, f"params.yaml: profiles.{name}")
        return self.model_copy(update={"solve": checked})


def read_params(project: Path) -> Params:
    """Return the project's parameters; the defaults where it has no `params.yaml`.

    Raises:
        UsageError: the file is not YAML, or a value in it is unknown or out of range.
    """
    path = project / "params.yaml"
    if not path.is_file():
        path = Path(__file__).parent.parent / "params.yaml"
    if not path.is_file():
        return Params()
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError):  # a time such as 2023-13-45, or no text at all
        raise UsageError(f"{path}: is not YAML") from None
    return validate_input(Params, _renamed(values or {}, path), str(path))


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

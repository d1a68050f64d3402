"""Schema of `params.yaml`; a test keeps the defaults here and the values of the file equal."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from comind.adapters.notify.alert_params import AlertParams
from comind.app.defaults import PARAMS
from comind.campaign.log.campaign_settings import CampaignSettings, Seed
from comind.domain.resources import StoreFolders
from comind.domain.suggestions import did_you_mean
from comind.domain.value import Value, describe_error, validate_input
from comind.errors import UsageError
from comind.following.shared_limits import SharedLimits
from comind.kaggle.settings import KaggleSettings


class _PrepareParams(Value):
    """Parameters of the split."""

    competition: str = "data/demos/demo-tumours"
    """Folder of the competition of `dvc repro`."""
    seed: Seed = 0
    """Seed of the split; separate from the campaign's seed, so that campaigns share a split."""


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
            **{key: str((project / Path(path).expanduser()).absolute()) for key, path in given}
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
    solve: CampaignSettings = CampaignSettings()
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
    profiles: dict[str, CampaignSettings] = {}

    def with_profile(self, name: str | None) -> "Params":
        """Return a copy in which a profile overrides the values of `solve`.

        Raises:
            UsageError: there is no such profile.
        """
        if name is None:
            return self
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none"
            meant = did_you_mean(name, self.profiles)
            raise UsageError(
                f"params.yaml has no profile {name!r}{meant}", hint=f"its profiles: {known}"
            )
        return self.with_solve(self.profiles[name].given())

    def with_solve(self, overrides: Mapping[str, Any], where: str = "solve") -> "Params":
        """Return a copy in which values of `solve` are replaced by those that were given at `where`.

        Of `set`, each parameter by itself, unless the agent is another one.

        Raises:
            UsageError: `solve` has no such key, or a value is out of range.
        """
        before, given = self.solve.given(), dict(overrides)
        same = given.get("agent", self.solve.agent) == self.solve.agent
        if isinstance(given.get("set"), Mapping) and same:
            given["set"] = {**before.get("set", {}), **given["set"]}
        checked = validate_input(CampaignSettings, before | given, where)
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
    return validate_input(Params, values or {}, str(path))


def parse_as_of(text: str | None) -> datetime | None:
    """Parse an as-of time into UTC; None for None and `none`.

    Raises:
        UsageError: it is no ISO 8601 time with a zone.
    """
    try:
        return CampaignSettings.model_validate({"as_of": text}).cutoff
    except ValidationError as error:
        reason = describe_error(error, {"as_of": text})[1]
        raise UsageError(f"as-of time {text!r}: {reason}", hint="such as 2023-04-01T00:00:00Z") from None

"""Define the configuration of a campaign: its resolved settings, and facts of its opening."""

from collections.abc import Mapping
from typing import Any

from pydantic import AwareDatetime, JsonValue, model_validator

from comind.campaign.log.campaign_settings import NONE, CampaignSettings, Moment
from comind.campaign.log.older_logs import upgrade_spec
from comind.domain.resources import StoreFolders
from comind.domain.spend import Budget
from comind.domain.value import Name


class CampaignSpec(CampaignSettings):
    """Configuration of a campaign: one agent, competition, seed and budget.

    Agent, model, models, community and as-of time are those that the settings were resolved to.
    """

    id: Name
    competition: Name
    competition_folder: str
    model: str
    agent_origin: str = ""
    """Distribution of the agent, and its version."""
    parameters: dict[str, JsonValue] = {}
    """The agent's parameters, with the defaults as of the campaign's start."""
    split_seed: int = 0
    store: StoreFolders = StoreFolders()
    """The user's own models and datasets."""
    community: str = NONE
    """Folder with the competition's public notebooks, discussions and datasets, or `none`."""
    as_of: Moment = NONE
    closed_at: AwareDatetime | None = None
    """Deadline of the competition, where it had passed when the campaign was opened."""

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, values: Any) -> Any:
        return upgrade_spec(values)

    @property
    def budget(self) -> Budget:
        """The limits of the settings; those of a resumed campaign are in its state."""
        return Budget(
            seconds=None if isinstance(self.minutes, str) else 60 * self.minutes,
            usd=None if isinstance(self.max_usd, str) else self.max_usd,
            tokens=self.max_tokens,
            evaluations=self.evaluations,
            closing_share=self.closing_share,
            closing_time_share=self.closing_time_share,
        )

    @property
    def attempt_seconds(self) -> float:
        """Time limit of an attempt."""
        return 60 * self.attempt_minutes

    @property
    def cell_seconds(self) -> float:
        """Timeout of a cell."""
        return 60 * self.cell_minutes

    def attempts_at_once(self, machine_cores: int = 0) -> int:
        """Return how many attempts run at the same time: the coders, at most one a core.

        `machine_cores` are those of this machine, 0 if unknown. With a pool the sessions run on its
        nodes, so there are as many as coders.
        """
        if self.pool is not None:
            return self.coders
        limits = [each for each in (self.cores, machine_cores) if each]
        return min([self.coders, *limits])

    def changed(self, values: Mapping[str, JsonValue]) -> "CampaignSpec":
        """Return a copy with other values, validated."""
        return CampaignSpec.model_validate(self.model_dump() | dict(values)) if values else self

    def visible_until(self) -> str:
        """Return until when community and knowledge are visible, in words."""
        if self.cutoff is None:
            after = f", also after the deadline, {self.closed_at:%Y-%m-%d}" if self.closed_at else ""
            return f"of any time{after}"
        until = f"as of {self.cutoff:%Y-%m-%d %H:%M} UTC"
        if self.closed_at is None or self.cutoff < self.closed_at:
            return until
        return f"{until}, {'the' if self.cutoff == self.closed_at else 'after the'} deadline"

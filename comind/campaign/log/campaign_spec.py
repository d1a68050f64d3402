"""Define the configuration of a campaign."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from comind.domain.resources import Hardware, StoreFolders
from comind.domain.spend import Budget
from comind.domain.value import Name, Value
from comind.llm.settings import ModelSettings, Traffic

__all__ = ["NO_COMMUNITY", "CampaignSpec"]

NO_COMMUNITY = "none"
"""Value of `CampaignSpec.community` for a campaign without a community."""


class CampaignSpec(Value):
    """Configuration of a campaign: one agent, competition, seed and budget."""

    id: Name
    competition: Name
    competition_folder: str
    agent: str
    """Name of its entry point in the group `comind.agents`."""
    agent_origin: str = ""
    """Distribution of the agent, and its version."""
    parameters: dict[str, JsonValue] = {}
    """The agent's parameters, with the defaults as of the campaign's start."""
    model: str
    seed: int
    split_seed: int = 0
    iterations: int | None = Field(default=None, ge=0)
    coders: int = Field(ge=1)
    cores: int | None = Field(default=None, ge=1)
    """Cores of the machine that concurrent attempts share in equal parts; None for all."""
    steps: int = Field(ge=1)
    attempt_seconds: float = Field(gt=0)
    round_share: float = Field(default=1.0, gt=0, le=1)
    """Largest share of the campaign's time for one attempt while another round can follow."""
    cell_seconds: float = Field(gt=0)
    baseline: bool = True
    refit: bool = True
    blend: bool = False
    """Whether scored steps are averaged at the end; False in older logs."""
    folds: Literal["auto"] | Annotated[int, Field(ge=0)] = 0
    """Number of further folds on which the finalists run at the end; none in older logs."""
    pick: Literal["best", "simplest"] = "simplest"
    """How the final attempt is picked: the best expected test score, or (older logs) the simplest that
    ties with the best validation score."""
    ensemble: bool = False
    """Whether agents may have errors compared to choose ensemble members; False in older logs."""
    monitor: bool = True
    push: bool = False
    """Whether data and ref are pushed to the remotes at the end."""
    prove: bool = True
    """Whether the scripts of published solutions are run to verify their submissions."""
    sandbox: str
    pool: str = ""
    """Work pool whose nodes run the sessions; empty for the driver's own machine."""
    gpus: int = 0
    """GPUs that a session on a node must get at least."""
    node_kinds: tuple[Hardware, ...] = ()
    """Kinds of machines in the pool, one of which a draft may need."""
    packages: tuple[str, ...] = ()
    """Names of packages that attempts may install."""
    store: StoreFolders = StoreFolders()
    """The user's own models and datasets."""
    community: str = NO_COMMUNITY
    """Folder with the competition's public notebooks, discussions and datasets."""
    as_of: AwareDatetime | None = None
    """Cut-off: nothing the community did later is visible; None for no cut-off."""
    closed_at: AwareDatetime | None = None
    """Deadline of the competition, where it had passed when the campaign was opened."""
    notebooks: int = Field(default=10, ge=0)
    discussions: int = Field(default=10, ge=0)
    budget: Budget = Budget()
    models: dict[str, ModelSettings] = {}
    """Settings by role, `default` for the others, as of the campaign's start."""
    traffic: Traffic = Traffic()

    def visible_until(self) -> str:
        """Return until when community and knowledge are visible, in words."""
        if self.as_of is None:
            after = f", also after the deadline, {self.closed_at:%Y-%m-%d}" if self.closed_at else ""
            return f"of any time{after}"
        until = f"as of {self.as_of:%Y-%m-%d %H:%M} UTC"
        if self.closed_at is None or self.as_of < self.closed_at:
            return until
        return f"{until}, {'the' if self.as_of == self.closed_at else 'after the'} deadline"

"""Define the settings of a campaign: the one schema of its options, their defaults, bounds and help.

It is the section `solve` of `params.yaml`, the options of `comind solve` and `comind track`, the values
of a bench's arms, the parameter of the flow `solve`, and a part of what the campaign's log holds.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, JsonValue

from comind.community.lines import parse_time
from comind.community.ranking import Selection
from comind.domain.resources import Hardware
from comind.domain.value import Value
from comind.llm.settings import ModelSettings, Traffic

NONE: Final = "none"
"""Value of a limit or a source by which there is none; null leaves it to a default."""

CHANGEABLE = ("minutes", "max_usd", "max_tokens", "evaluations", "model", "cores", "pool", "sandbox")
"""Settings that a campaign may get anew when it is resumed."""


def _parse_moment(value: object) -> object:
    """Parse ISO 8601 text; YAML has parsed an unquoted time into a `date` already."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    return parse_time(value) if isinstance(value, str) and value != NONE else value


def _parse_baseline(value: object) -> object:
    """Parse yes and no, which older logs have."""
    return {True: "visible", False: "none"}.get(value, value) if isinstance(value, bool) else value


Baseline = Annotated[Literal["visible", "hidden", "none"], BeforeValidator(_parse_baseline)]

Seed = Annotated[int, Field(ge=0, lt=1 << 32)]
"""Seed of a random generator; NumPy takes no others."""

Moment = Annotated[AwareDatetime | Literal["none"], BeforeValidator(_parse_moment)]
"""A time with zone, or `none`."""


class AllowedPackages(Value):
    """Packages that attempts may install while they run."""

    allow: tuple[str, ...] = ()
    """Names, including each dependency. Empty: nothing can be installed."""


class Monitoring(Value):
    """When a model is asked about a running cell, and when a cell that does nothing is stopped.

    Shares of time are of the cell's timeout, so that short cells are monitored as well.
    """

    ask_share: float = Field(default=0.2, gt=0, le=1)
    """Time to the first question about a cell without evidence; doubled after each question."""
    ask_seconds: float = Field(default=300, gt=0)
    """The most that this is."""
    idle_share: float = Field(default=0.2, gt=0, le=1)
    """Time without output, use of processor, and change of memory or files; then a cell is stopped."""
    idle_seconds: float = Field(default=600, gt=0)
    """The most that this is."""
    questions: int = Field(default=12, ge=0)
    """Most questions about one cell; 0: evidence alone stops cells."""
    calls_share: float = Field(default=0.1, gt=0, le=1)
    """Largest share of the campaign's model calls for questions that stop nothing; one is allowed."""


class CampaignSettings(Value):
    """Settings of a campaign; None leaves a value to what the comment of its field says.

    The first sentence of a field's comment is the help of its option.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    agent: str = "comind"
    """Agent, as `comind agents` lists them."""
    set: dict[str, JsonValue] = {}
    """Parameters of the agent, which override the section `agents` of params.yaml."""
    model: str | None = None
    """Model at the endpoint; offline: the baseline alone. None: that of the endpoint, else offline."""
    models: dict[str, ModelSettings] = {}
    """Settings of models by role; `default` for all others; see docs/models.md."""
    traffic: Traffic = Traffic()
    """Limits and retries of all model calls of the campaign together."""
    seed: Seed = 0
    """Random seed of the campaign."""
    iterations: int | None = Field(default=None, ge=0)
    """Rounds of ideation, or of the baseline's search. None: as many as the time allows."""
    coders: int = Field(default=4, ge=1, le=64)
    """Drafts of a round, and the most concurrent attempts: at most one a core of this machine."""
    cores: int | None = Field(default=None, ge=1)
    """Cores of this machine that attempts share in equal parts. None: all, shared with other campaigns,
    so an attempt gets more while others do not run."""
    steps: int = Field(default=30, ge=1)
    """Most cells per attempt."""
    minutes: Annotated[float, Field(gt=0)] | Literal["none"] = 60.0
    """Time budget of the campaign in minutes, or none."""
    attempt_minutes: float = Field(default=300, gt=0)
    """Time limit of an attempt in minutes."""
    cell_minutes: float = Field(default=300, gt=0)
    """Timeout of a cell in minutes."""
    max_usd: Annotated[float, Field(ge=0)] | Literal["none"] | None = None
    """Cost budget in dollars, or none. None: to be stated where the price of a model is known."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Budget of prompt and completion tokens together. None: no limit."""
    evaluations: int | None = Field(default=None, ge=1)
    """Most gradings of submissions of the agent's attempts; the platform's own are not counted. None: no
    limit."""
    closing_share: float = Field(default=0.05, ge=0, lt=1)
    """Share of dollars and tokens that is reserved for the calls that finish work."""
    closing_time_share: float = Field(default=0.2, ge=0, lt=1)
    """Largest share of the time that is reserved for folds, blend and refit, by measured run times."""
    round_share: float = Field(default=0.45, gt=0, le=1)
    """Largest share of the time for an attempt while another round can follow."""
    baseline: Baseline = "visible"
    """Run the platform's baseline as attempt 0, as a solution that agents see, or hidden from them."""
    refit: bool = True
    """Run the final pick's code again on all labelled rows."""
    blend: bool = True
    """Average submissions of scored steps at the end, where that scores better on rows that were not
    used for the selection."""
    folds: Literal["auto"] | Annotated[int, Field(ge=0, le=9)] = "auto"
    """Further folds on which scripts with indistinguishable scores run again at the end; auto: up to
    four, as the time allows."""
    pick: Literal["best", "simplest"] = "best"
    """Rule of the final choice: the best expected test score, or the simplest within one standard error
    of the best validation score, which needs no folds."""
    ensemble: bool = True
    """Show agents the correlation of attempts' errors, and let them ensemble attempts."""
    monitor: bool = True
    """Stop cells that fail, of those that a model wrote, by evidence or by a model's verdict."""
    monitoring: Monitoring = Monitoring()
    """Times and limits of the monitor; see docs/architecture.md."""
    prove: bool = True
    """Run scripts of published solutions again at the end, to prove that they reproduce them."""
    push: bool = False
    """Push data to the DVC remote, and the campaign's ref to `origin`, at the end."""
    sandbox: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    """Where model-written code runs; process isolates nothing."""
    pool: str | None = None
    """Prefect work pool whose nodes run the sessions. None: this machine."""
    gpus: int = Field(default=0, ge=0)
    """With a pool: GPUs that a session must get at least; it waits for a node that has them free."""
    node_kinds: tuple[Hardware, ...] = ()
    """Kinds of machines in the pool; with several, drafts may need one of them."""
    packages: AllowedPackages = AllowedPackages()
    """Packages that attempts may install with %pip install."""
    community: str | None = None
    """Community folder or store, or none. None: the competition's own, where it has one."""
    as_of: Moment | None = None
    """Time after which nothing of community and knowledge is visible, or none. None: the deadline of a
    competition that is over."""
    notebooks: int = Field(default=10, ge=0)
    """Notebooks that the agents read."""
    discussions: int = Field(default=10, ge=0)
    """Discussions that the agents read."""
    ranking: Literal["balanced", "votes"] = "balanced"
    """Order by which these are chosen: scores, votes and freshness of unlike items, or votes alone."""
    datasets: bool = True
    """Offer the community's public datasets to the agents."""
    feedback: Literal["dev", "test"] = "dev"
    """Instances that programs are scored on: sealed ones apart from the test's, or, to reproduce a
    benchmark that does so, those of the test."""

    @property
    def test_feedback(self) -> Literal["none", "scores on the test instances"]:
        """What agents learn of the true answers."""
        return "scores on the test instances" if self.feedback == "test" else "none"

    @property
    def cutoff(self) -> datetime | None:
        """Time after which nothing of community and knowledge is visible; None for no limit."""
        return self.as_of if isinstance(self.as_of, datetime) else None

    @property
    def selection(self) -> Selection:
        """What is read of the community."""
        by_votes = self.ranking == "votes"
        return Selection(
            notebooks=self.notebooks,
            discussions=self.discussions,
            by_votes=by_votes,
            datasets=self.datasets,
        )

    def given(self) -> dict[str, Any]:
        """Return the values that were set, without those that are defaults."""
        return self.model_dump(exclude_unset=True)

    def overridden_by(self, values: Mapping[str, Any]) -> Self:
        """Return a copy with other values, validated.

        Raises:
            pydantic.ValidationError: a key is unknown, or a value out of bounds.
        """
        return self.model_validate(self.given() | dict(values))

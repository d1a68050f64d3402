"""Everything that can happen to a campaign, in the past tense."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, JsonValue, TypeAdapter, model_validator

from comind.campaign.outcome import Outcome
from comind.campaign.plan import Work
from comind.domain.blend import Blend
from comind.domain.environment import Environment
from comind.domain.metric import Paired, ValidationScore
from comind.domain.resources import StoreFolders
from comind.domain.spend import Budget
from comind.domain.value import Name, Value, rename_fields
from comind.llm.settings import ModelSettings, Traffic

__all__ = [
    "CAMPAIGN_EVENTS",
    "NO_COMMUNITY",
    "BlendJudged",
    "CampaignEnded",
    "CampaignEvent",
    "CampaignOpened",
    "CampaignResumed",
    "CampaignSpec",
    "CommunityRead",
    "EnvironmentRead",
    "ErrorsCompared",
    "FinalPicked",
    "FoldFinished",
    "FoldsPlanned",
    "Proof",
    "Ranked",
    "ScriptProved",
    "SplitMade",
    "WorkFinished",
    "WorkPlanned",
]


NO_COMMUNITY = "none"
"""In place of a community folder: the campaign reads none."""

_SUREST = 0.99  # no larger probability is told: draws from normal values say no more


class CampaignSpec(Value):
    """What a user asked for: one agent on one competition with one seed under one budget."""

    id: Name
    competition: Name
    competition_folder: str
    agent: str
    """Name of its entry point in the group `comind.agents`."""
    agent_origin: str = ""
    """The distribution that the agent came from, and its version."""
    parameters: dict[str, JsonValue] = {}
    """The agent's own, complete as of the campaign's start."""
    model: str
    seed: int
    split_seed: int = 0
    iterations: int | None = Field(default=None, ge=0)
    coders: int = Field(ge=1)
    steps: int = Field(ge=1)
    attempt_seconds: float = Field(gt=0)
    round_share: float = Field(default=1.0, gt=0, le=1)
    """Of the campaign's time: the most that an attempt gets while another round can follow."""
    cell_seconds: float = Field(gt=0)
    baseline: bool = True
    refit: bool = True
    blend: bool = False
    """Whether scored steps are averaged at the end; False in older logs."""
    folds: Literal["auto"] | Annotated[int, Field(ge=0)] = 0
    """On how many further folds the finalists run again at the end; none in older logs."""
    pick: Literal["best", "simplest"] = "simplest"
    """Which attempt is the final one: the best expected test score, or the simplest that ties with the
    best validation score, as in older logs."""
    ensemble: bool = False
    """Whether agents may have errors compared, and combine attempts by that; False in older logs."""
    monitor: bool = True
    push: bool = False
    """Whether data and ref go to the remotes at the end."""
    prove: bool = True
    """Whether the scripts of published solutions are run, to show that they give the same."""
    sandbox: str
    packages: tuple[str, ...] = ()
    """Names of packages that attempts may have installed."""
    store: StoreFolders = StoreFolders()
    """The user's own models and datasets."""
    community: str = NO_COMMUNITY
    """Folder of what others published on the competition."""
    as_of: AwareDatetime | None = None
    """Nothing that the community did later may have any influence; None for no such limit."""
    notebooks: int = Field(default=10, ge=0)
    discussions: int = Field(default=10, ge=0)
    budget: Budget = Budget()
    models: dict[str, ModelSettings] = {}
    """By role; `default` for the others. Complete as of the campaign's start."""
    traffic: Traffic = Traffic()


class CampaignOpened(Value):
    """A user asked for a campaign; always the first event."""

    type: Literal["campaign-opened"] = "campaign-opened"
    spec: CampaignSpec


class EnvironmentRead(Value):
    """What work that is planned from now on runs in; written again when it has changed."""

    type: Literal["environment-read"] = "environment-read"
    environment: Environment


class SplitMade(Value):
    """The data is split and the rules of the game are fixed, once for the whole campaign."""

    type: Literal["split-made"] = "split-made"
    key: Name
    """Name of the split's folder: competition and content hash."""
    public_sha256: str
    sealed_sha256: str
    metric: str
    maximize: bool
    validation_rows: int
    rule: str = ""
    """How rows were held back, and why in this way; for people."""
    warnings: tuple[str, ...] = ()
    """A line for each way in which validation is easier than test."""
    folds: int = 0
    """Of the fold vector that all attempts find; 0 in older logs, whose attempts find none."""


class CommunityRead(Value):
    """What the community knows, as work that is planned from now on sees it.

    Once for the whole campaign, or once a day where a competition is followed while it runs.
    """

    type: Literal["community-read"] = "community-read"
    key: Name
    """Name of the snapshot's folder: competition and content hash."""
    sha256: str
    as_of: AwareDatetime | None
    notebooks: int
    discussions: int
    datasets: int
    left_out: int
    """How many lines the snapshot has on what could not be used."""


class WorkPlanned(Value):
    """The agent asked for work; from now on it is in flight."""

    type: Literal["work-planned"] = "work-planned"
    id: Name
    work: Work


class WorkFinished(Value):
    """Work has an outcome, good or bad."""

    type: Literal["work-finished"] = "work-finished"
    id: Name
    outcome: Outcome


class FoldsPlanned(Value):
    """Which attempts run again on further folds of the labelled rows, and on how many at most.

    Once at each end of a campaign; the time decides how many runs there are in the end.
    """

    type: Literal["folds-planned"] = "folds-planned"
    finalists: tuple[Name, ...] = ()
    """Attempts that cannot be told from the best one, the best first; none where nothing runs."""
    members: tuple[Name, ...] = ()
    """Of the blend that the grader finds by validation alone, as far as they run; finalists may be
    among them. They run on all folds, so that a blend can be judged on these."""
    folds: int = 0
    reason: str = ""
    """Why there are none, or why no more."""
    left_out: tuple[str, ...] = ()
    """A line for each attempt that cannot be told from the best one and does not run: why not."""

    @property
    def runners(self) -> tuple[str, ...]:
        """All that run on the first fold, finalists first."""
        return tuple(dict.fromkeys((*self.finalists, *self.members)))


class FoldFinished(Value):
    """Who runs on after a fold that is not the last one; written before the next one is planned."""

    type: Literal["fold-finished", "finalists-left"] = "fold-finished"  # the latter in older logs
    fold: int
    continuing: tuple[Name, ...]
    """One alone runs no further."""
    dropped: tuple[str, ...] = ()
    """A line for each that does not go on: how far it is behind."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        """Read `continuing` under the name that it has in older logs, too."""
        return rename_fields(values, going_on="continuing")


class ErrorsCompared(Value):
    """The grader has said how far the errors of the best attempts go together."""

    type: Literal["errors-compared"] = "errors-compared"
    attempts: tuple[str, ...]
    """The best first."""
    correlations: tuple[tuple[float, ...], ...] = ()
    """Of each attempt with each one before it: twentieths from 0 to 1."""
    reason: str = ""
    """Why that is not told; then it never is in this campaign."""

    def correlation(self, one: str, other: str) -> float | None:
        """Return how far the errors of two attempts go together; None where that is not known."""
        if self.reason or one == other or not {one, other} <= set(self.attempts):
            return None
        first, second = sorted((self.attempts.index(one), self.attempts.index(other)))
        return self.correlations[second][first]

    def __str__(self) -> str:
        if self.reason:
            return f"not told: {self.reason}"
        pairs = (
            (value, one, other)
            for one, row in zip(self.attempts, self.correlations, strict=True)
            for other, value in zip(self.attempts, row, strict=False)
        )
        least = min(pairs, default=None)
        told = "" if least is None else f", the least alike {least[2]} and {least[1]}: {least[0]:g}"
        return f"{len(self.attempts)} attempts{told}"


class BlendJudged(Value):
    """The grader has looked for an average of scored steps that is better than each of them.

    Once at each end of a campaign; where there is only one step there is nothing to look for.
    """

    type: Literal["blend-judged"] = "blend-judged"
    candidates: int
    """How many steps differ from each other."""
    folds: int = 0
    """On how many folds the candidates had run; it was judged on the rows of these, too."""
    blend: Blend | None = None
    reason: str = ""
    """Why there is none."""


class Ranked(Value):
    """A scored attempt's place on the campaign's leaderboard."""

    work_id: Name
    score: ValidationScore
    code_lines: int
    seconds: float
    """How long its code ran."""
    behind: Paired | None = None
    """How much worse it is than the best score, on the same rows; None for the best itself."""
    folds: tuple[float, ...] = ()
    """Its scores on further folds, one after another; fewer for what was dropped on the way."""
    expected: float | None = None
    """Its expected score on other rows, by all that it scored; None where the simplest is picked."""

    @property
    def tied(self) -> bool:
        """Whether it cannot be told from the best score."""
        return self.behind is None or self.behind.tie


class FinalPicked(Value):
    """One attempt's submission is the campaign's; `reason` says why this one."""

    type: Literal["final-picked"] = "final-picked"
    work_id: Name
    reason: str
    leaderboard: tuple[Ranked, ...]
    folds: int = 0
    """On how many further folds finalists were compared."""
    confidence: float | None = None
    """How probable it is that no other attempt is better, from 0 to 1; None where that was not asked."""
    shrinkage: float | None = None
    """How much worse it scores on folds than on the first validation rows, in units of the metric; of a
    pick that ran on none the mean over those that did."""
    notes: tuple[str, ...] = ()
    """Why there are no more folds, and why an attempt did not run on them."""

    @property
    def evidence(self) -> str:
        """What the pick rests on and how sure it is, in one line; empty where nobody asked."""
        if self.confidence is None:
            return ""
        folds = f"and {self.folds} fold{'s' * (self.folds != 1)}" if self.folds else "alone"
        sure = "over 99%" if self.confidence > _SUREST else f"{self.confidence:.0%}"
        told = [f"{sure} sure that no other is better, by validation {folds}"]
        if self.shrinkage is not None:
            better = "better" if self.shrinkage >= 0 else "worse"
            told.append(f"its score on validation is {abs(self.shrinkage):.3g} {better} than on folds")
        return "; ".join([*told, *self.notes])


Proof = Literal["identical", "equivalent", "unproved"]


class ScriptProved(Value):
    """The standalone script of an attempt was run in a fresh interpreter."""

    type: Literal["script-proved"] = "script-proved"
    id: Name
    """The attempt's."""
    proof: Proof
    """How far the submissions that it wrote agree with those that were graded."""
    kind: str
    """How the script came to be: derived, or all cells in their order."""
    script_sha256: str
    reason: str = ""
    """What differs, or why it could not be run."""
    seconds: float = 0.0
    """How long it ran."""


class CampaignResumed(Value):
    """A process took the campaign up again; the budget may have been raised."""

    type: Literal["campaign-resumed"] = "campaign-resumed"
    budget: Budget


class CampaignEnded(Value):
    """Nothing is in flight and nothing will be: the agent is done, or the budget is."""

    type: Literal["campaign-ended"] = "campaign-ended"
    reason: Literal["done", "budget"]
    detail: str = ""


CampaignEvent = Annotated[
    CampaignOpened
    | EnvironmentRead
    | SplitMade
    | CommunityRead
    | WorkPlanned
    | WorkFinished
    | FoldsPlanned
    | FoldFinished
    | ErrorsCompared
    | BlendJudged
    | FinalPicked
    | ScriptProved
    | CampaignResumed
    | CampaignEnded,
    Field(discriminator="type"),
]

CAMPAIGN_EVENTS: TypeAdapter[CampaignEvent] = TypeAdapter(CampaignEvent)

"""Define the events in a campaign's log."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, JsonValue, TypeAdapter

from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.older_logs import upgrade_event
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import Work
from comind.domain.competition import ProgramLimits
from comind.domain.draft import Blend
from comind.domain.environment import Environment
from comind.domain.metric import Paired, ValidationScore
from comind.domain.spend import Budget
from comind.domain.value import AnyText, Name, Value
from comind.system.plurals import quantity

_MOST_CONFIDENT = 0.99  # larger estimates from 20,000 normal draws are not reported as such


class CampaignOpened(Value):
    """A campaign was created; always the first event."""

    type: Literal["campaign-opened"] = "campaign-opened"
    spec: CampaignSpec


class EnvironmentRead(Value):
    """The environment of work planned from now on; written again when it changes."""

    type: Literal["environment-read"] = "environment-read"
    environment: Environment
    reference_seconds: float = 0.0
    """Time of a fixed computation on that machine (`comind/system/hardware.py`); 0 in older logs."""


class SplitMade(Value):
    """The data was split and the metric fixed, once for the whole campaign."""

    type: Literal["split-made"] = "split-made"
    key: Name
    """Name of the split's folder: competition and content hash."""
    public_sha256: str
    sealed_sha256: str
    metric: str
    maximize: bool
    validation_rows: int
    train_rows: int = 0
    """Rows that attempts learn from; 0 in older logs."""
    rule: str = ""
    """The split's rule and the reason for it, in words."""
    warnings: tuple[str, ...] = ()
    """A line for each way in which validation is easier than test."""
    folds: int = 0
    """Number of cross-validation folds in the fold vector that attempts get; 0 (older logs): none."""
    sample_rows: int = Field(default=0, exclude_if=lambda rows: not rows)
    """Rows of the sample of train.csv that attempts get; 0: none, as in older logs."""
    program: ProgramLimits | None = Field(default=None, exclude_if=lambda limits: limits is None)
    """Where submissions are programs, and rows instances."""


class CommunityRead(Value):
    """The community snapshot for work planned from now on.

    Once per campaign, or once a day if a live competition is followed.
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
    """Number of the snapshot's lines on items that could not be used."""
    further: int = Field(default=0, exclude_if=lambda count: not count)
    """Notebooks and discussions of lower rank, for agents that sample in each round."""


class WorkPlanned(Value):
    """Work was planned; from now on it is in flight."""

    type: Literal["work-planned"] = "work-planned"
    id: Name
    work: Work


class WorkFinished(Value):
    """Work has an outcome."""

    type: Literal["work-finished"] = "work-finished"
    id: Name
    outcome: Outcome


class FoldsPlanned(Value):
    """The attempts to run on further folds of the labelled rows, and the number of folds.

    Once at each end of a campaign; the time left may allow fewer runs.
    """

    type: Literal["folds-planned"] = "folds-planned"
    finalists: tuple[Name, ...] = ()
    """Attempts within noise of the best one, best first; empty if nothing runs."""
    members: tuple[Name, ...] = ()
    """Members of the blend selected on validation alone, as far as they run; may overlap with
    `finalists`. They run on all folds, so that a blend can be judged on these."""
    folds: int = 0
    reason: str = ""
    """Why there are none, or no more."""
    left_out: tuple[str, ...] = ()
    """A line for each attempt within noise of the best one that does not run, with the reason."""

    @property
    def runners(self) -> tuple[str, ...]:
        """All attempts that run on the first fold, finalists first."""
        return tuple(dict.fromkeys((*self.finalists, *self.members)))


class FoldFinished(Value):
    """The attempts left after a fold other than the last; written before the next fold is planned."""

    type: Literal["fold-finished"] = "fold-finished"
    fold: int
    continuing: tuple[Name, ...]
    """If only one is left, no further fold runs."""
    dropped: tuple[str, ...] = ()
    """A line for each eliminated attempt: how far it is behind."""


class AttemptRejected(Value):
    """The agent, or the platform at the end, rejected a finished attempt, such as for leaking labels.

    It is not picked, blended or delivered while another attempt has a score.
    """

    type: Literal["attempt-rejected"] = "attempt-rejected"
    id: Name
    reason: AnyText
    """By whom and why, such as `the verifier: overfitting: labels leak`."""


class ErrorsCompared(Value):
    """The grader reported the correlations between the errors of the best attempts."""

    type: Literal["errors-compared"] = "errors-compared"
    attempts: tuple[str, ...]
    """Best first."""
    correlations: tuple[tuple[float, ...], ...] = ()
    """Lower triangle: of each attempt with each one before it, rounded to twentieths from 0 to 1."""
    reason: str = ""
    """Why the grader refuses; it then refuses for the whole campaign."""

    def correlation(self, one: str, other: str) -> float | None:
        """Return the correlation between the errors of two attempts; None if unknown."""
        if self.reason or one == other or not {one, other} <= set(self.attempts):
            return None
        first, second = sorted((self.attempts.index(one), self.attempts.index(other)))
        return self.correlations[second][first]

    def __str__(self) -> str:
        if self.reason:
            return f"not compared: {self.reason}"
        pairs = (
            (value, one, other)
            for one, row in zip(self.attempts, self.correlations, strict=True)
            for other, value in zip(self.attempts, row, strict=False)
        )
        least = min(pairs, default=None)
        pair = "" if least is None else f", lowest {least[0]:g} ({least[2]} and {least[1]})"
        return f"{quantity(len(self.attempts), 'attempt')}{pair}"


class Flag(Value):
    """A reason not to trust the validation score of an attempt."""

    work_id: Name
    reason: str
    excludes: bool
    """Whether it is rejected for that."""

    def __str__(self) -> str:
        return f"{self.work_id} is {'rejected' if self.excludes else 'flagged'}: {self.reason}"


class SubmissionsFlagged(Value):
    """The final phase found attempts whose validation score cannot be trusted; no agent sees why."""

    type: Literal["submissions-flagged"] = "submissions-flagged"
    flags: tuple[Flag, ...]


class BlendJudged(Value):
    """The grader searched for an average of scored steps that is better than each of them.

    Once at each end of a campaign with at least two scored steps.
    """

    type: Literal["blend-judged"] = "blend-judged"
    candidates: int
    """Number of distinct steps."""
    folds: int = 0
    """Number of folds on which the candidates had run, and whose rows were used as well."""
    blend: Blend | None = None
    reason: str = ""
    """Why there is none."""


class Ranked(Value):
    """One entry of the campaign's leaderboard."""

    work_id: Name
    score: ValidationScore
    code_lines: int
    seconds: float
    """Running time of its code."""
    behind: Paired | None = None
    """Paired difference to the best score; None for the best itself."""
    folds: tuple[float, ...] = ()
    """Scores on further folds, in order; fewer if it was eliminated."""
    expected: float | None = None
    """Expected score on other rows, by all its scores; None under the rule `simplest`."""
    rejected: str = Field(default="", exclude_if=lambda reason: not reason)
    """By whom and why it was rejected; such entries come last, whatever their score."""

    @property
    def tied(self) -> bool:
        """Whether it is within noise of the best score."""
        return self.behind is None or self.behind.tie


class FinalPicked(Value):
    """The attempt whose submission is the campaign's, and why."""

    type: Literal["final-picked"] = "final-picked"
    work_id: Name
    reason: str
    leaderboard: tuple[Ranked, ...]
    folds: int = 0
    """Number of further folds on which finalists were compared."""
    confidence: float | None = None
    """Probability that no other attempt is better, from 0 to 1; None if not estimated."""
    shrinkage: float | None = None
    """Drop of its score from validation to folds, in units of the metric; for a pick without folds the
    mean over attempts with folds."""
    notes: tuple[str, ...] = ()
    """Why there are no more folds, and why an attempt did not run on them."""

    @property
    def evidence(self) -> str:
        """Confidence and shrinkage of the pick, in one line; empty if not estimated."""
        if self.confidence is None:
            return ""
        folds = f"and {quantity(self.folds, 'fold')}" if self.folds else "alone"
        sure = "over 99%" if self.confidence > _MOST_CONFIDENT else f"{self.confidence:.0%}"
        found = [f"{sure} sure that no other is better, by validation {folds}"]
        if self.shrinkage is not None:
            better = "better" if self.shrinkage >= 0 else "worse"
            found.append(f"its score on validation is {abs(self.shrinkage):.3g} {better} than on folds")
        return "; ".join([*found, *self.notes])


Proof = Literal["identical", "equivalent", "unproved"]


class ScriptProved(Value):
    """The standalone script of an attempt was run in a new interpreter."""

    type: Literal["script-proved"] = "script-proved"
    id: Name
    """The attempt's."""
    proof: Proof
    """Agreement of its submissions with the graded ones."""
    origin: str = Field(alias="kind")
    """`ScriptOrigin`: derived, or all cells in order."""
    script_sha256: str
    reason: str = ""
    """What differs, or why it could not be run."""
    seconds: float = 0.0
    """Running time."""
    loading_seconds: float | None = None
    """Running time with the models that it had saved, where its submissions agree then, too."""


class CampaignResumed(Value):
    """A new process resumed the campaign, perhaps with another budget or other settings."""

    type: Literal["campaign-resumed"] = "campaign-resumed"
    budget: Budget
    changes: dict[str, JsonValue] = {}
    """Values of the specification that differ from now on."""


class CampaignEnded(Value):
    """The campaign ended: the agent is done or the budget exhausted, and no work is in flight."""

    type: Literal["campaign-ended"] = "campaign-ended"
    reason: Literal["done", "budget"]
    detail: str = ""
    project_usd: float | None = None
    """The project's limit in dollars, if that is why; a campaign continues once it is raised."""


CampaignEvent = Annotated[
    CampaignOpened
    | EnvironmentRead
    | SplitMade
    | CommunityRead
    | WorkPlanned
    | WorkFinished
    | AttemptRejected
    | FoldsPlanned
    | FoldFinished
    | ErrorsCompared
    | SubmissionsFlagged
    | BlendJudged
    | FinalPicked
    | ScriptProved
    | CampaignResumed
    | CampaignEnded,
    Field(discriminator="type"),
    BeforeValidator(upgrade_event),
]

CAMPAIGN_EVENTS: TypeAdapter[CampaignEvent] = TypeAdapter(CampaignEvent)

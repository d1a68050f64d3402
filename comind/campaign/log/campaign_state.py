"""Fold a campaign's events to its state, and compute limits for what is planned next."""

from dataclasses import dataclass, replace

from immutables import Map

from comind.campaign.log.campaign_events import (
    CAMPAIGN_EVENTS,
    AttemptRejected,
    BlendJudged,
    CampaignEnded,
    CampaignEvent,
    CampaignOpened,
    CampaignResumed,
    CommunityRead,
    EnvironmentRead,
    ErrorsCompared,
    FinalPicked,
    Flag,
    FoldFinished,
    FoldsPlanned,
    ScriptProved,
    SplitMade,
    SubmissionsFlagged,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.time_plan import TimePlan
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_items import Attempt, WorkItems
from comind.domain.draft import Operator
from comind.domain.environment import Environment, Machine
from comind.domain.metric import ValidationScore
from comind.domain.resources import Resources
from comind.domain.spend import Budget, Spend, WorkBudget
from comind.errors import LogError
from comind.eventlog.log import Record
from comind.eventlog.store import LogSchema
from comind.grading.blending.error_correlation import MOST_COMPARED

__all__ = ["CAMPAIGN_LOG", "Best", "CampaignState"]

_MOST_COMPARISONS = 10  # of errors per campaign (docs/security.md)


@dataclass(frozen=True, slots=True)
class Best:
    """The best submission of finished attempts."""

    work_id: str
    score: ValidationScore
    submitted: Submitted
    rejected: str = ""
    """By whom and why it was rejected, as every scored one was; empty if it was not."""

    def better_than(self, other: "Best | None") -> bool:
        """Whether this is strictly better than another; whatever was rejected is worse."""
        if other is None or bool(self.rejected) != bool(other.rejected):
            return other is None or not self.rejected
        return self.score.value.better_than(other.score.value)


@dataclass(frozen=True, slots=True)
class CampaignState:
    """The state that planning depends on; folded from events only."""

    opened: CampaignSpec | None = None
    environments: tuple[Environment, ...] = ()
    """In order of time."""
    reference_seconds: float = 0.0
    """Of the newest environment; 0 in older logs."""
    environment_index: Map[str, int] = Map()  # noqa: RUF009 - immutable, safe to share
    """Index into `environments` by work id, as of its end."""
    proofs: Map[str, ScriptProved] = Map()  # noqa: RUF009 - immutable, safe to share
    """By attempt."""
    proof_seconds: float = 0.0
    """Duration of the proofs, which is no part of the campaign's time: they come after its end."""
    split: SplitMade | None = None
    communities: tuple[CommunityRead, ...] = ()
    """Snapshots in order of time; more than one if a live competition is followed."""
    snapshot_index: Map[str, int] = Map()  # noqa: RUF009 - immutable, safe to share
    """Index of the newest snapshot by work id, as of its planning."""
    budget: Budget = Budget()  # noqa: RUF009 - frozen, safe to share
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """Of finished work; `seconds` are the campaign's."""
    works: WorkItems = WorkItems()  # noqa: RUF009 - frozen, safe to share
    best: Best | None = None
    """Of finished attempts; never a blend, as agents plan by it."""
    fold_plan: FoldsPlanned | None = None
    """Reset when an attempt is planned."""
    finished_folds: tuple[FoldFinished, ...] = ()
    compared: ErrorsCompared | None = None
    """The newest comparison of errors."""
    comparisons: int = 0
    """Number of comparisons so far."""
    flags: tuple[Flag, ...] = ()
    """Reset when an attempt is planned."""
    judged: BlendJudged | None = None
    """Reset when an attempt is planned."""
    picked: FinalPicked | None = None
    before_pick: int = 0
    """Number of planned pieces of work as of the pick."""
    ended: CampaignEnded | None = None

    @property
    def spec(self) -> CampaignSpec:
        """The campaign's configuration.

        Raises:
            LogError: the log does not begin with `CampaignOpened`.
        """
        if self.opened is None:
            raise LogError("the campaign's log does not begin with its opening")
        return self.opened

    @property
    def community(self) -> CommunityRead | None:
        """The newest snapshot of the community; None without one."""
        return self.communities[-1] if self.communities else None

    def known_to(self, work_id: str) -> tuple[CommunityRead, ...]:
        """Return the snapshots visible to a piece of work, newest first."""
        newest = self.snapshot_index.get(work_id, len(self.communities) - 1)
        return self.communities[newest::-1] if newest >= 0 else ()

    def resources(self) -> Resources | None:
        """Return the resources of an attempt planned now; None if no environment was recorded."""
        if not self.environments:
            return None
        return Resources.of(self.environments[-1], self.attempts_at_once(), self.spec.cores)

    def attempts_at_once(self) -> int:
        """Return how many attempts may run at the same time in the newest environment."""
        machine = self.environments[-1].machine if self.environments else Machine()
        return self.spec.attempts_at_once(machine.cores)

    def environment_of(self, work_id: str) -> Environment | None:
        """Return the environment of finished work: the newest with the toolbox it was planned for.

        None if it was not recorded.
        """
        number = self.environment_index.get(work_id, -1)
        known = self.environments[number::-1] if number >= 0 else ()
        given = self.works[work_id].work.resources
        fitting = (each for each in known if given is not None and each.toolbox == given.toolbox)
        return next(fitting, known[0] if known else None)

    def comparable(self) -> tuple[str, ...]:
        """Return the attempts whose errors a comparison would cover now, best first."""
        return tuple(each.id for each in self.works.best_first()[:MOST_COMPARED])

    def may_compare(self) -> bool:
        """Return whether `Compare` is valid now: enabled, with new attempts, and within the limit.

        The number of comparisons is bounded, since each leaks information on the validation labels.
        """
        known, asked = self.compared, self.comparable()
        if not self.spec.ensemble or self.comparisons >= _MOST_COMPARISONS or len(asked) <= 1:
            return False
        return known is None or (not known.reason and not set(asked) <= set(known.attempts))

    def refit(self) -> Attempt | None:
        """Return the finished, valid refit of the final pick, if any."""
        refits = self.works.runs_of(self.picked.work_id, Operator.REFIT) if self.picked else []
        return next((each for each in refits if each.submitted), None)

    def chosen(self) -> Attempt | None:
        """Return the final pick, else the best attempt so far."""
        chosen = self.picked or self.best
        return self.works.attempt(chosen.work_id) if chosen else None

    @property
    def submits_programs(self) -> bool:
        """Whether submissions are programs; known once the competition is split."""
        return self.split is not None and self.split.program is not None

    def delivered(self) -> Attempt | None:
        """Return the attempt whose submission is delivered: the refit, else the pick, else the best."""
        return self.refit() or self.chosen()

    def free_slots(self) -> int:
        """Return how many more attempts can run concurrently."""
        coding = sum(isinstance(record.work, Code) for record in self.works.in_flight())
        return max(0, self.attempts_at_once() - coding)

    @property
    def time(self) -> TimePlan:
        """What is left of the campaign's time, and what of it is reserved."""
        best = self.best.work_id if self.best is not None else ""
        known = (self.works, self.attempts_at_once(), self.split, best)
        return TimePlan(self.spec, self.budget, self.spend.seconds, *known)

    def seconds_left(self) -> float:
        """Return the rest of the campaign's time; infinite without a limit."""
        return self.time.left()

    def closing_seconds(self) -> float:
        """Return seconds of folds, blend and refit of the best code: `closing_time_share` at most."""
        return self.time.closing_seconds()

    def open_seconds(self) -> float:
        """Return the seconds left for new attempts; infinite without a limit."""
        return self.time.open_seconds()

    def work_budget(self, *, whole: bool = False, waves: int = 1) -> WorkBudget:
        """Return the limits of an attempt planned now, as `TimePlan.work_budget` does."""
        return self.time.work_budget(whole=whole, waves=waves)

    def exhausted(self) -> str | None:
        """Return the name of the exhausted limit, or None."""
        if self.open_seconds() <= 0:
            return "time limit"
        tokens, usd = self.budget.open_tokens, self.budget.open_usd  # the rest is for work in flight
        if tokens is not None and self.spend.tokens >= tokens:
            return "token limit"
        if usd is not None and self.spend.usd >= usd > 0:
            return "dollar limit"
        return None

    def next_id(self, work: Think | Code) -> str:
        """Return the id for `work` if it is planned next."""
        name = _name_of(work)
        count = sum(_name_of(record.work) == name for record in self.works)
        return f"{name}-{count:03d}"


def _name_of(work: Think | Code) -> str:
    if isinstance(work, Think):
        return "think"
    return work.operator.value if work.is_closing else "attempt"


def _is_attempt(work: Think | Code) -> bool:
    return isinstance(work, Code) and not work.is_closing


def _apply(state: CampaignState, record: Record[CampaignEvent]) -> CampaignState:
    """Return the state after one more record.

    Raises:
        LogError: the record contradicts what happened before.
    """
    seconds = record.elapsed - state.proof_seconds
    if isinstance(record.event, ScriptProved):
        proving = seconds - state.spend.seconds
        state = replace(state, proof_seconds=state.proof_seconds + proving)
        seconds -= proving
    state = replace(state, spend=state.spend.model_copy(update={"seconds": seconds}))
    match record.event:
        case CampaignOpened(spec=spec):
            return replace(state, opened=spec, budget=spec.budget)
        case WorkPlanned(id=work_id, work=work):
            return replace(
                state,
                works=state.works.planned(work_id, work, state.spend.seconds),
                snapshot_index=state.snapshot_index.set(work_id, len(state.communities) - 1),
                fold_plan=None if _is_attempt(work) else state.fold_plan,
                finished_folds=() if _is_attempt(work) else state.finished_folds,
                flags=() if _is_attempt(work) else state.flags,
                judged=None if _is_attempt(work) else state.judged,
            )
        case WorkFinished(id=work_id, outcome=outcome):
            works = state.works.finished(work_id, outcome, state.spend.seconds)
            return replace(
                state,
                works=works,
                environment_index=state.environment_index.set(work_id, len(state.environments) - 1),
                spend=state.spend + outcome.spend.model_copy(update={"seconds": 0.0}),
                best=_better(works, state.best, work_id),
            )
        case AttemptRejected(id=work_id, reason=reason):
            return _without(state, work_id, reason)
        case ScriptProved(id=work_id) as proved:
            return replace(state, proofs=state.proofs.set(work_id, proved))
        case CampaignResumed(budget=budget, changes=changes):
            # After an end that is withdrawn, more attempts or folds may run, so the pick is repeated.
            if state.ended:
                state = replace(state, picked=None, fold_plan=None, finished_folds=())
            return replace(state, opened=state.spec.changed(changes), budget=budget, ended=None)
        case CampaignEnded() as ended:
            return replace(state, ended=ended)
        case other:
            return _with_result(state, other)


CAMPAIGN_LOG = LogSchema(CAMPAIGN_EVENTS, CampaignState(), _apply)


def _with_result(
    state: CampaignState,
    event: EnvironmentRead
    | SplitMade
    | CommunityRead
    | ErrorsCompared
    | SubmissionsFlagged
    | FoldsPlanned
    | FoldFinished
    | BlendJudged
    | FinalPicked,
) -> CampaignState:
    match event:
        case EnvironmentRead(environment=environment, reference_seconds=seconds):
            environments = (*state.environments, environment)
            return replace(state, environments=environments, reference_seconds=seconds)
        case SplitMade():
            return replace(state, split=event)
        case CommunityRead():
            return replace(state, communities=(*state.communities, event))
        case ErrorsCompared():
            return replace(state, compared=event, comparisons=state.comparisons + 1)
        case other:
            return _with_closing(state, other)


def _with_closing(
    state: CampaignState,
    event: SubmissionsFlagged | FoldsPlanned | FoldFinished | BlendJudged | FinalPicked,
) -> CampaignState:
    match event:
        case SubmissionsFlagged(flags=flags):
            return replace(state, flags=(*state.flags, *flags))
        case FoldsPlanned():
            return replace(state, fold_plan=event, finished_folds=())
        case FoldFinished():
            return replace(state, finished_folds=(*state.finished_folds, event))
        case BlendJudged():
            return replace(state, judged=event)
        case FinalPicked():
            return replace(state, picked=event, before_pick=len(state.works))


def _better(works: WorkItems, best: Best | None, work_id: str) -> Best | None:
    """Return the better of the best so far and a new outcome; ties go to the one planned first.

    So the best does not depend on which of two concurrent attempts finishes first.
    """
    if not _is_attempt(works[work_id].work):
        return best
    new = best_of(works.attempt(work_id))
    if new is None or new.better_than(best):
        return new or best
    earlier = best is not None and works.number(work_id) < works.number(best.work_id)
    return new if earlier and not (best and best.better_than(new)) else best


def best_of(attempt: Attempt) -> Best | None:
    """Return the score of an attempt with its submission; None without."""
    if attempt.score is None or attempt.submitted is None:
        return None
    return Best(attempt.id, attempt.score, attempt.submitted, attempt.rejected)


def _without(state: CampaignState, work_id: str, reason: str) -> CampaignState:
    """Return the state with a rejected attempt; folds, blend and pick are made again without it."""
    works = state.works.with_rejection(work_id, reason)
    first = works.best_first()[:1]
    return replace(
        state,
        works=works,
        best=best_of(first[0]) if first else None,
        fold_plan=None,
        finished_folds=(),
        judged=None,
        picked=None,
    )

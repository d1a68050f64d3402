"""What a campaign's events amount to."""

import math
from dataclasses import dataclass, replace

from immutables import Map

from comind.campaign.events import (
    CAMPAIGN_EVENTS,
    BlendJudged,
    CampaignEnded,
    CampaignEvent,
    CampaignOpened,
    CampaignResumed,
    CampaignSpec,
    CommunityRead,
    EnvironmentRead,
    ErrorsCompared,
    FinalPicked,
    FoldFinished,
    FoldsPlanned,
    ScriptProved,
    SplitMade,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.outcome import CodeOutcome, Outcome, Submitted
from comind.campaign.plan import CLOSING, Code, Think
from comind.campaign.works import Attempt, WorkItems
from comind.domain.environment import Environment
from comind.domain.metric import ValidationScore
from comind.domain.resources import Resources, resources_of
from comind.domain.spend import Budget, Spend, WorkBudget
from comind.errors import LogError
from comind.evaluation.blending.error_correlation import MOST_COMPARED
from comind.eventlog.log import Record
from comind.eventlog.store import LogSchema

__all__ = [
    "CAMPAIGN_LOG",
    "MOST_COMPARISONS",
    "MOST_FINALISTS",
    "MOST_FOLDS",
    "Best",
    "CampaignState",
    "apply",
]

MOST_COMPARISONS = 10
"""Tables of errors in one campaign (docs/security.md)."""
MOST_FINALISTS = 8
"""Attempts that run on the first fold, beside members of a blend."""
MOST_FOLDS = 4
"""Folds beside the split's own validation rows, where nobody says another number."""

_REFIT_FACTOR = 1.5  # of what the code took: more rows, and an interpreter of its own
_START_SECONDS = 15.0  # to open a session and to look through a submission
_FOLD_FACTOR, _FOLD_START_SECONDS = 1.2, 5.0  # the same number of rows, and an interpreter of its own
_KEPT_FINALISTS = 5  # time is kept back for so many on all folds; eight take less, as some are dropped
_UNDIVIDED = 1.5  # shares of an attempt: less than that goes to one attempt


@dataclass(frozen=True, slots=True)
class Best:
    """The best submission of finished attempts."""

    work_id: str
    score: ValidationScore
    submitted: Submitted


@dataclass(frozen=True, slots=True)
class CampaignState:
    """Everything that planning may look at; made by `apply` alone."""

    opened: CampaignSpec | None = None
    environments: tuple[Environment, ...] = ()
    """What the campaign ran in, one after another."""
    ran_in: Map[str, int] = Map()  # noqa: RUF009 - immutable, safe to share
    """By work, which of the environments it ended in."""
    proofs: Map[str, ScriptProved] = Map()  # noqa: RUF009 - immutable, safe to share
    """By attempt, what became of its script."""
    split: SplitMade | None = None
    communities: tuple[CommunityRead, ...] = ()
    """What was known of the community; more than one snapshot where it is followed over time."""
    knew: Map[str, int] = Map()  # noqa: RUF009 - immutable, safe to share
    """By work, which of the snapshots was the newest when it was planned."""
    budget: Budget = Budget()  # noqa: RUF009 - frozen, safe to share
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """Of finished work; `seconds` are the campaign's own."""
    works: WorkItems = WorkItems()  # noqa: RUF009 - frozen, safe to share
    best: Best | None = None
    """Of finished attempts; agents plan by it, so a blend never is."""
    fold_plan: FoldsPlanned | None = None
    """Who runs on further folds; since the last attempt was planned."""
    finished_folds: tuple[FoldFinished, ...] = ()
    """Who went on after each of these folds."""
    compared: ErrorsCompared | None = None
    """How far the errors of the best attempts went together when that was last asked."""
    comparisons: int = 0
    """How often it was."""
    judged: BlendJudged | None = None
    """What was said of a blend since the last attempt was planned."""
    picked: FinalPicked | None = None
    before_pick: int = 0
    """How many pieces of work had been planned when it was picked."""
    ended: CampaignEnded | None = None

    @property
    def spec(self) -> CampaignSpec:
        """What the user asked for.

        Raises:
            LogError: the campaign has no first event.
        """
        if self.opened is None:
            raise LogError("the campaign's log does not begin with its opening")
        return self.opened

    @property
    def community(self) -> CommunityRead | None:
        """The newest snapshot of the community, or None where none is read."""
        return self.communities[-1] if self.communities else None

    def known_to(self, work_id: str) -> tuple[CommunityRead, ...]:
        """Return the snapshots that a piece of work can draw on, its own first, then older ones."""
        newest = self.knew.get(work_id, len(self.communities) - 1)
        return self.communities[newest::-1] if newest >= 0 else ()

    def resources(self) -> Resources | None:
        """Return what an attempt that is planned now has to work with; None where nobody has looked."""
        return resources_of(self.environments[-1], self.spec.coders) if self.environments else None

    def environment_of(self, work_id: str) -> Environment | None:
        """Return what finished work ran in: the newest that has the toolbox it was planned for.

        None where that was not recorded.
        """
        number = self.ran_in.get(work_id, -1)
        known = self.environments[number::-1] if number >= 0 else ()
        given = self.works[work_id].work.resources
        fitting = (each for each in known if given is not None and each.toolbox == given.toolbox)
        return next(fitting, known[0] if known else None)

    def comparable(self) -> tuple[str, ...]:
        """Return the attempts whose errors are compared if that is asked now, the best first."""
        return tuple(each.id for each in self.works.best_first()[:MOST_COMPARED])

    def may_compare(self) -> bool:
        """Whether the planner may ask for a comparison: it is wanted, new, and not one too many.

        Each table tells something of the validation labels, so their number is bounded.
        """
        known, asked = self.compared, self.comparable()
        if not self.spec.ensemble or self.comparisons >= MOST_COMPARISONS or len(asked) <= 1:
            return False
        return known is None or (not known.reason and not set(asked) <= set(known.attempts))

    def refit(self) -> Attempt | None:
        """Return the finished, valid refit of the final pick, if there is one."""
        picked = self.picked.work_id if self.picked else None
        refits = (each for each in self.works.refits() if each.work.parents == (picked,))
        return next((each for each in refits if each.submitted), None)

    def chosen(self) -> Attempt | None:
        """Return the final pick, else the best attempt so far."""
        chosen = self.picked or self.best
        return self.works.attempt(chosen.work_id) if chosen else None

    def delivered(self) -> Attempt | None:
        """Return whose submission is the campaign's: the pick's or its refit's, else the best so far."""
        return self.refit() or self.chosen()

    def free_slots(self) -> int:
        """Return how many more attempts can run at once."""
        coding = sum(isinstance(record.work, Code) for record in self.works.in_flight())
        return max(0, self.spec.coders - coding)

    def seconds_left(self) -> float:
        """Return what is left of the campaign's time; infinite without a limit."""
        limit = self.budget.seconds
        return math.inf if limit is None else max(0.0, limit - self.spend.seconds)

    def closing_seconds(self) -> float:
        """Return the seconds that are kept back for folds, blend and refit of the best code so far.

        It is no more than a share of the campaign's time.
        """
        limit = self.budget.seconds
        if limit is None:
            return 0.0
        ending, finalists = self.ending_seconds(), min(_KEPT_FINALISTS, len(self.works.best_first()))
        folds = 0.0
        if self.most_folds() and finalists > 1 and self.best is not None:
            took = self._code_seconds(self.best.work_id)
            folds = self.most_folds() * self.fold_seconds(took, finalists)
        return min(self.budget.closing_time_share * limit, ending + folds)

    def ending_seconds(self, members: int = 1) -> float:
        """Return about how long a blend, and the refit of so many of the best programs, take."""
        if self.best is None:
            return 0.0
        best = [each.id for each in self.works.best_first()[:members]] if members > 1 else []
        took = math.fsum(map(self._code_seconds, best or [self.best.work_id]))
        refit = _REFIT_FACTOR * took + _START_SECONDS if self.spec.refit else 0.0
        return refit + (_START_SECONDS if self.spec.blend else 0.0)

    def most_folds(self) -> int:
        """Return on how many further folds finalists may run; none where the simplest is picked."""
        wanted = MOST_FOLDS if self.spec.folds == "auto" else self.spec.folds
        return wanted if self.spec.pick == "best" else 0

    def fold_seconds(self, took: float, finalists: int) -> float:
        """Return about how long a fold takes, for so many whose code took so many seconds at most."""
        return math.ceil(finalists / self.spec.coders) * (_FOLD_FACTOR * took + _FOLD_START_SECONDS)

    def _code_seconds(self, work_id: str) -> float:
        outcome = self.works.attempt(work_id).outcome
        return outcome.code_seconds if outcome is not None else 0.0

    def open_seconds(self) -> float:
        """Return the seconds that are left for new work; infinite without a limit."""
        return max(0.0, self.seconds_left() - self.closing_seconds())

    def work_budget(self, *, whole: bool = False) -> WorkBudget:
        """Return the limits of an attempt that is planned now.

        It gets no more than its share of the campaign's time, so that another round can build on it, and
        nothing of what is kept back; with `whole` all that is left, as nothing follows it.
        """
        left = self.seconds_left() if whole else self.open_seconds()
        seconds = min(self.spec.attempt_seconds, left)
        limit = self.budget.seconds
        if limit is not None and not whole and self.spec.iterations != 1:
            share = self.spec.round_share * limit
            seconds = min(seconds, share) if left > _UNDIVIDED * share else seconds
        return WorkBudget(
            seconds=max(1.0, seconds),
            steps=self.spec.steps,
            cell_seconds=max(1.0, min(self.spec.cell_seconds, seconds)),
        )

    def exhausted(self) -> str | None:
        """Return the name of the limit that is reached, or None."""
        if self.open_seconds() <= 0:
            return "time limit"
        tokens, usd = self.budget.open_tokens, self.budget.open_usd  # the rest is for what is under way
        if tokens is not None and self.spend.tokens >= tokens:
            return "token limit"
        if usd is not None and self.spend.usd >= usd > 0:
            return "dollar limit"
        return None

    def next_id(self, work: Think | Code) -> str:
        """Return the id of `work` if it is planned next."""
        name = _name_of(work)
        count = sum(_name_of(record.work) == name for record in self.works)
        return f"{name}-{count:03d}"


def _name_of(work: Think | Code) -> str:
    if isinstance(work, Think):
        return "think"
    return work.operator.value if work.operator in CLOSING else "attempt"


def _is_attempt(work: Think | Code) -> bool:
    return isinstance(work, Code) and work.operator not in CLOSING


def apply(state: CampaignState, record: Record[CampaignEvent]) -> CampaignState:
    """Return the state after one more record.

    Raises:
        LogError: the record contradicts what happened before.
    """
    state = replace(state, spend=state.spend.model_copy(update={"seconds": record.elapsed}))
    match record.event:
        case CampaignOpened(spec=spec):
            return replace(state, opened=spec, budget=spec.budget)
        case EnvironmentRead() | SplitMade() | CommunityRead() as found:
            return _with_given(state, found)
        case WorkPlanned(id=work_id, work=work):
            return replace(
                state,
                works=state.works.planned(work_id, work),
                knew=state.knew.set(work_id, len(state.communities) - 1),
                fold_plan=None if _is_attempt(work) else state.fold_plan,
                finished_folds=() if _is_attempt(work) else state.finished_folds,
                judged=None if _is_attempt(work) else state.judged,
            )
        case WorkFinished(id=work_id, outcome=outcome):
            return replace(
                state,
                works=state.works.finished(work_id, outcome),
                ran_in=state.ran_in.set(work_id, len(state.environments) - 1),
                spend=state.spend + outcome.spend.model_copy(update={"seconds": 0.0}),
                best=_better(state, work_id, outcome),
            )
        case (
            ErrorsCompared() | FoldsPlanned() | FoldFinished() | BlendJudged() | FinalPicked()
        ) as told:
            return _with_told(state, told)
        case ScriptProved(id=work_id) as proved:
            return replace(state, proofs=state.proofs.set(work_id, proved))
        case CampaignResumed(budget=budget):
            # With an end taken back, more attempts may follow, or there is time for folds now, and
            # another final pick.
            if state.ended:
                state = replace(state, picked=None, fold_plan=None, finished_folds=())
            return replace(state, budget=budget, ended=None)
        case CampaignEnded() as ended:
            return replace(state, ended=ended)


CAMPAIGN_LOG = LogSchema(CAMPAIGN_EVENTS, CampaignState(), apply)


def _with_given(
    state: CampaignState, found: EnvironmentRead | SplitMade | CommunityRead
) -> CampaignState:
    match found:
        case EnvironmentRead(environment=environment):
            return replace(state, environments=(*state.environments, environment))
        case SplitMade():
            return replace(state, split=found)
        case CommunityRead():
            return replace(state, communities=(*state.communities, found))


def _with_told(
    state: CampaignState,
    told: ErrorsCompared | FoldsPlanned | FoldFinished | BlendJudged | FinalPicked,
) -> CampaignState:
    match told:
        case ErrorsCompared():
            return replace(state, compared=told, comparisons=state.comparisons + 1)
        case FoldsPlanned():
            return replace(state, fold_plan=told, finished_folds=())
        case FoldFinished():
            return replace(state, finished_folds=(*state.finished_folds, told))
        case BlendJudged():
            return replace(state, judged=told)
        case FinalPicked():
            return replace(state, picked=told, before_pick=len(state.works))


def _better(state: CampaignState, work_id: str, outcome: Outcome) -> Best | None:
    """Return the better of the best so far and a new outcome; among equals the one planned first.

    So the best does not depend on which of two parallel attempts happens to finish first.
    """
    best, work = state.best, state.works[work_id].work
    if not isinstance(outcome, CodeOutcome) or outcome.score is None or outcome.submitted is None:
        return best
    if not _is_attempt(work):
        return best
    new = Best(work_id, outcome.score, outcome.submitted)
    if best is None or new.score.value.better_than(best.score.value):
        return new
    earlier = state.works.number(work_id) < state.works.number(best.work_id)
    return new if earlier and not best.score.value.better_than(new.score.value) else best

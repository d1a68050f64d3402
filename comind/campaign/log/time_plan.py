"""Divide a campaign's time: what is left, what is reserved for its end, what an attempt gets."""

import math
from dataclasses import dataclass
from statistics import median

from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.refit_gain import not_worth_it
from comind.campaign.log.sample_steps import takes_long
from comind.campaign.log.solutions_read import refit_order
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_items import WorkItems
from comind.domain.spend import Budget, WorkBudget

_MOST_FOLDS = 4  # the default, besides the split's own validation rows
_REFIT_FACTOR = 1.5  # of the code's running time: more rows, and a new interpreter
_START_SECONDS = 15.0  # to open a session and to check a submission
_FOLD_FACTOR, _FOLD_START_SECONDS = 1.2, 5.0  # the same number of rows, and a new interpreter
_LEAST_FINALISTS, _LEAST_MEMBERS = 2, 2  # of a fold and of a blend
_RESERVED_FINALISTS = 5  # eight need no more time than five on all folds, as some are eliminated
_UNDIVIDED = 1.5  # less than so many shares of the time are given to one attempt
_LEAST_SECONDS = 60.0  # of an attempt, before any step was timed
_LEAST_STEPS = 2  # of an attempt, the second of which may be scored
_LEAST_SHARE = 0.1  # of the campaign's time; the most that is required to start an attempt


@dataclass(frozen=True, slots=True)
class TimePlan:
    """A campaign's time as of now: a function of what its log holds, so a replay plans the same."""

    spec: CampaignSpec
    budget: Budget
    spent: float
    """Seconds."""
    works: WorkItems
    at_once: int
    """The most attempts that run at the same time."""
    split: SplitMade | None = None
    best: str = ""
    """The best attempt; empty without one."""

    def left(self) -> float:
        """Return the rest of the campaign's time in seconds; infinite without a limit."""
        limit = self.budget.seconds
        return math.inf if limit is None else max(0.0, limit - self.spent)

    def open_seconds(self) -> float:
        """Return the seconds left for new attempts; infinite without a limit."""
        return max(0.0, self.left() - self.closing_seconds())

    def closing_seconds(self) -> float:
        """Return seconds of folds, blend and refit, by the best code: `closing_time_share` at most.

        Nothing is kept for what does not fit in: the refit of two blended programs, or of one, and one
        fold of two finalists.
        """
        limit = self.budget.seconds
        if limit is None:
            return 0.0
        most = self.budget.closing_time_share * limit
        ending = self.ending_seconds(_LEAST_MEMBERS if self.spec.blend else 1, within=most)
        folds, finalists = 0.0, min(_RESERVED_FINALISTS, len(self.works.best_first()))
        if self.most_folds() and finalists > 1 and self.best:
            took = self.code_seconds(self.best)
            if ending + self.fold_seconds(took, _LEAST_FINALISTS) <= most:
                folds = self.most_folds() * self.fold_seconds(took, finalists)
        return min(most, ending + folds)

    def ending_seconds(self, members: int = 1, *, within: float | None = None) -> float:
        """Estimate the seconds for a blend and the refit of the `members` best programs.

        For as many of these as can be refitted `within` so many seconds, else in the time left: no time
        is kept for a refit that does not fit in, or that `no_refit` has a reason against.
        """
        if not self.best:
            return 0.0
        blend = _START_SECONDS if self.spec.blend else 0.0
        most = (self.left() if within is None else within) - blend
        ranked = self.works.best_first()[:members] if members > 1 else []
        names = [each.id for each in ranked] or [self.best]
        for count in range(len(names), 0, -1) if self.spec.refit else ():
            runs = refit_order(self.works, *names[:count])
            took = math.fsum(map(self.code_seconds, runs))
            refit = self.refit_seconds(took) + _START_SECONDS
            if refit <= most and not self.no_refit(names[0], took):
                return refit + blend
        return blend

    def refit_seconds(self, took: float) -> float:
        """Return the most that a refit of code is expected to run that took so many seconds before."""
        return _REFIT_FACTOR * took

    def no_refit(self, work_id: str, took: float) -> str:
        """Return why an attempt is not refitted; empty if it is.

        `took` are the seconds of its code, and of that of what is refitted before it.
        """
        needed, left = self.refit_seconds(took), self.left()
        if left < needed:
            return f"it takes about {needed:.0f} s, and {left:.0f} s are left"
        return not_worth_it(
            self.works.attempt(work_id).score,
            self.split.train_rows if self.split else 0,
            self.split.validation_rows if self.split else 0,
            seconds=needed,
            limit=self.budget.seconds or math.inf,
        )

    def most_folds(self) -> int:
        """Return the largest number of further folds; 0 under the rule `simplest`."""
        wanted = _MOST_FOLDS if self.spec.folds == "auto" else self.spec.folds
        return wanted if self.spec.pick == "best" else 0

    def fold_seconds(self, took: float, finalists: int) -> float:
        """Estimate the seconds for one fold of `finalists` attempts of at most `took` seconds each."""
        return math.ceil(finalists / self.at_once) * (_FOLD_FACTOR * took + _FOLD_START_SECONDS)

    def work_budget(self, *, whole: bool = False, waves: int = 1) -> WorkBudget:
        """Return the limits of an attempt planned now.

        A round gets at most `round_share` of the campaign's time, so that another one can build on it,
        and nothing of what is reserved. Where an agent plans rounds whose attempts run in `waves` one
        after another, each gets its part of the share. Below one and a half such parts all that is left
        is one attempt's; with `whole` also what is reserved, as nothing follows it.
        """
        left = self.left() if whole else self.open_seconds()
        seconds = min(self.spec.attempt_seconds, left)
        limit = self.budget.seconds
        if limit is not None and not whole:
            share = (1 if self.spec.iterations == 1 else self.spec.round_share) * limit / waves
            seconds = min(seconds, share) if left > _UNDIVIDED * share else seconds
        return WorkBudget(
            seconds=max(1.0, seconds),
            steps=self.spec.steps,
            cell_seconds=max(1.0, min(self.spec.cell_seconds, seconds)),
        )

    def sample_first(self, work: Code) -> bool:
        """Return whether an attempt is told of the sample: one full run is expected to take long.

        Expected is what the program took that it starts from, else the scored cell of the best one.
        """
        took = work.draft.codebase_seconds
        if took is None:
            outcome = self.works.attempt(self.best).outcome if self.best else None
            took = outcome.timing.seconds if outcome is not None and outcome.timing is not None else 0.0
        rows = self.split.sample_rows if self.split else 0
        return rows > 0 and takes_long(took, work.budget.seconds)

    def shortage(self, work: Think | Code) -> str:
        """Return why there is no time for `work`, in one line; empty if there is.

        An attempt needs the time of its first scored step, a thought also that of the round's others.
        """
        left = self.open_seconds()
        if math.isinf(left) or (isinstance(work, Code) and work.is_platform_work):
            return ""
        needed = self._first_score_seconds()
        if isinstance(work, Think):
            needed += self._thinking_seconds()
        if left >= needed:
            return ""
        return (
            f"{left:.0f} s are left beside what the closing phase needs, and about {needed:.0f} s pass "
            "until a new attempt is scored"
        )

    def _first_score_seconds(self) -> float:
        """Estimate the seconds until an attempt is scored, by the attempts that have ended.

        That are its first steps or, where that is less, a reply and a run of the best program.
        """
        ended = [
            attempt.outcome
            for attempt in self.works.attempts()
            if attempt.outcome is not None
            and attempt.outcome.steps
            and not attempt.work.is_platform_work
        ]
        steps = [each.spend.seconds / each.steps for each in ended]
        usual = _LEAST_STEPS * median(steps) if steps else _LEAST_SECONDS
        usual = min(usual, _LEAST_SHARE * (self.budget.seconds or math.inf))
        replies = [each.spend.model_seconds / each.spend.calls for each in ended if each.spend.calls]
        if not replies or not self.best:
            return usual
        return min(usual, median(replies) + self.code_seconds(self.best))

    def _thinking_seconds(self) -> float:
        """Estimate the seconds of thinking that remain before an attempt, by earlier rounds."""
        *rounds, begun = self._seconds_of_thoughts()
        return max(0.0, median(rounds) - begun) if rounds else 0.0

    def _seconds_of_thoughts(self) -> list[float]:
        """Return the time in which thoughts ran before each group of attempts, and since the last one.

        What runs side by side is counted once.
        """
        rounds, until = [0.0], 0.0
        for record in self.works:
            if isinstance(record.work, Code):
                rounds += [0.0] if rounds[-1] else []
            elif record.finished_at is not None and not record.work.beside:
                rounds[-1] += max(0.0, record.finished_at - max(record.planned_at, until))
                until = max(until, record.finished_at)
        return rounds

    def code_seconds(self, work_id: str) -> float:
        """Return the running time of an attempt's program; of a blend that of its members."""
        attempt = self.works.attempt(work_id)
        blend, outcome = attempt.work.blend, attempt.outcome
        ran = outcome.code_seconds if outcome is not None else 0.0
        return max(ran, blend.seconds if blend is not None else 0.0)

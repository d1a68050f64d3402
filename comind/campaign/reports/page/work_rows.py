"""List attempts as a tree by parent, closing work and thoughts, each with its details."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Outcome
from comind.campaign.log.work import Think
from comind.campaign.log.work_items import Attempt, WorkRecord
from comind.campaign.log.work_state import AttemptState
from comind.campaign.reports.page.long_texts import LongText, LongTexts
from comind.campaign.reports.page.provenance_rows import Link, Provenance
from comind.campaign.reports.page.score_chart import digits, duration
from comind.campaign.reports.page.work_details import (
    CallShown,
    CellShown,
    Conversations,
    Scripts,
    ScriptShown,
)
from comind.domain.draft import Operator
from comind.domain.metric import ValidationScore
from comind.domain.spend import Spend
from comind.domain.value import one_line

_LINE = 300
_MOST_DEPTH = 8  # of indentation


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One piece of work: a line of the tree, and its details."""

    id: str
    depth: int
    operator: str
    """Of an attempt, or the purpose of a thought."""
    title: str
    score: str
    interval: str
    out_of_fold: str
    failure: str
    failure_cause: str
    marks: tuple[str, ...]
    """`final pick` and `best`, `running`."""
    seconds: str
    usd: str
    tokens: str
    strategy: str
    """Its role among the drafts of its round."""
    parents: tuple[Link, ...]
    sources: tuple[Link, ...]
    method: LongText | None
    report: LongText | None
    steps: Sequence[CallShown | CellShown]
    script: ScriptShown | None

    @property
    def cells(self) -> int:
        """Number of cells that were started."""
        return sum(not each.is_call for each in self.steps)

    @property
    def calls(self) -> int:
        """Number of model calls."""
        return sum(each.is_call for each in self.steps)


class WorkRows:
    """Makes the rows of a campaign's work."""

    def __init__(
        self,
        state: CampaignState,
        folder: CampaignFolder,
        works: Mapping[str, AttemptState],
        provenance: Provenance,
        texts: LongTexts,
    ) -> None:
        """Read messages and scripts in `folder`; `works` are the states of all work with a log."""
        self._state = state
        self._folder = folder
        self._works = works
        self._provenance = provenance
        self._texts = texts
        self._conversations = Conversations(texts)
        self._scripts = Scripts(folder, state.works, texts)

    def tree(self) -> list[WorkRow]:
        """Return attempts and blends, each below its first parent."""
        return [self._attempt_row(each, depth) for each, depth in _by_parent(self._state)]

    def closing(self) -> list[WorkRow]:
        """Return the fold runs and the refit, in the order of planning."""
        found = self._state.works.codes(Operator.FOLD, Operator.REFIT)
        return [self._attempt_row(each, 0) for each in found]

    def thoughts(self) -> list[WorkRow]:
        """Return the thoughts, in the order of planning."""
        return [
            self._thought_row(each, each.work)
            for each in self._state.works
            if isinstance(each.work, Think)
        ]

    def _attempt_row(self, attempt: Attempt, depth: int) -> WorkRow:
        work, outcome, score = attempt.work, attempt.outcome, attempt.score
        folds = outcome.out_of_fold if outcome is not None else None
        operator = f"fold {work.fold}" if work.fold else work.operator.value
        return WorkRow(
            id=attempt.id,
            depth=min(depth, _MOST_DEPTH),
            operator=operator,
            title=one_line(attempt.title, _LINE),
            score=digits(score.value.value) if score is not None else "",
            interval=_interval(score) if score is not None else "",
            out_of_fold=str(folds) if folds is not None else "",
            marks=self._marks(attempt),
            strategy=one_line(work.draft.strategy, _LINE),
            parents=tuple(map(self._provenance.work, work.parents)),
            sources=self._provenance.sources_of(attempt),
            method=self._texts.add(work.draft.method) if work.draft.method else None,
            report=self._texts.add(outcome.report) if outcome is not None and outcome.report else None,
            steps=self._steps(attempt.id),
            script=self._scripts.of(attempt),
            **self._common(attempt.id, outcome, attempt.rejected),
        )

    def _thought_row(self, record: WorkRecord, work: Think) -> WorkRow:
        return WorkRow(
            id=record.id,
            depth=0,
            operator=one_line(work.purpose, _LINE),
            title="",
            score="",
            interval="",
            out_of_fold="",
            marks=("running",) if record.in_flight else (),
            strategy="",
            parents=(),
            sources=(),
            method=None,
            report=None,
            steps=self._steps(record.id),
            script=None,
            **self._common(record.id, record.outcome),
        )

    def _common(self, work_id: str, outcome: Outcome | None, rejected: str = "") -> dict[str, str]:
        ran = self._works.get(work_id)
        spend = outcome.spend if outcome is not None else ran.spend if ran is not None else Spend()
        failure = outcome.failure if outcome is not None else None
        cause, message = ("rejected", f"by {rejected}") if rejected else ("", "")
        if failure is not None:
            cause, message = failure.cause.value, failure.message
        return {
            "failure": one_line(message, 2 * _LINE),
            "failure_cause": cause,
            "seconds": duration(spend.seconds),
            "usd": f"${spend.usd:.4f}" if spend.usd else "",
            "tokens": f"{spend.tokens:,}" if spend.tokens else "",
        }

    def _steps(self, work_id: str) -> list[CallShown | CellShown]:
        ran = self._works.get(work_id)
        return self._conversations.of(work_id, self._folder.work(work_id), ran) if ran else []

    def _marks(self, attempt: Attempt) -> tuple[str, ...]:
        picked, best = self._state.picked, self._state.best
        found = ["final pick"] if picked is not None and picked.work_id == attempt.id else []
        found += ["best attempt"] if best is not None and best.work_id == attempt.id else []
        found += ["running"] if attempt.outcome is None else []
        found += ["rejected"] if attempt.rejected else []
        return tuple(found)


def _interval(score: ValidationScore) -> str:
    return f"{digits(score.interval.low)} to {digits(score.interval.high)}"


def _by_parent(state: CampaignState) -> Iterator[tuple[Attempt, int]]:
    """Yield attempts and blends with their depth, each after its first parent."""
    known, children = set(), defaultdict(list)
    for attempt in state.works.rankable():
        parents = [parent for parent in attempt.work.parents if parent in known]
        children[parents[0] if parents else ""].append(attempt)
        known.add(attempt.id)
    waiting = [(attempt, 0) for attempt in reversed(children[""])]
    while waiting:
        attempt, depth = waiting.pop()
        yield attempt, depth
        waiting += [(child, depth + 1) for child in reversed(children[attempt.id])]

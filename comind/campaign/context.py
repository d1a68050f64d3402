"""What an agent may do while it carries out work; every effect goes through the recorder."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from comind.campaign.attempt import (
    CellEnded,
    CellStarted,
    Graded,
    Neighbour,
    SessionOpened,
    SubmissionNames,
    WrittenFile,
)
from comind.campaign.folder import WorkFolder
from comind.campaign.handin import HandIn
from comind.campaign.history import AttemptState
from comind.campaign.monitor import Monitor
from comind.campaign.outcome import Submitted
from comind.campaign.plan import Code
from comind.campaign.ranking import rank
from comind.campaign.recorder import Recorder, cell_identity, grading_identity
from comind.campaign.signals import DeadlineExceeded
from comind.campaign.written import files_in, written_since
from comind.domain.draft import Operator
from comind.domain.metric import Paired
from comind.domain.resources import Resources
from comind.errors import GraderError
from comind.evaluation.grader_port import Grader, GradeReport
from comind.llm.base import ChatModel, Embedder
from comind.llm.exchange import Answer, Prompt, ask
from comind.llm.limits import reply_share
from comind.session.base import CellResult, CellStatus, Session
from comind.system.failpoints import failpoint

__all__ = ["CodeContext", "Models", "Neighbours", "Ports", "Step", "ThinkContext"]

T = TypeVar("T", bound=BaseModel)

Neighbours = Callable[[], tuple[Neighbour, ...]]
"""Tells how far the other attempts of the campaign have come, the best first."""

_MOST_UPDATES = 3  # on other attempts, with one step


class Models(NamedTuple):
    """What agents may ask, already metered."""

    chat: ChatModel
    """Recorded, too."""
    embedder: Embedder | None = None


class ThinkContext:
    """Model calls, recorded; enough for a `Think`."""

    def __init__(self, recorder: Recorder, models: Models, resources: Resources | None = None) -> None:
        self._recorder = recorder
        self._models = models
        self.resources = resources
        """What attempts have to work with, as of when this work was planned; None in old logs."""

    @property
    def state(self) -> AttemptState:
        """What has happened so far; the same during a replay as it was then."""
        return self._recorder.state

    @property
    def context_tokens(self) -> int:
        """How much the model reads, prompt and reply together."""
        return self._models.chat.context_tokens

    def reply_tokens(self, asked: int) -> int:
        """Return how many tokens a reply may have, thoughts aside, where so many are asked for.

        A user's limit goes first, be it more or less; nothing goes beyond a share of the context.
        """
        chat = self._models.chat
        return min(chat.reply_tokens or asked, reply_share(chat.context_tokens))

    def ask(self, prompt: Prompt, reply_type: type[T]) -> Answer[T]:
        """Return the model's reply as a `reply_type`, with its text.

        Raises:
            ReplyError: the replies did not have the promised form, after the stated retries.
            ModelServiceError: the endpoint is unreachable or refuses.
        """
        return ask(self._models.chat, prompt, reply_type)

    def rank(self, query: str, texts: Sequence[str], *, top: int) -> tuple[int, ...]:
        """Return the indices of the texts nearest to a query, the nearest first.

        By the embedding model of the role `embeddings`; by BM25 where there is none, where it fails for
        good, and where the budget does not allow it. Ties go by index. Blank texts come last; for a
        blank query the rest stays in order.

        Raises:
            DeadlineExceeded: the endpoint is not well before the work's time is over.
            ModelServiceError: the endpoint is unreachable.
        """
        return rank(self._recorder, self._models.embedder, query, texts, top=top)


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one cell."""

    code: str
    result: CellResult
    files: tuple[WrittenFile, ...] = ()
    """What it wrote, the newest last."""
    report: GradeReport | None = None
    """The verdict on the submissions that the step handed in."""
    gain: Paired | None = None
    """How much better it is than the attempt's best score before it, on the same rows."""
    refused: str = ""
    """Why the files it named could not be taken in."""
    neighbours: tuple[Neighbour, ...] = ()
    """Other attempts of which something is new; told with steps that failed or handed something in."""
    out_of_fold: GradeReport | None = None
    """The verdict on its predictions for rows of train.csv; None where it handed in none."""
    followed: bool | None = None
    """Whether it is the attempt's pick now, as it was nominated; None where it was not."""


class Ports(NamedTuple):
    """What a workbench reaches beside its models."""

    open_session: Callable[[], Session]
    grader: Grader
    monitor: Monitor | None = None
    """Watches the cells, but not those that only bring a new session back."""
    neighbours: Neighbours = tuple


class CodeContext(ThinkContext):
    """A session, a grader and a clock besides the model; what a `Code` needs."""

    def __init__(
        self,
        work: Code,
        folder: WorkFolder,
        recorder: Recorder,
        models: Models,
        ports: Ports,
    ) -> None:
        """Set up the bench of an attempt; no session is opened before the first live cell."""
        super().__init__(recorder, models, work.resources)
        self.work = work
        self._folder = folder
        self._open_session, self._grader, self._monitor, self._neighbours = ports
        self._told: dict[str, Neighbour] = {}
        self._session: Session | None = None

    @property
    def steps_left(self) -> int:
        """Cells that may still be run."""
        return self.work.budget.steps - self.state.steps

    @property
    def seconds_left(self) -> float:
        """Seconds of the attempt that are left, as of the last effect."""
        return self.work.budget.seconds - self.state.spend.seconds

    def run(
        self, goal: str, code: str, *, seconds: float = math.inf, scratch: bool = False
    ) -> CellResult:
        """Run one cell that hands nothing in, whatever it writes, for so many seconds at most.

        With `scratch` nothing that follows needs what it leaves behind, so that no script has it.

        Raises:
            DeadlineExceeded: the attempt's seconds are used up.
            SandboxError: no session can be had.
        """
        ended = self._run_cell(goal, code, None, hands_in=False, most_seconds=seconds, scratch=scratch)
        return ended.result

    def step(self, goal: str, code: str, submission: SubmissionNames | None = None) -> Step:
        """Run one cell, take in the two submissions that it wrote, if any, and have them graded.

        Submissions are looked for under their usual names, or under those in `submission`; that a
        named one was not written is told. What `HandIn` takes in with them is told of, too.

        Raises:
            DeadlineExceeded: the attempt's seconds are used up.
            SandboxError: no session can be had.
            GraderError: the grader is gone.
        """
        ended = self._run_cell(goal, code, submission, hands_in=True)
        step = Step(code, ended.result, ended.files, refused=ended.refused, neighbours=ended.neighbours)
        if ended.submitted is None:
            return step
        graded = self._grade(ended.submitted)
        out_of_fold = graded.out_of_fold
        if ended.refused:
            out_of_fold = GradeReport(valid=False, message=ended.refused)
        return replace(
            step,
            refused="",
            report=graded.report,
            gain=graded.gain,
            out_of_fold=out_of_fold,
            followed=self.state.best == ended.submitted if ended.submitted.nominated else None,
        )

    def close(self) -> None:
        """End the session, if one was opened."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _run_cell(
        self,
        goal: str,
        code: str,
        submission: SubmissionNames | None,
        *,
        hands_in: bool,
        most_seconds: float = math.inf,
        scratch: bool = False,
    ) -> CellEnded:
        ordinal = self._recorder.next_ordinal()
        number = self.state.steps + 1
        started = CellStarted(
            ordinal=ordinal, step=number, goal=goal, code=code, submission=submission, scratch=scratch
        )

        def run() -> CellEnded:
            session = self._live_session()
            allowed = min(self.work.budget.cell_seconds, most_seconds)
            seconds = min(allowed, self._live_seconds_left())
            hand_in = HandIn(session.workspace, submission)
            before = files_in(session.workspace)
            watch = self._monitor(goal, code, seconds) if self._monitor is not None else None
            result = session.run(code, seconds=seconds, watch=watch)
            if watch is not None:
                watch.close()
            submitted, refused, failed = None, "", result.status is not CellStatus.OK
            if hands_in and result.status in (CellStatus.OK, CellStatus.ERROR):
                submitted, refused = hand_in.collect(self._folder, number)
            if submitted is None and failed:
                refused = ""  # what went wrong with the cell says more
            return CellEnded(
                ordinal=ordinal,
                result=result,
                submitted=submitted,
                refused=refused,
                files=written_since(before, files_in(session.workspace)),
                neighbours=self._updates() if hands_in and (submitted or failed) else (),
            )

        ended = self._recorder.effect(started, CellEnded, cell_identity(code), run)
        self._told |= {each.id: each for each in ended.neighbours}
        failpoint("cell-recorded")
        return ended

    def _updates(self) -> tuple[Neighbour, ...]:
        """Return the neighbours that have changed since this attempt was told of them."""
        changed = [each for each in self._neighbours() if self._told.get(each.id) != each]
        return tuple(changed[:_MOST_UPDATES])

    def _live_seconds_left(self) -> float:
        left = self.work.budget.seconds - self._recorder.elapsed
        if left <= 0:
            raise DeadlineExceeded(f"the attempt's {self.work.budget.seconds:.0f} seconds are used up")
        return left

    def _grade(self, submitted: Submitted) -> Graded:
        ordinal, before = self._recorder.next_ordinal(), self.state

        def grade() -> Graded:
            test = self._folder.test_submission(submitted.step)
            if self.work.operator is Operator.REFIT:
                report = self._grader.check(test)  # it has learnt from the validation rows
                return Graded(ordinal=ordinal, submitted=submitted, report=report)
            report = self._grader.grade(self._folder.validation_submission(submitted.step), test)
            gain = nominee = None
            if report.score is not None and before.leader is not None:
                gain = self._compare(submitted, before.leader)
                leads = before.leader_score is None or before.leader_score.value < report.score.value
                if leads and before.nominated and before.best is not None:
                    nominee = self._compare(before.best, submitted)
            return Graded(
                ordinal=ordinal,
                submitted=submitted,
                report=report,
                gain=gain,
                out_of_fold=self._out_of_fold(submitted),
                nominee=nominee,
            )

        graded = self._recorder.effect(None, Graded, grading_identity(submitted), grade)
        failpoint("grade-recorded")
        return graded

    def _compare(self, one: Submitted, other: Submitted) -> Paired:
        validation = self._folder.validation_submission
        return self._grader.compare(validation(one.step), validation(other.step))

    def _out_of_fold(self, submitted: Submitted) -> GradeReport | None:
        """Return the verdict on a step's out-of-fold predictions; a fault with them is one, too."""
        if not submitted.out_of_fold_sha256:
            return None
        try:
            return self._grader.out_of_fold(self._folder.out_of_fold(submitted.step))
        except GraderError as error:
            return GradeReport(valid=False, message=str(error))

    def _live_session(self) -> Session:
        if self._session is None:
            self._session = self._open_session()
            begun = time.monotonic()
            cells = self.state.replayable()
            for cell in cells:
                took = cell.result.seconds if cell.result else 0.0
                allowed = min(max(60.0, 3 * took), self._live_seconds_left())
                self._session.run(cell.code, seconds=allowed)
            self._recorder.note(
                SessionOpened(
                    sandbox=self._session.sandbox,
                    sealed=self._session.sealed,
                    replayed_cells=len(cells),
                    replayed_seconds=round(time.monotonic() - begun, 3) if cells else 0.0,
                    threads=self._session.threads,
                )
            )
        return self._session

"""Contexts through which agents call models, run cells and have submissions graded, all recorded."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import DeadlineExceeded, HandedIn, SamplePredictions, Submitted
from comind.campaign.log.sample_steps import uses_sample
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    CellEnded,
    CellStarted,
    Graded,
    NodeLost,
    PictureShown,
    SessionAwaited,
    SessionOpened,
    SubmissionNames,
)
from comind.campaign.log.work_state import AttemptState
from comind.campaign.work.cell_outputs import list_files, written_since
from comind.campaign.work.endpoint import ModelEndpoint
from comind.campaign.work.hand_in import Collector
from comind.campaign.work.neighbours import NeighbourNews
from comind.campaign.work.pictures import show_picture
from comind.campaign.work.ports import Models, Ports
from comind.campaign.work.recorder import Recorder
from comind.campaign.work.sample_grading import grade_on_sample
from comind.campaign.work.step import Step
from comind.campaign.work.text_ranking import rank
from comind.domain.draft import Operator
from comind.domain.metric import Paired
from comind.errors import NodeLostError, SubmissionError
from comind.llm.context_window import max_reply_tokens
from comind.llm.exchange import Answer, ask
from comind.llm.model_ports import ModelRequest
from comind.session.session_ports import CellResult, CellStatus, Session, Watch
from comind.system.failpoints import failpoint

__all__ = ["CodeContext", "ThinkContext"]

T = TypeVar("T", bound=BaseModel)

_MOST_LOSSES = 3  # of nodes by one cell, which may be the reason


class ThinkContext:
    """Context of a `Think`: recorded model calls."""

    def __init__(self, recorder: Recorder, models: Models, work: Think | Code) -> None:
        self._recorder, self._models = recorder, models
        self.resources, self.measured = work.resources, work.measured
        """Compute and packages of attempts, and the facts measured, as of when this work was planned."""
        self.context_tokens = models.chat.context_tokens
        """Context window of the model in tokens, prompt and reply together."""
        self.takes_images = models.chat.takes_images
        """Whether the model takes images, which messages of users may have beside their text."""

    @property
    def state(self) -> AttemptState:
        """The state so far; a replay sees the same state at the same point."""
        return self._recorder.state

    def reply_tokens(self, asked: int) -> int:
        """Return the token limit for a reply of `asked` tokens, reasoning tokens not counted.

        A limit set by the user takes precedence, larger or smaller, up to a share of the context window.
        """
        chat = self._models.chat
        return min(chat.reply_tokens or asked, max_reply_tokens(chat.context_tokens))

    def ask(self, prompt: ModelRequest, reply_type: type[T]) -> Answer[T]:
        """Return the model's completion parsed as a `reply_type`, with its text.

        Raises:
            ReplyError: the replies do not match the schema, after the prompt's retries.
            ModelServiceError: the endpoint is unreachable or refuses.
        """
        return ask(self._models.chat, prompt, reply_type)

    def rank(self, query: str, texts: Sequence[str], *, top: int) -> tuple[int, ...]:
        """Return the indices of the `top` texts nearest to `query`, nearest first.

        Uses the embedding model of the role `embeddings`; falls back to BM25 if there is none, if it
        fails permanently, or if the budget does not allow it. Ties go by index. Blank texts come last;
        for a blank query the order stays.

        Raises:
            DeadlineExceeded: the endpoint does not recover before the work's deadline.
            ModelServiceError: the endpoint is unreachable.
        """
        return rank(self._recorder, self._models.embedder, query, texts, top=top)


class CodeContext(ThinkContext):
    """Context of a `Code`: model calls, a session with a deadline, and a grader."""

    def __init__(
        self, work: Code, folder: WorkFolder, recorder: Recorder, models: Models, ports: Ports
    ) -> None:
        """Set up the context of an attempt; the session opens with the first cell not replayed."""
        super().__init__(recorder, models, work)
        self.work = work
        self._folder = folder
        self._open_session, self._grader, self._monitor = ports[:3]
        self._neighbours = NeighbourNews(ports.neighbours)
        evaluations, self._endpoint, self.hand_in = ports.evaluations, ports.endpoint, ports.hand_in
        self._evaluation = evaluations.place() if evaluations is not None else None
        self._session: Session | None = None
        if self._endpoint is not None:
            self._endpoint.make_folder()

    @property
    def steps_left(self) -> int:
        """Number of cells that may still be run; none after the last evaluation of the campaign."""
        return 0 if self.state.evaluations_over else self.work.budget.steps - self.state.steps

    @property
    def seconds_left(self) -> float:
        """Seconds until the attempt's deadline, as of the last recorded effect."""
        return self.work.budget.seconds + self.state.waited - self.state.spend.seconds

    def run(
        self,
        goal: str,
        code: str,
        *,
        seconds: float = math.inf,
        scratch: bool = False,
    ) -> CellResult:
        """Run one cell without collecting submissions, with a timeout of `seconds`.

        With `scratch` nothing later depends on it, so scripts and session replays leave it out.

        Raises:
            DeadlineExceeded: the attempt's deadline has passed.
            SandboxError: no session can be opened.
        """
        ended = self._run_cell(goal, code, None, submits=False, timeout=seconds, scratch=scratch)
        return ended.result

    def run_program(self, goal: str, code: str, *, reserved: float) -> CellResult:
        """Run one cell whose programs may call the model; `reserved` seconds of the attempt are left.

        Of agents with `serves_model`. The folder `input/endpoint` has the socket `model.sock` of an
        OpenAI-compatible server, and `seconds` with the cell's timeout. No monitor watches the cell.

        Raises:
            DeadlineExceeded: no more than `reserved` seconds are left.
            ModelServiceError: the model refuses; the cell was stopped, and runs again on resume.
            SandboxError: no session can be opened.
        """
        served = self._endpoint
        assert served is not None, "the agent serves no model"
        ended = self._run_cell(goal, code, None, submits=False, served=served, reserved=reserved)
        return ended.result

    def step(
        self,
        goal: str,
        code: str,
        submission: SubmissionNames | None = None,
        *,
        rejected: str = "",
        seconds: float = math.inf,
        scratch: bool = False,
    ) -> Step:
        """Run one cell, collect the pair of submissions that it wrote, if any, and have it graded.

        `submission` names the files if they are not the default ones; a missing named file is reported
        in `Step.refused`. Files beside the pair and a nomination are collected with it.
        `rejected` says by whom and why the agent rejects the code, such as `the checker: labels leak`:
        its score is known, but it is not picked, blended or delivered while another step has one.
        `seconds` is the cell's timeout. With `scratch` no later cell depends on it.

        Raises:
            BudgetExceeded: the campaign's evaluations are used up.
            DeadlineExceeded: the attempt's deadline has passed.
            SandboxError: no session can be opened.
            GraderError: the grader is gone.
        """
        marks: dict[str, Any] = {"rejected": rejected, "scratch": scratch}
        ended = self._run_cell(goal, code, submission, submits=True, timeout=seconds, **marks)
        step = Step(code, ended.result, ended.files, refused=ended.refused, rejected=rejected)
        step = replace(step, neighbours=ended.neighbours, missing=self.hand_in.missing)
        step = replace(step, uses_sample=ended.uses_sample)
        if ended.sample is not None:
            given = self._recorder, self._grader, self._folder, self._evaluation
            return replace(step, sample=grade_on_sample(ended.sample, *given, self._live_seconds_left))
        if ended.submitted is None:
            return step
        graded = self._grade(ended.submitted)
        return replace(
            step,
            refused="",
            unread=ended.refused,
            report=graded.report,
            gain=graded.gain,
            out_of_fold=graded.out_of_fold,
            probabilities=graded.probabilities,
            followed=self.state.best == ended.submitted if ended.submitted.nominated else None,
        )

    def show(self, path: str) -> PictureShown:
        """Encode a PNG or JPEG file of the working directory as an image for a message.

        It is scaled down to 768 x 768 pixels; where there is none, `refused` says why in a line.
        """
        return show_picture(self._recorder, self._folder, path)

    def close(self) -> None:
        """Close the session, if one was opened, and give back an evaluation that was reserved."""
        self._close_session()
        if self._endpoint is not None:
            self._endpoint.remove_folder()

    def _close_session(self) -> None:
        if self._evaluation is not None:
            self._evaluation.release()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _run_cell(
        self,
        goal: str,
        code: str,
        submission: SubmissionNames | None,
        *,
        submits: bool,
        timeout: float = math.inf,
        served: ModelEndpoint | None = None,
        reserved: float = 0.0,
        **marks: Any,
    ) -> CellEnded:
        """Run a cell, or return its recorded end; `marks` are further fields of `CellStarted`."""
        ordinal = self._recorder.next_ordinal()
        names, step = self.hand_in.names(submission) if submits else None, self.state.steps + 1
        started = CellStarted(
            ordinal=ordinal, step=step, goal=goal, code=code, submission=names, **marks
        )

        def perform() -> CellEnded:
            for _ in range(_MOST_LOSSES):
                begun = time.monotonic()
                try:
                    return self._run_live(started, served, submits, timeout, reserved)
                except NodeLostError as error:
                    self._close_session()
                    lost = str(error)
                    seconds = round(time.monotonic() - begun, 3)
                    self._recorder.note(NodeLost(node=error.node, message=lost, seconds=seconds))
            return CellEnded(
                ordinal=ordinal,
                result=CellResult(status=CellStatus.DIED, error=lost, state_lost=True),
            )

        ended = self._recorder.effect(started, CellEnded, perform)
        self._neighbours.report(ended.neighbours)
        failpoint("cell-recorded")
        return ended

    def _run_live(
        self,
        cell: CellStarted,
        served: ModelEndpoint | None,
        submits: bool,
        timeout: float,
        reserved: float,
    ) -> CellEnded:
        if submits and self._evaluation is not None:
            self._evaluation.take(self._live_seconds_left)
        session = self._live_session()
        seconds = min(self.work.budget.cell_seconds, timeout, self._live_seconds_left(reserved))
        uses = self.hand_in.sample and uses_sample(self.state.replayable(), cell.code)
        names = cell.submission
        collector = self.hand_in.collector(session.workspace, cell.code, names, uses_sample=uses)
        before = list_files(session.workspace)
        with self._watched(cell.goal, cell.code, seconds, served) as watch:
            result = session.run(cell.code, seconds=seconds, watch=watch)
        if served is not None and served.failure is not None:
            raise served.failure
        taken, refused = self._collect(collector, cell.step, result) if submits else (None, "")
        return CellEnded(
            ordinal=cell.ordinal,
            result=result.with_note(collector.note),
            submitted=taken if isinstance(taken, Submitted) else None,
            sample=taken if isinstance(taken, SamplePredictions) else None,
            uses_sample=taken is not None and uses,
            refused=refused,
            files=written_since(before, list_files(session.workspace)),
            neighbours=self._neighbours.latest()
            if submits and (taken or result.status is not CellStatus.OK)
            else (),
        )

    def _collect(self, by: Collector, number: int, result: CellResult) -> tuple[HandedIn | None, str]:
        """Return what a cell submitted, and why named files were rejected; frees an unused grading."""
        submitted, refused = None, ""
        if result.status in self.hand_in.statuses:
            submitted, refused = by.collect(self._folder, number)
        if submitted is None and self._evaluation is not None:
            self._evaluation.release()
        if submitted is None and result.status is not CellStatus.OK:
            refused = ""  # the cell's own error says more
        return submitted, refused

    @contextmanager
    def _watched(
        self, goal: str, code: str, seconds: float, served: ModelEndpoint | None
    ) -> Iterator[Watch | None]:
        """Yield the watch of a cell: the endpoint that its programs call, or the monitor, if any."""
        if served is not None:
            assert self._session is not None, "the cell runs in it"
            with served.serving(self._session.workspace, seconds):
                yield served
            return
        if self._monitor is None:
            yield None
            return
        watch = self._monitor(goal, code, seconds)
        try:
            yield watch
        finally:
            watch.close()

    def _live_seconds_left(self, reserved: float = 0.0) -> float:
        left = self.work.budget.seconds + self.state.waited - self._recorder.elapsed - reserved
        if left <= 0:
            raise DeadlineExceeded(f"the attempt's {self.work.budget.seconds:.0f} seconds are used up")
        return left

    def _grade(self, submitted: Submitted) -> Graded:
        ordinal, before = self._recorder.next_ordinal(), self.state

        def grade() -> Graded:
            if self._evaluation is not None:
                self._evaluation.take(self._live_seconds_left)
            test = self._folder.test_submission(submitted.step)
            if self.work.operator is Operator.REFIT:
                report = self._grader.check(test)  # it was fitted on the validation rows
                return Graded(ordinal=ordinal, submitted=submitted, report=report)
            report = self._grader.grade(self._folder.validation_submission(submitted.step), test)
            gain = nominee = None
            if report.score is not None and before.leader is not None:
                gain = self._compare(submitted, before.leader)
                cell = before.cells.last
                leads = before.leads(report.score, cell.rejected if cell else "")
                if leads and before.nominated and before.best is not None:
                    nominee = self._compare(before.best, submitted)
            return Graded(
                ordinal=ordinal,
                submitted=submitted,
                report=report,
                gain=gain,
                **self._beside(submitted),
                nominee=nominee,
                evaluation=self._evaluation.use() if self._evaluation is not None else None,
                evaluations=self._evaluation.limit if self._evaluation is not None else None,
            )

        graded = self._recorder.effect(submitted, Graded, grade)
        failpoint("grade-recorded")
        return graded

    def _compare(self, one: Submitted, other: Submitted) -> Paired | None:
        """Return the difference of two graded submissions; None if the grader finds none."""
        validation = self._folder.validation_submission
        try:
            return self._grader.compare(validation(one.step), validation(other.step))
        except SubmissionError:
            return None

    def _beside(self, submitted: Submitted) -> dict[str, Any]:
        """Return the reports on what a step submitted beside its pair, by field of `Graded`."""
        folds, files = submitted.out_of_fold_sha256, [*self._folder.probabilities(submitted).values()]
        path = self._folder.out_of_fold(submitted.step)
        return {
            "out_of_fold": self._grader.out_of_fold(path) if folds else None,
            "probabilities": self._grader.probabilities(files) if files else None,
        }

    def _live_session(self) -> Session:
        if self._session is None:
            note = self._recorder.note
            self._session = self._open_session(lambda reason: note(SessionAwaited(reason=reason)))
            begun = time.monotonic()
            cells = self.state.replayable()
            for cell in cells:
                took = cell.result.seconds if cell.result else 0.0
                allowed = min(max(60.0, 3 * took), self._live_seconds_left())
                self._session.run(cell.code, seconds=allowed)
            note(SessionOpened.of(self._session, len(cells), time.monotonic() - begun))
        return self._session

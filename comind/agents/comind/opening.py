"""Run an attempt's opening: a program, a public notebook, or the tables and a preparation."""

from typing import Literal, NamedTuple

from comind.agents.comind.adapt import AdaptedNotebook, adapt_notebook
from comind.campaign.work.context import CodeContext
from comind.domain.problem import Problem
from comind.session.session_ports import CellResult, CellStatus

START_SHARE = 0.25
"""Of an attempt's time, the timeout of the program that it starts from."""
_PREPARATION_SHARE, _PREPARATION_SECONDS = 0.1, 120  # timeout: of an attempt's time, and at most
_FRAME_ROWS = 1_000_000  # more are not read without the model's decision
_NOTEBOOK_CELLS = 3


class Opening(NamedTuple):
    """Cells that ran before the model's first one, so that the model writes only its changes."""

    ran: Literal["codebase", "notebook", "frame", ""] = ""
    notebook: str = ""
    """The public notebook as it ran."""
    reason: str = ""
    """Why the notebook was not run, or the traceback that it ended with."""
    failed: bool = False
    """Whether the notebook ran and raised; its predictions may have been scored."""
    prepared: CellResult | None = None
    """Result of the preparation that all fresh drafts of the round share."""
    stacked: CellResult | None = None
    """Result of reading the predictions of an ensemble's members."""


def run_opening(problem: Problem, context: CodeContext, frame: str, stack: str) -> Opening:
    """Run what an attempt builds on.

    That is the program that the draft starts from, unscored, as its score is known; or the public
    notebook, adapted to our split and scored. If there is none, or it fails or would take too much of
    the attempt's time, it is the cell `frame` that reads the tables, followed by the round's preparation
    or, for an ensemble, the cell `stack` that reads predictions. Where cells are whole programs, nothing
    is run.
    """
    if context.steps_left <= 1 or problem.program:
        return Opening()
    work, seconds = context.work, context.work.draft.codebase_seconds
    if seconds is not None and seconds <= START_SHARE * work.budget.seconds:
        result = context.run("Run the program that this draft starts from.", work.draft.codebase)
        if result.status is CellStatus.OK:
            return Opening("codebase")
    begun = _try_notebook(problem, context) if work.draft.notebook else Opening()
    rows = problem.train_rows + problem.validation_rows + problem.test_rows
    if begun.ran or rows > _FRAME_ROWS or context.steps_left <= 1:
        return begun
    if context.run("Read the tables.", frame).status is not CellStatus.OK:
        return begun
    if stack and context.steps_left > 1:
        read = context.run("Read what the solutions predict that this draft combines.", stack)
        return begun._replace(ran="frame", stacked=read)
    return begun._replace(ran="frame", prepared=_prepare(context))


def _prepare(context: CodeContext) -> CellResult | None:
    """Run the preparation with a timeout; None if there is none."""
    work = context.work
    if not work.draft.preparation or context.steps_left <= 1:
        return None
    most = min(_PREPARATION_SECONDS, _PREPARATION_SHARE * work.budget.seconds)
    return context.run("Prepare features and folds.", work.draft.preparation, seconds=most)


def _try_notebook(problem: Problem, context: CodeContext) -> Opening:
    """Run the public notebook with a timeout, and score its predictions.

    One that raises after writing its predictions is scored, too. It is untrusted, so it runs only in a
    sandbox that isolates.
    """
    adapted = adapt_notebook(problem, context.work.draft)
    if not adapted.refused and context.steps_left <= _NOTEBOOK_CELLS:
        adapted = AdaptedNotebook(refused="there are too few steps")
    if adapted.refused:
        return Opening(reason=adapted.refused)
    most = START_SHARE * context.work.budget.seconds
    laid = context.run("Lay out the competition as on Kaggle.", adapted.before, seconds=most)
    if laid.status is not CellStatus.OK:
        return Opening(reason=laid.error.strip().rpartition("\n")[2])
    if not context.state.sealed:
        return Opening(reason="nothing here would isolate it")
    goal = "Run the public notebook that this draft starts from."
    ran = context.run(goal, adapted.program, seconds=most)
    if ran.status not in (CellStatus.OK, CellStatus.ERROR):
        return Opening(reason=ran.error, failed=True)
    step = context.step("Hand in what the public notebook predicts.", adapted.after)
    if step.report is not None and step.report.valid:
        return Opening("notebook", adapted.program, ran.error, failed=bool(ran.error))
    graded = step.report.message if step.report else ""
    return Opening(reason=ran.error or step.result.error or step.refused or graded, failed=True)

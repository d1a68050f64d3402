"""The Coding Agent: turn a draft into a solution, one cell after another (paper, section 4.2)."""

import re
from dataclasses import replace
from typing import ClassVar, Self

from pydantic import BaseModel, Field, model_validator

from comind.agents.comind.conversation import TEMPLATES, Conversation, Turn, first_messages
from comind.agents.comind.opening import Opening, run_opening
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.shared_solutions import memo_of
from comind.agents.comind.sizes import Sizes
from comind.agents.comind.thoughts import CODING, CodingFacts
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.sample_steps import best_on_sample, takes_long
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import PictureShown, SubmissionNames
from comind.campaign.work.context import CodeContext
from comind.campaign.work.prompts import LARGE_CONTEXT
from comind.campaign.work.step import Step
from comind.domain.facts import FactSheet
from comind.domain.problem import Problem
from comind.domain.value import Text, one_line
from comind.errors import ReplyError
from comind.llm.exchange import Answer
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.tokens import shorten
from comind.session.session_ports import CellStatus
from comind.system.plurals import quantity

_SHOWN_SHARE = 0.125  # of the room for all steps: maximum of one step's output, and of its error
_FEW_STEPS = 2  # with so few left, none is used to define `submit`
_SUBMIT = re.compile(r"^def submit\(.*\):$", re.MULTILINE)
_OTHER_SUBMIT = re.compile(r"^(?:async )?def submit\(|^submit = ", re.MULTILINE)
_PICTURE = re.compile(r"show_[^/]+\.(png|jpe?g)", re.IGNORECASE)
_MOST_PICTURES = 2  # of a step
_LONG_MINUTES = 20  # from which durations omit seconds
_TITLE_LENGTH, _LESSON_LENGTH = 120, 400
_LINE_TOKENS = 60  # of a step's one-line summary
_OF_COMMUNITY = (
    "from the community; a notebook's `output/`, if there is one, has its author's predictions for "
    "test.csv alone, which have no score here"
)
_CHARACTERS_PER_TOKEN = 4  # about
_REFUSALS = 2  # how often in a row a model that is done too early is asked to continue
# With less than this left the model may end an attempt: a share of its time, or two quick steps.
_LITTLE_SHARE, _LITTLE_SECONDS = 0.1, 90
_REPLY_SHARE = 0.5  # of the usual time of a reply, that a request needs at least


class ProgramStep(BaseModel):
    """One step where submissions are programs: a goal and a cell, as `CodingStep`."""

    goal: str = Field(default="", description="what this cell is for, in one line")
    code: str = Field(default="", json_schema_extra={"format": "python"})
    names: ClassVar = None
    """Its code is what it submits."""


class CodingStep(BaseModel):
    """One step: a goal and a cell. A step without code says that nothing is left to do.

    Submissions under other names than the usual ones are named in pairs.
    """

    goal: str = Field(default="", description="what this cell is for, in one line")
    validation_submission: str | None = Field(
        default=None, description="only if its file for validation.csv has another name: that name"
    )
    submission: str | None = Field(
        default=None, description="only if its file for test.csv has another name: that name"
    )
    code: str = Field(default="", json_schema_extra={"format": "python"})

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.validation_submission is None) != (self.submission is None):
            raise ValueError("name both submissions or neither")
        return self

    @property
    def names(self) -> SubmissionNames | None:
        """The submissions of this step, if they have other names than usual."""
        if self.validation_submission is None or self.submission is None:
            return None
        return SubmissionNames(validation=self.validation_submission, test=self.submission)


class AttemptReport(BaseModel):
    """What the team should know of an attempt."""

    summary: Text = Field(description="what the best solution does, and what it showed")
    improvements: list[str] = Field(default=[], description="what to try next, a sentence each")
    title: str = Field(default="", description="what the best solution is, in a few words")
    lesson: str = Field(
        default="", description="one sentence: which change moved the score, or did not, and why"
    )


def implement(
    problem: Problem, work: Code, context: CodeContext, settings: CoMindParameters
) -> CodeResult:
    """Implement a draft until steps or time run out, the model is done, or scores reach a plateau.

    A plateau (early stopping) is `patience` scored steps in a row, none of which gains more than the
    standard error of its paired difference to the best before it. With `isolation`, or without
    `neighbours`, feedback has no news of other attempts.
    """
    alone = settings.isolation or not settings.neighbours
    measured = context.measured.of_baseline() if settings.isolation else context.measured
    sizes = Sizes.of(context.context_tokens)
    stack = _stack(problem, work)
    frame = _frame(problem, folds=bool(problem.folds))
    begun = run_opening(problem, context, frame, stack)
    submit = begun.ran in ("codebase", "notebook") and _define_submit(problem, context, frame)
    conversation = Conversation(
        _task_messages(
            problem, context, sizes, begun=begun, stack=stack, submit=submit, measured=measured
        ),
        context_tokens=context.context_tokens,
        reply_tokens=context.reply_tokens(sizes.cell_reply),
        most_tokens=sizes.steps,
    )
    refusals, last_error, without_gain = 0, "", 0
    may_offer = problem.sample_rows > 0 and not work.sample_first
    while context.steps_left > 0 and _has_time(context) and without_gain < settings.patience:
        prompt = ModelRequest(
            role=work.role, messages=conversation.messages, max_tokens=sizes.cell_reply
        )
        answer: Answer[ProgramStep] | Answer[CodingStep] = (
            context.ask(prompt, ProgramStep) if problem.program else context.ask(prompt, CodingStep)
        )
        done = _is_comment(answer.value.code)
        if done and (refusals == _REFUSALS or _may_end(context)):
            conversation.add(Turn(answer.text, "", "Said that nothing is left to do."))
            break
        if done:
            refusals += 1
            known = {"problem": problem, "best": context.state.best_score}
            feedback = TEMPLATES.render("coding_go_on", left=_left(context), **known)
            conversation.add(
                Turn(answer.text, feedback, "Said that it was done, and was told to go on.")
            )
            continue
        refusals, before = 0, context.state.best
        step = context.step(answer.value.goal, answer.value.code, answer.value.names)
        without_gain = _steps_without_gain(step, without_gain)
        error = _last_error_line(step)
        repeated = bool(error) and error == last_error
        step = replace(step, neighbours=()) if alone else step
        offers = may_offer and takes_long(step.result.seconds, work.budget.seconds)
        may_offer, shown = may_offer and not offers, _shown(step, context)
        more = {"repeated": repeated, "shown": shown, "offers_sample": offers}
        feedback = _feedback(problem, step, context, sizes, conversation.room, **more)
        best = answer.value.code if context.state.best != before else ""
        line, images = _summary(answer.value.goal, step, context), [each.image for each in shown]
        conversation.add(Turn(answer.text, feedback, line, best, tuple(filter(None, images))))
        last_error = error
    return _report(problem, context, conversation.messages, sizes)


def _is_comment(code: str) -> bool:
    """Return whether there is no code to run."""
    lines = (line.strip() for line in code.splitlines())
    return all(not line or line.startswith("#") for line in lines)


def _has_time(context: CodeContext) -> bool:
    """Whether a reply may still come: half of what the attempt's replies took on average is left."""
    spend = context.state.spend
    usual = spend.model_seconds / spend.calls if spend.calls else 0.0
    return context.seconds_left > _REPLY_SHARE * usual


def _steps_without_gain(step: Step, before: int) -> int:
    """Return how many of the latest scored steps in a row had no significant gain."""
    if step.gain is None:  # nothing was scored, or nothing before it
        return before
    return 0 if step.gain.difference > step.gain.standard_error else before + 1


def _may_end(context: CodeContext) -> bool:
    """Whether too little is left for another experiment."""
    little = context.seconds_left < max(_LITTLE_SHARE * context.work.budget.seconds, _LITTLE_SECONDS)
    return context.state.best is not None and (little or context.steps_left <= 1)


def _report(
    problem: Problem, context: CodeContext, messages: tuple[Message, ...], sizes: Sizes
) -> CodeResult:
    """Ask for a report on what was scored; without a valid reply, return the score alone."""
    work = context.work
    result = f"Scored {context.state.best_score}." if context.state.best else "Nothing was scored."
    if context.state.best is None or context.seconds_left <= 0:
        return CodeResult(report=result)
    last = TEMPLATES.render("coding_report", problem=problem, best=context.state.best_score)
    prompt = ModelRequest(
        role=work.role,
        messages=(*messages, Message(role="user", content=last)),
        max_tokens=sizes.thought_reply,
        standing=CodingStep.model_json_schema(),
        closing=True,
    )
    try:
        report = context.ask(prompt, AttemptReport).value
    except ReplyError as error:
        return CodeResult(report=f"{result} The model gave no report: {error}")
    lines = [report.summary, *(f"- {each}" for each in report.improvements)]
    return CodeResult(
        report="\n".join(lines),
        title=one_line(report.title, _TITLE_LENGTH),
        lesson=one_line(report.lesson, _LESSON_LENGTH),
    )


def _define_submit(problem: Problem, context: CodeContext, frame: str) -> bool:
    """Define `submit` as `frame` does unless the program that ran has; return whether it is defined."""
    codebase = context.work.draft.codebase
    defined = _SUBMIT.search(frame)
    if defined is not None and defined[0] in codebase:
        return True
    if context.steps_left <= _FEW_STEPS or _OTHER_SUBMIT.search(codebase):
        return False
    cell = TEMPLATES.render("coding_submit", problem=problem, tables=False)
    return context.run("Define how predictions are handed in.", cell).status is CellStatus.OK


def _task_messages(
    problem: Problem,
    context: CodeContext,
    sizes: Sizes,
    *,
    begun: Opening,
    stack: str,
    submit: bool,
    measured: FactSheet,
) -> tuple[Message, ...]:
    work = context.work
    starts = [each for each in work.inputs if "/" not in each and begun.ran == "codebase"]
    large = context.context_tokens >= LARGE_CONTEXT
    large = large or bool(work.draft.members)  # a stack is fitted on out-of-fold predictions
    folds = bool(problem.folds) and large
    others = CODING.facts_of(work) or CodingFacts()
    return first_messages(
        "coding_system",
        "coding_task",
        problem,
        context,
        draft=work.draft,
        lessons=others.lessons,
        components=others.components,
        budget=work.budget,
        begun=begun,
        scored=context.state.best_score,
        # Prompts of small models omit the folds; the code is the same.
        frame=_frame(problem, folds=folds),
        stack=stack,
        folds=folds,
        sizes=sizes,
        room={"description": sizes.description, "preview": sizes.preview, "columns": sizes.columns},
        resources=context.resources,
        measured=measured,
        inputs=[mounted(work, each, ran=each in starts[:1]) for each in work.inputs],
        steps=context.steps_left,
        reply_tokens=context.reply_tokens(sizes.cell_reply),
        submit=submit,
        large=large,
        sample_first=work.sample_first,
        time=format_duration(work.budget.seconds),
        seconds=min(work.budget.cell_seconds, work.budget.seconds),
    )


def mounted(work: Code, item: str, *, ran: bool) -> tuple[str, str]:
    """Return path and description of an input; community items are `owner/name`.

    Of a solution whose code ran in the notebook only its checkpoints are described; of others the
    score, the running time and the files of predictions, as far as recorded.
    """
    if "/" in item:
        return f"input/{item}/", _OF_COMMUNITY
    if ran:
        return f"input/solutions/{item}/checkpoints/", "what the program above kept, if anything"
    path, memo = f"input/solutions/{item}/", memo_of(work, item)
    if memo is None:
        return path, "a solution: code.py, report.md, files handed in, checkpoints/"
    names = (
        *["out_of_fold.csv"] * memo.out_of_fold,
        "validation_submission.csv",
        "submission.csv",
        *["*_probabilities.csv"] * memo.probabilities,
    )
    return path, (
        f"a solution, {memo.result}, whose code ran {format_duration(memo.seconds)}: its predictions in "
        f"{', '.join(names)}; code.py, report.md, checkpoints/"
    )


def _frame(problem: Problem, *, folds: bool) -> str:
    return TEMPLATES.render("coding_frame", problem=problem, folds=folds)


def _stack(problem: Problem, work: Code) -> str:
    """Return the cell that reads the predictions of an ensemble's members; empty for other drafts."""
    members = work.draft.members
    return TEMPLATES.render("coding_stack", problem=problem, members=members) if members else ""


def _summary(goal: str, step: Step, context: CodeContext) -> str:
    """Return goal, result, score and files of a step in one line."""
    result = step.result
    parts = [
        f"ran in {result.seconds:.1f} s" if result.status is CellStatus.OK else _last_error_line(step)
    ]
    if result.state_lost:
        parts.append("all variables were lost")
    if step.report is not None and step.report.score is not None:
        parts.append(f"scored {step.report.score}")
        if step.out_of_fold is not None and step.out_of_fold.score is not None:
            parts.append(f"out of fold {step.out_of_fold.score.shown}")
    elif step.sample is not None:
        parts.append(step.sample.shown)
    elif step.report is not None or step.refused:
        parts.append(f"not scored: {step.report.message if step.report else step.refused}")
    if step.files:
        parts.append(f"wrote {', '.join(file.name for file in step.files)}")
    line = " ".join(f"Step {context.state.steps}: {goal}: {'; '.join(parts)}.".split())
    return shorten(line, _LINE_TOKENS).replace("\n", " ")


def _last_error_line(step: Step) -> str:
    """Return the last line of a step's error or refusal; empty if it has none."""
    return step.result.error.strip().rpartition("\n")[2] or step.refused


def _shown(step: Step, context: CodeContext) -> list[PictureShown]:
    """Show the model the last pictures that a step wrote for it, if it takes images."""
    names = [file.name for file in step.files if _PICTURE.fullmatch(file.name)]
    return [context.show(name) for name in names[-_MOST_PICTURES:]] if context.takes_images else []


def _feedback(
    problem: Problem,
    step: Step,
    context: CodeContext,
    sizes: Sizes,
    room: int,
    **more: object,
) -> str:
    """Return the answer to a step; `more` are further facts of its template."""
    most = int(_SHOWN_SHARE * room)
    return TEMPLATES.render(
        "coding_feedback",
        problem=problem,
        step=step,
        output_tokens=min(sizes.output, most),
        error_tokens=min(sizes.error, most),
        parts_shown=sizes.parts_shown,
        neighbour_length=_CHARACTERS_PER_TOKEN * sizes.neighbour,
        best=context.state.best_score,
        nominated=context.state.nominated,
        leader=context.state.leader_score,
        best_on_sample=best_on_sample(context.state.cells),
        left=_left(context),
        **more,
    )


def _left(context: CodeContext) -> str:
    """Return the steps and time left of an attempt, in words."""
    return f"{quantity(context.steps_left, 'step')}, {format_duration(context.seconds_left)}"


def format_duration(seconds: float) -> str:
    """Return a duration in minutes, and in seconds below 20 minutes."""
    if seconds >= 60 * _LONG_MINUTES:
        return f"{round(seconds / 60)} min"
    minutes, rest = divmod(max(0, int(seconds)), 60)
    parts = [f"{minutes} min"] * bool(minutes) + [f"{rest} s"] * bool(rest or not minutes)
    return " ".join(parts)

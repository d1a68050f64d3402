"""The Coding Agent: a draft becomes a solution, one cell after another (paper, section 4.2)."""

from typing import Self

from pydantic import BaseModel, Field, model_validator

from comind.campaign.attempt import SubmissionNames
from comind.campaign.outcome import Finish
from comind.campaign.plan import Code
from comind.campaign.workbench import Step, Workbench
from comind.domain.problem import Problem
from comind.errors import ReplyError
from comind.llm.base import Message
from comind.llm.exchange import Prompt
from comind.llm.templates import Templates

__all__ = ["AttemptReport", "CodingStep", "implement"]

_TEMPLATES = Templates("comind.agents.comind")
_EXCHANGES_KEPT = 4
_OUTPUT_SHOWN = 3_000
_REFUSALS = 2  # how often a model that has nothing scored may say that it is done


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
    def done(self) -> bool:
        """Whether there is nothing to run."""
        lines = (line.strip() for line in self.code.splitlines())
        return all(not line or line.startswith("#") for line in lines)

    @property
    def names(self) -> SubmissionNames | None:
        """The files that this step hands in, where they have other names than usual."""
        if self.validation_submission is None or self.submission is None:
            return None
        return SubmissionNames(validation=self.validation_submission, test=self.submission)


class AttemptReport(BaseModel):
    """What the team should know of an attempt."""

    summary: str = Field(min_length=1, description="what the best solution does, and what it showed")
    improvements: list[str] = Field(default=[], description="what to try next, a sentence each")


def implement(problem: Problem, work: Code, bench: Workbench, *, seed: int) -> Finish:
    """Work on the draft until the model says it is done, or steps or time are over."""
    opening = _opening(problem, work)
    exchanges: list[tuple[str, str]] = []
    refusals = 0
    while bench.steps_left > 0 and bench.seconds_left > 0:
        prompt = Prompt(
            role=work.role,
            messages=(*opening, *_recent(exchanges)),
            facts={
                "problem": problem.model_dump(mode="json", exclude={"description", "preview"})
                | {"folder": problem.folder},
                "seed": seed,
                "steps": bench.state.steps,
                "scored": bench.state.best is not None,
            },
            max_tokens=2_500,
        )
        answer = bench.ask(prompt, CodingStep)
        if answer.value.done and (bench.state.best is not None or refusals == _REFUSALS):
            exchanges.append((answer.text, ""))
            break
        if answer.value.done:
            refusals += 1
            exchanges.append((answer.text, _TEMPLATES.render("coding_not_done")))
            continue
        step = bench.step(answer.value.goal, answer.value.code, answer.value.names)
        exchanges.append((answer.text, _feedback(step, bench)))
    return Finish(report=_report(work, bench, (*opening, *_recent(exchanges))))


def _report(work: Code, bench: Workbench, messages: tuple[Message, ...]) -> str:
    """Ask for a report on what was scored; without one, say how far it came."""
    said = f"Scored {bench.state.best_score}." if bench.state.best else "Nothing was scored."
    if bench.state.best is None or bench.seconds_left <= 0:
        return said
    last = _TEMPLATES.render("coding_report", best=bench.state.best_score)
    messages = tuple(message for message in messages if message.content)
    prompt = Prompt(role=work.role, messages=(*messages, Message(role="user", content=last)))
    try:
        report = bench.ask(prompt, AttemptReport).value
    except ReplyError as error:
        return f"{said} The model gave no report: {error}"
    return "\n".join([report.summary, *(f"- {each}" for each in report.improvements)])


def _opening(problem: Problem, work: Code) -> tuple[Message, ...]:
    inputs = [_mounted(each) for each in work.inputs]
    task = _TEMPLATES.render(
        "coding_task", problem=problem, draft=work.draft, budget=work.budget, inputs=inputs
    )
    return (
        Message(role="system", content=_TEMPLATES.render("coding_system")),
        Message(role="user", content=task),
    )


def _mounted(item: str) -> tuple[str, str]:
    """Return where an input lies, and what it is; community items are `owner/name`."""
    if "/" in item:
        return f"input/{item}/", "from the community"
    return f"input/solutions/{item}/", "a solution: code.py, report.md, submissions, checkpoints/"


def _recent(exchanges: list[tuple[str, str]]) -> list[Message]:
    return [
        message
        for reply, feedback in exchanges[-_EXCHANGES_KEPT:]
        for message in (
            Message(role="assistant", content=reply),
            Message(role="user", content=feedback),
        )
    ]


def _feedback(step: Step, bench: Workbench) -> str:
    return _TEMPLATES.render(
        "coding_feedback",
        step=step,
        output=_shortened(step.result.output),
        error=_shortened(step.result.error),
        best=bench.state.best_score,
        steps_left=bench.steps_left,
        minutes_left=round(bench.seconds_left / 60),
    )


def _shortened(text: str) -> str:
    """Return `text` cut in its middle; its end, where errors and scores stand, is kept longest."""
    if len(text) <= _OUTPUT_SHOWN:
        return text
    head = _OUTPUT_SHOWN // 4
    return f"{text[:head]}\n... (cut) ...\n{text[-(_OUTPUT_SHOWN - head) :]}"

"""Implement a plan: a program in one pass, or steps that run in a notebook one after another."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field

from comind.agents.automind.planner import CODER, PROMPTS, STEPS_TOKENS, AutoMindParameters
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code
from comind.campaign.work.context import CodeContext
from comind.campaign.work.step import Step
from comind.domain.problem import Problem
from comind.domain.value import Text, Value, one_line
from comind.session.session_ports import CellStatus
from comind.system.syntax import parse_python

_GOAL_LENGTH = 300


class Program(BaseModel):
    """A program, or the cell of one step."""

    code: Text = Field(json_schema_extra={"format": "python"})


class PlanStep(Value):
    """A step of a plan."""

    name: Text = Field(description="a few words")
    details: Text = Field(description="everything that the plan states about it")
    trains: bool = Field(default=False, description="whether it fits the model")


class Steps(BaseModel):
    """A plan, decomposed."""

    steps: list[PlanStep] = Field(min_length=1, description="in order; the last predicts and writes")


class Tried(NamedTuple):
    """A try of a program or step, and what came of it."""

    code: str
    problem: str
    output: str = ""
    error: str = ""


def implement(
    problem: Problem, work: Code, parameters: AutoMindParameters, context: CodeContext
) -> CodeResult:
    """Implement a plan in one pass, or step by step in the session of a notebook."""
    seconds = min(work.budget.cell_seconds, work.budget.seconds)
    facts: dict[str, object] = {"problem": problem, "draft": work.draft, "seconds": seconds}
    coder = _Coder(context, parameters.tries, facts)
    if work.session == "script":
        scored = coder.accept("one_pass", work.draft.title, last=True)
        return CodeResult(report="" if scored else f"No score after {parameters.tries} tries.")
    given = {"most": parameters.max_steps, **facts}
    wanted = PROMPTS.ask(context, CODER, "decompose", Steps, given, most_tokens=STEPS_TOKENS)
    steps = merge_steps(wanted.steps, parameters.max_steps)
    for number, step in enumerate(steps, start=1):
        given = {"steps": steps, "number": number, "step": step}
        if not coder.accept("step", step.name, last=number == len(steps), **given):
            return CodeResult(report=f"Given up at step {number} of {len(steps)}: {step.name}.")
    return CodeResult(report="\n".join(f"Step {n}: {each.name}" for n, each in enumerate(steps, 1)))


def merge_steps(steps: Sequence[PlanStep], most: int) -> list[PlanStep]:
    """Return at most `most` steps: all from the first that trains on are one, as is what exceeds."""
    first = next((number for number, each in enumerate(steps) if each.trains), len(steps))
    kept = min(first, len(steps) if len(steps) <= most else most - 1, most)
    rest = steps[kept:]
    if not rest:
        return list(steps)
    name = one_line("; ".join(each.name for each in rest), _GOAL_LENGTH) or "Last step"
    merged = PlanStep(name=name, details="\n".join(each.details for each in rest), trains=True)
    return [*steps[:kept], merged]


class _Coder:
    """Writes and runs code; keeps the code that was accepted."""

    def __init__(self, context: CodeContext, tries: int, facts: Mapping[str, object]) -> None:
        self._context, self._tries, self._facts = context, tries, facts
        self._accepted: list[str] = []
        self._output = ""

    def accept(self, template: str, goal: str, *, last: bool, **more: object) -> bool:
        """Return whether some try ran, and was scored if it is the `last` part of a program."""
        tried: Tried | None = None
        for _ in range(self._tries):
            if not self._context.steps_left:
                break
            shown = {"accepted": "\n\n".join(self._accepted), "output": self._output, "tried": tried}
            facts = {**self._facts, **more, **shown}
            code = PROMPTS.ask(self._context, CODER, template, Program, facts).code
            fault = _syntax_error([*self._accepted, code])
            if fault:
                tried = Tried(code, f"It is not valid Python: {fault}.")
                continue
            step = self._context.step(one_line(goal, _GOAL_LENGTH), code)
            fault = _fault(step, last=last)
            if not fault:
                self._accepted.append(code)
                self._output = step.result.output
                return True
            tried = Tried(code, fault, step.result.output, step.result.error)
        return False


def _syntax_error(cells: Sequence[str]) -> str:
    """Return why cells together are no Python; empty if they are."""
    try:
        parse_python("\n\n".join(cells))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _fault(step: Step, *, last: bool) -> str:
    """Return why a step cannot be built on, or is no end; empty if it can."""
    if last:
        return step.fault
    return "" if step.result.status is CellStatus.OK else "It did not run to its end."

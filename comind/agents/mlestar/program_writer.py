"""Write programs, check them for leakage, run them, and debug those that fail."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, Field

from comind.agents.mlestar.star_requests import CHECKER, CODER, PROMPTS, MleStarParameters
from comind.campaign.log.work import Code
from comind.campaign.work.context import CodeContext
from comind.campaign.work.step import Step
from comind.domain.problem import Problem
from comind.domain.value import Text, one_line
from comind.errors import ReplyError
from comind.session.session_ports import CellResult, CellStatus
from comind.system.code_blocks import replace_block

_GOAL_LENGTH = 300
_BLOCK_TRIES = 3  # until a model copies a block exactly


class Program(BaseModel):
    """A whole program, or the new version of a block."""

    code: Text = Field(json_schema_extra={"format": "python"})


class BlockReply(BaseModel):
    """A reply that may name a part of a program."""

    block: str = Field(default="", description="lines of the program, copied exactly and in full")

    @property
    def names_block(self) -> bool:
        """Whether `block` has to be in the program."""
        return bool(self.block.strip())


class Leakage(BlockReply):
    """Verdict on leakage in a program."""

    leaks: bool = Field(description="whether validation or test rows influence what it learns")
    reason: Text = Field(description="one or two sentences")
    corrected: str = Field(default="", description="the block without leakage")

    @property
    def names_block(self) -> bool:
        """Whether there is leakage to correct."""
        return self.leaks


class Usage(BaseModel):
    """Verdict on the data that a program uses."""

    complete: bool = Field(description="whether it uses every file and column that could help")
    unused: list[str] = Field(default=[], description="names of files and columns that it leaves out")


T = TypeVar("T", bound=BaseModel)
BlockT = TypeVar("BlockT", bound=BlockReply)


class ProgramWriter:
    """Writes and runs the programs of one attempt; `notes` has what the checks found and changed."""

    def __init__(
        self, problem: Problem, work: Code, parameters: MleStarParameters, context: CodeContext
    ) -> None:
        """Prepare; nothing is written yet."""
        seconds = min(work.budget.cell_seconds, work.budget.seconds)
        self.context, self.parameters, self.problem = context, parameters, problem
        self.facts: Mapping[str, object] = {
            "problem": problem,
            "draft": work.draft,
            "seconds": seconds,
            "measured": context.measured.of_baseline(),  # solutions are independent of each other
        }
        self.notes: list[str] = []

    def ask(self, role: str, template: str, reply_type: type[T], /, **more: object) -> T:
        """Return the reply to a prompt with the facts of the attempt, and more."""
        return PROMPTS.ask(self.context, role, template, reply_type, {**self.facts, **more})

    def write(self, template: str, **more: object) -> str:
        """Return a program, or the new version of a block."""
        return self.ask(CODER, template, Program, **more).code

    def run(self, goal: str, program: str) -> Step:
        """Check a program, run it, and correct it until it is scored; returns the last step.

        Ends after `debug_rounds` corrections, or where no cell is left. Leakage that is not corrected
        rejects the program and its corrections.
        """
        short = one_line(goal, _GOAL_LENGTH)
        program, rejected = self._without_leakage(program)
        step = self.context.step(short, program, rejected=rejected)
        for _ in range(self.parameters.debug_rounds):
            if not step.fault or not self.context.steps_left:
                break
            step = self.context.step(short, self.write("debug", step=step), rejected=rejected)
        return step

    def study(self, goal: str, program: str) -> CellResult:
        """Run a program for its output alone, and correct it until it ends without an error."""
        result = self.context.run(goal, program, scratch=True)
        for _ in range(self.parameters.debug_rounds):
            if result.status is CellStatus.OK or not self.context.steps_left:
                break
            program = self.write("debug_study", program=program, result=result)
            result = self.context.run(goal, program, scratch=True)
        return result

    def use_all_data(self, program: str) -> str:
        """Return a program that uses all data; the same if it does, or the new one fails or leaks."""
        try:
            found = self.ask(CHECKER, "usage", Usage, program=program)
            unused = "" if found.complete else ", ".join(found.unused)
            if not unused:
                self.notes.append("data usage: all is used")
                return program
            step = self.run(f"Use {unused}", self.write("use_all", program=program, unused=unused))
        except ReplyError as error:
            self.notes.append(f"data usage was not checked: {error}")
            return program
        self.notes.append(f"data usage: {unused} was not used; with it: {step.summary}")
        return program if step.fault or step.rejected else step.code

    def find_block(
        self, role: str, template: str, reply_type: type[BlockT], program: str, **more: object
    ) -> BlockT | None:
        """Return a reply whose block, if it names one, is in the program; None after three tries."""
        fault = ""
        for _ in range(_BLOCK_TRIES):
            reply = self.ask(role, template, reply_type, program=program, fault=fault, **more)
            if not reply.names_block or replace_block(program, reply.block, reply.block) is not None:
                return reply
            fault = f"This block is not in the program:\n{reply.block}"
        return None

    def _without_leakage(self, program: str) -> tuple[str, str]:
        """Return a program without leakage as far as the model sees it, and why it is rejected.

        Notes what was changed. It is rejected for leakage that is not corrected.
        """
        if self.problem.program or not self.parameters.leakage_check:
            return program, ""
        try:
            found = self.find_block(CHECKER, "leakage", Leakage, program)
        except ReplyError as error:
            self.notes.append(f"leakage was not checked: {error}")
            return program, ""
        if found is None:
            self.notes.append("leakage, not corrected: its lines are not in the program")
            return program, "the checker: leakage whose lines are not in the program"
        if not found.leaks:
            return program, ""
        corrected = replace_block(program, found.block, found.corrected) if found.corrected else None
        outcome, reason = (
            "corrected" if corrected else "not corrected",
            one_line(found.reason, _GOAL_LENGTH),
        )
        self.notes.append(f"leakage, {outcome}: {reason}")
        return (corrected, "") if corrected else (program, f"the checker: leakage: {reason}")

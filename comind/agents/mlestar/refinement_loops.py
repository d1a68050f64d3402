"""Refine the block of a solution that matters most, and combine solutions (Algorithms 2 and 3)."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from comind.agents.mlestar.program_writer import BlockReply, ProgramWriter
from comind.agents.mlestar.star_requests import PLANNER, PROMPTS
from comind.domain.value import Text, one_line
from comind.errors import ReplyError
from comind.session.session_ports import CellStatus
from comind.system.code_blocks import replace_block

_FENCED = re.compile(r"^(`{3,})python\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
_MOST_ROWS, _PLAN_LENGTH = 20, 500


class AblationRow(BaseModel):
    """A line of an ablation study's output: the score of the program without one component."""

    component: Text
    score: float


class Target(BlockReply):
    """The block to refine, and a first plan."""

    summary: Text = Field(description="what the study shows, two or three sentences")
    plan: Text = Field(description="one change of this block, concretely, three to five sentences")


class NextPlan(BaseModel):
    """Another plan."""

    plan: Text = Field(description="concretely, two to five sentences")


class Strategy(NextPlan):
    """A strategy that combines the predictions of the solutions, as a program."""

    code: Text = Field(json_schema_extra={"format": "python"})


class Portfolio(Strategy):
    """A strategy that combines the algorithms of the solutions, as a program."""


class Tried(NamedTuple):
    """A plan and its score, or why it has none."""

    plan: str
    result: str


def refine_block(writer: ProgramWriter, program: str, history: str) -> str:
    """Refine the block with the largest effect on the score; returns a report.

    Each of `inner` plans replaces the block in the same program. `history` has the reports of earlier
    refinements, whose blocks are not chosen again.

    Raises:
        ReplyError: the model named no block.
    """
    rows = _study(writer, program, history) if writer.parameters.ablation else []
    target = _target(writer, program, history, rows)

    def try_next(tried: list[Tried]) -> Tried:
        plan = target.plan
        if tried:
            plan = writer.ask(PLANNER, "next_plan", NextPlan, target=target, tried=tried).plan
        return _try_plan(writer, program, target.block, plan)

    tried = _repeat(writer, writer.parameters.inner, try_next)
    return PROMPTS.render("refined", rows=rows, target=target, tried=tried)


def combine(writer: ProgramWriter) -> str:
    """Run `ensemble_rounds` strategies on the kept predictions, each with the scores of all before.

    Returns a report. The attempt's best submission is that of the best strategy.
    """
    reply_type = Portfolio if writer.problem.program else Strategy

    def try_next(tried: list[Tried]) -> Tried:
        reply = writer.ask(PLANNER, "ensemble", reply_type, tried=tried)
        return Tried(one_line(reply.plan, _PLAN_LENGTH), writer.run(reply.plan, reply.code).summary)

    tried = _repeat(writer, writer.parameters.ensemble_rounds, try_next)
    return PROMPTS.render("combined", tried=tried)


def _repeat(writer: ProgramWriter, rounds: int, try_next: Callable[[list[Tried]], Tried]) -> list[Tried]:
    """Return what was tried in these rounds; ends early where no cell is left or a reply is invalid."""
    tried: list[Tried] = []
    try:
        while len(tried) < rounds and writer.context.steps_left:
            tried.append(try_next(tried))
    except ReplyError as error:
        writer.notes.append(f"ended after {len(tried)} of {rounds} rounds: {error}")
    return tried


def ablation_rows(output: str) -> Iterator[AblationRow]:
    """Yield the results that an ablation study printed, one JSON object a line; ignores other lines."""
    for line in output.splitlines():
        try:
            yield AblationRow.model_validate_json(line.strip())
        except ValidationError:
            continue


def refined_blocks(history: str) -> list[str]:
    """Return the blocks in the reports of earlier refinements."""
    return [found[2] for found in _FENCED.finditer(history)]


def _study(writer: ProgramWriter, program: str, history: str) -> list[AblationRow]:
    """Have an ablation study written, and run it; returns its results, none if it failed."""
    try:
        code = writer.write("ablation", program=program, history=history)
        result = writer.study("Ablation study", code)
    except ReplyError as error:
        writer.notes.append(f"ablation study: {error}")
        return []
    rows = list(ablation_rows(result.output))[-_MOST_ROWS:]
    if result.status is not CellStatus.OK or not rows:
        writer.notes.append(f"ablation study: {len(rows)} results, {result.status}")
    return rows


def _target(writer: ProgramWriter, program: str, history: str, rows: list[AblationRow]) -> Target:
    known, more = refined_blocks(history), {"history": history, "rows": rows}
    for _ in range(2):
        target = writer.find_block(PLANNER, "target", Target, program, **more, known=known)
        if target is None or not target.names_block:
            break
        if target.block.strip("\n") not in known:
            return target
    raise ReplyError("no block was named that is in the program and was not refined before")


def _try_plan(writer: ProgramWriter, program: str, block: str, plan: str) -> Tried:
    """Have the block rewritten by a plan, and run the program with it."""
    new = writer.write("rewrite", program=program, block=block, plan=plan)
    changed, short = replace_block(program, block, new), one_line(plan, _PLAN_LENGTH)
    if changed is None:
        return Tried(short, "the new block is not valid Python in its place")
    return Tried(short, writer.run(plan, changed).summary)

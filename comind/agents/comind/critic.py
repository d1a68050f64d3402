"""The critic: find leakage in the programs of the best attempts, and test it by running without it.

A finding quotes a line of the program. The program without what was found runs as an attempt of its
own, without a model; if it scores as well on the sealed validation rows, the original is rejected.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, Field

from comind.agents.comind.gains import Gain, gain_over
from comind.agents.comind.lessons import reference_of
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.sizes import first_request
from comind.campaign.agent import programs_left
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_items import Attempt, Purpose
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.campaign.work.monitor import quotes_line
from comind.domain.draft import Draft, Operator
from comind.domain.problem import Problem
from comind.domain.value import Text, Value, one_line
from comind.system.code_blocks import replace_block

_FINALISTS = 8
_FROM = 2 / 3  # of the campaign's time, the share from which programs are read
_FINDINGS = 4  # of one program
_CODE_KEPT = 60_000  # characters; a longer program is not read
_TITLE_LENGTH, _LINE_LENGTH, _WHY_LENGTH = 200, 160, 400
# Seconds of a re-run: a factor on those of the program, and for the start of its session.
_FACTOR, _START_SECONDS = 1.5, 30.0
_READING_SECONDS = 30.0  # about as long as a reply takes


class Fault(StrEnum):
    """Kind of what is wrong with a line."""

    UNSEEN_ROWS = "fit on validation or test rows"
    IDS = "ids as features"
    ALL_ROWS = "statistics over all rows"
    TARGET = "target leakage"
    DEAD_END = "dead end"


class FindingReply(BaseModel):
    """One fault of a program, and the program's lines without it."""

    fault: Fault
    line: Text = Field(description="the line at fault, copied word for word from the program")
    why: Text = Field(description="one or two sentences")
    search: str = Field(default="", description="lines of the program to replace, copied exactly")
    replace: str = Field(default="", description="the lines in their place; the program must still run")


class CritiqueReply(BaseModel):
    """All faults of a program, the worst first; an empty list if it has none."""

    findings: list[FindingReply]


class Finalist(Value):
    """A program to read."""

    id: str
    title: str
    score: str
    code: str
    seconds: float


class Finding(Value):
    """A fault whose quoted line stands in the program."""

    fault: Fault
    line: str
    why: str
    removed: bool
    """Whether the corrected program is without it."""


class Critique(Value):
    """What was found in a program."""

    findings: tuple[Finding, ...] = ()
    dropped: tuple[str, ...] = ()
    """Quotes that are no line of the program."""
    corrected: str = ""
    """The program without what was found; empty if nothing can be removed."""


class Trial(NamedTuple):
    """A program that was read, and its re-run without what was found."""

    finalist: Attempt
    critique: Critique
    rerun: Attempt | None
    gain: Gain | None
    """What the re-run gained over the original; None without its score."""

    @property
    def condemned(self) -> Finding | None:
        """The leak without which the program scores as well; None if there is none."""
        if self.gain is None or self.gain.difference < -self.gain.error:
            return None
        leaks = (each for each in self.critique.findings if each.fault is not Fault.DEAD_END)
        return next((each for each in leaks if each.removed), None)


CRITICIZE = Purpose("criticize", "critic", Finalist, Critique)


def criticize(problem: Problem, finalist: Finalist, context: ThinkContext) -> Critique:
    """Ask for faults of a program; drop those that quote no line of it, and remove the others."""
    request = first_request(CRITICIZE, "critic", problem, context, finalist=finalist)
    program, found, dropped = finalist.code, list[Finding](), list[str]()
    for each in context.ask(request, CritiqueReply).value.findings[:_FINDINGS]:
        line = one_line(each.line, _LINE_LENGTH)
        if not quotes_line(each.line, finalist.code):
            dropped.append(line)
            continue
        without, leaks = None, each.fault is not Fault.DEAD_END
        changes = each.replace.strip() != each.search.strip()
        if leaks and changes and quotes_line(each.line, each.search):
            without = replace_block(program, each.search, each.replace)
        program = program if without is None else without
        why = one_line(each.why, _WHY_LENGTH)
        found.append(Finding(fault=each.fault, line=line, why=why, removed=without is not None))
    corrected = program if any(each.removed for each in found) else ""
    return Critique(findings=tuple(found), dropped=tuple(dropped), corrected=corrected)


def rerun(work: Code, context: CodeContext) -> CodeResult:
    """Run a corrected program once, without a model."""
    context.step("Run the program without what the critic found.", work.draft.codebase)
    best = context.state.best_score
    return CodeResult(report=f"{work.draft.method} It {f'scored {best}' if best else 'has no score'}.")


def is_rerun(work: Code) -> bool:
    """Return whether an attempt is a re-run that the critic asked for."""
    return work.operator is Operator.DEBUG


def is_of_critic(work: Think | Code) -> bool:
    """Return whether work is a reading or a re-run of the critic."""
    return work.purpose == CRITICIZE.name if isinstance(work, Think) else is_rerun(work)


def critic_work(state: CampaignState, settings: CoMindParameters, *, over: bool) -> list[Think | Code]:
    """Return the critic's next work: re-runs for free slots, then programs to read.

    It begins when two thirds of the time are used, or rounds are `over`. Each of the eight best programs
    is read once. Programs that are submitted themselves are not read: they never see what they are
    graded on.
    """
    limit = state.budget.seconds
    late = limit is not None and state.spend.seconds >= _FROM * limit
    wanted = state.spec.parameters.get("critic")  # not in logs from before there was a critic
    if not wanted or state.submits_programs or not (over or late):
        return []
    slots = min(state.free_slots(), programs_left(state, None, 0))
    reruns = [
        _rerun_of(state, trial.finalist, trial.critique)
        for trial in trials(state)
        if trial.rerun is None and trial.critique.corrected and _has_time(state, trial.finalist)
    ]
    return [*reruns[: max(0, slots)], *_readings(state, settings.critic_calls)]


def trials(state: CampaignState) -> Iterator[Trial]:
    """Yield the programs that were read, with their re-runs; oldest first."""
    attempts = {each.id: each for each in state.works.attempts()}
    reruns = {each.work.parents[0]: each for each in attempts.values() if is_rerun(each.work)}
    for thought in state.works.thoughts(CRITICIZE):
        if thought.result is not None and thought.facts.id in attempts:
            finalist, run = attempts[thought.facts.id], reruns.get(thought.facts.id)
            gain = gain_over(run, finalist, state) if run is not None else None
            yield Trial(finalist, thought.result, run, gain)


def rejected_by_critic(state: CampaignState) -> Mapping[str, str]:
    """Return the attempts whose re-run without a leak scores as well, with the reason."""
    found = {}
    for trial in trials(state):
        leak, run = trial.condemned, trial.rerun
        if leak is not None and run is not None:
            reason = f"the critic: {leak.fault}, line `{leak.line}`; without it {run.id}: {run.score}"
            found[trial.finalist.id] = reason
    return found


def _readings(state: CampaignState, most: int) -> list[Think | Code]:
    """Return the best programs that were not read yet, as far as calls and time are left."""
    read = {each.facts.id for each in state.works.thoughts(CRITICIZE)}
    finalists = [each for each in state.works.best_first() if _is_readable(each)][:_FINALISTS]
    unread = [
        CRITICIZE.work(_finalist(each)).model_copy(update={"beside": True})
        for each in finalists
        if each.id not in read and _has_time(state, each, _READING_SECONDS)
    ]
    in_time = [each for each in unread if not state.time.shortage(each)]
    return [*in_time[: max(0, most - len(read))]]


def _is_readable(attempt: Attempt) -> bool:
    """Return whether an attempt has a program of a model's that may be wrong."""
    code = attempt.outcome.code if attempt.outcome else ""
    own = attempt.work.is_baseline or is_rerun(attempt.work)
    return bool(code) and len(code) <= _CODE_KEPT and not own and not attempt.rejected


def _finalist(attempt: Attempt) -> Finalist:
    assert attempt.outcome is not None, "it is readable"
    return Finalist(
        id=attempt.id,
        title=one_line(attempt.title, _TITLE_LENGTH),
        score=one_line(str(attempt.score), _TITLE_LENGTH),
        code=attempt.outcome.code,
        seconds=attempt.outcome.code_seconds,
    )


def _rerun_seconds(finalist: Attempt) -> float:
    took = finalist.outcome.code_seconds if finalist.outcome else 0.0
    return _FACTOR * took + _START_SECONDS


def _has_time(state: CampaignState, finalist: Attempt, before: float = 0.0) -> bool:
    """Return whether a program can run once more, after so many seconds."""
    return before + _rerun_seconds(finalist) <= state.open_seconds()


def _rerun_of(state: CampaignState, finalist: Attempt, critique: Critique) -> Code:
    """Plan the re-run of a program without what the critic found."""
    removed = [each for each in critique.findings if each.removed]
    named = "; ".join(f"{each.fault}: `{each.line}`" for each in removed)
    budget = state.work_budget()
    seconds = min(budget.seconds, _rerun_seconds(finalist))
    return Code(
        operator=Operator.DEBUG,
        draft=Draft(
            title=one_line(f"{finalist.title}, without {removed[0].fault}", _TITLE_LENGTH),
            method=f"The program of {finalist.id} without what the critic found ({named}).",
            codebase=critique.corrected,
            sources=(finalist.id,),
            inputs=finalist.work.inputs,
            needs=finalist.work.draft.needs,
        ),
        parents=(finalist.id,),
        reference=reference_of(state, (finalist.id,)),
        inputs=finalist.work.inputs,
        budget=budget.model_copy(update={"seconds": seconds, "steps": 1, "cell_seconds": seconds}),
    )

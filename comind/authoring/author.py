"""The conversation in which a model writes the evaluator of a competition."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field

from comind.authoring.trials import EvaluatorTrials
from comind.campaign.attempt import WORK_EVENTS, WorkEnded, WorkEvent
from comind.campaign.budget import MeteredModel
from comind.campaign.folder import WorkFolder
from comind.campaign.outcome import Failure, FailureKind, ThinkOutcome
from comind.campaign.recorder import RecordedModel, Recorder
from comind.campaign.signals import WorkStopped
from comind.domain.competition import Competition
from comind.errors import NoSubmissionError, ReplyError
from comind.evaluation.facts import facts_of
from comind.evaluation.metrics import MetricFacts
from comind.evaluation.scripts.generated_plan import GeneratedPlan, plan_without_metric
from comind.evaluation.scripts.script_report import EVALUATE, SPLIT, ScriptCheckError
from comind.eventlog.log import EventLog
from comind.llm.base import Message
from comind.llm.exchange import Prompt
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.session.base import CellResult, CellStatus, Sandbox

__all__ = ["REPAIRS", "EvaluateScript", "SplitScript", "author_split"]

REPAIRS = 5
"""How often each program may be sent back with the check that it failed."""

T = TypeVar("T", bound=BaseModel)

_TEMPLATES = Templates("comind.authoring")
_DESCRIPTION_LENGTH = 6_000
_FACTS_TOKENS = 1_000
_ERROR_LENGTH = 2_000
_ROLE = "evaluator"
_MAX_TOKENS = 3_000


class SplitScript(BaseModel):
    """The whole of `split_dataset.py`."""

    code: str = Field(min_length=1, json_schema_extra={"format": "python"})


class EvaluateScript(BaseModel):
    """The whole of `evaluate.py`, what its metric is called, and which way is better."""

    metric: str = Field(min_length=1, max_length=60, description="name of the metric, e.g. rmse")
    maximize: bool = Field(description="true if higher is better, false if lower is better")
    code: str = Field(min_length=1, json_schema_extra={"format": "python"})


def author_split(
    competition: Competition,
    folder: WorkFolder,
    model: Callable[[Callable[[WorkEvent], None]], MeteredModel],
    sandbox: Sandbox,
) -> GeneratedPlan:
    """Return the split of a competition without a metric, its two programs written and checked.

    What its log holds is not done again. Its log ends once the programs passed or the repairs are used
    up; with a service down or a budget spent it stays open, and the same call goes on from there.
    `model` makes the model, given what records its failed tries.

    Raises:
        NoSubmissionError: the model did not get a program past the checks, or the budget is over.
        ServiceError: the endpoint or the sandbox is missing or refuses.
    """
    plan = plan_without_metric(competition)
    with EventLog(folder.log, WORK_EVENTS) as log:
        recorder = Recorder(log)
        asked = model(recorder.note)
        recorded = RecordedModel(_ROLE, lambda _role: asked, recorder)
        bench = EvaluatorTrials(recorder, recorded, plan, sandbox, folder.workspace)
        try:
            plan = _write_both(bench)
        except (ReplyError, WorkStopped) as error:
            if isinstance(error, ReplyError):
                _end(log, recorder, Failure(kind=FailureKind.REPLY, message=str(error)))
            raise NoSubmissionError(
                f"{competition.folder}: no evaluator could be written for it: {error}",
                hint=f"name its metric in competition.yaml, or take another model; see {folder.log}",
            ) from None
        _end(log, recorder, None)
        return plan


def _end(log: EventLog[WorkEvent], recorder: Recorder, failure: Failure | None) -> None:
    """Write the outcome down, unless it was written before."""
    if not any(isinstance(record.event, WorkEnded) for record in log.records):
        spend = recorder.state.spend.model_copy(update={"seconds": round(log.elapsed, 3)})
        log.append(WorkEnded(outcome=ThinkOutcome(failure=failure, spend=spend)))


def _write_both(bench: EvaluatorTrials) -> GeneratedPlan:
    split = _write(bench, SPLIT, SplitScript, lambda script: bench.try_split(script.code))
    evaluate = _write(
        bench,
        EVALUATE,
        EvaluateScript,
        lambda script: bench.try_evaluate(script.code, maximize=script.maximize),
    )
    name = "-".join(re.findall(r"[a-z0-9]+", evaluate.metric.lower())) or "metric"
    metric = MetricFacts(name=name, maximize=evaluate.maximize, kind=bench.plan.metric.kind)
    programs = {SPLIT: split.code, EVALUATE: evaluate.code}
    return GeneratedPlan(bench.plan.competition, metric, bench.held_back, programs)


def _write(
    bench: EvaluatorTrials, name: str, reply_type: type[T], attempt: Callable[[T], CellResult]
) -> T:
    """Ask for a program until it passes, at most `REPAIRS` times more than once."""
    messages = [Message(role="system", content=_TEMPLATES.render("system"))]
    messages.append(Message(role="user", content=_task(bench, name)))
    error, last_text = "", ""
    for _ in range(REPAIRS + 1):
        prompt = Prompt(role=_ROLE, messages=tuple(messages), max_tokens=_MAX_TOKENS)
        answer = bench.ask(prompt, reply_type)
        result = attempt(answer.value)
        if result.status is CellStatus.OK:
            return answer.value
        error = result.error
        repeated, last_text = answer.text == last_text, answer.text
        shown = error[-_ERROR_LENGTH:]
        repair = _TEMPLATES.render("repair", program=name, error=shown, repeated=repeated)
        # The task, the last program and what is wrong with it; older programs only mislead.
        messages[2:] = [
            Message(role="assistant", content=answer.text),
            Message(role="user", content=repair),
        ]
    last = error.strip().splitlines()[-1] if error.strip() else "no reason was given"
    raise ScriptCheckError(f"{name} failed {REPAIRS + 1} times, last: {last}")


def _task(bench: EvaluatorTrials, name: str) -> str:
    competition = bench.plan.competition
    described = competition.public / "description.md"
    text = described.read_text(errors="replace") if described.is_file() else ""
    rule, reason = bench.plan.rule_with_reason
    return _TEMPLATES.render(
        Path(name).stem,
        title=competition.title,
        description=text[:_DESCRIPTION_LENGTH],
        preview=facts_of(competition.public, measure=count_tokens, tokens=_FACTS_TOKENS),
        ids=bench.plan.ids,
        train_ids=bench.plan.train_ids,
        labels=bench.plan.labels,
        targets=bench.plan.targets,
        inputs=tuple(bench.plan.test.columns),
        one_hot=bench.plan.one_hot,
        rule=rule,
        reason=reason,
    )

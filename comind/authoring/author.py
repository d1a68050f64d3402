"""Prompt a model for the split and evaluation programs, with repairs."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field

from comind.authoring.script_runs import EVALUATE, SPLIT
from comind.authoring.trials import EvaluatorTrials
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import Failure, FailureCause, ThinkOutcome, WorkStopped
from comind.campaign.log.work_events import WORK_EVENTS, WorkEnded, WorkEvent
from comind.campaign.work.metering import MeteredModel
from comind.campaign.work.recorder import RecordedModel, Recorder
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.errors import NoSubmissionError, ReplyError
from comind.eventlog.log import EventLog
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.metrics import MetricInfo
from comind.session.session_ports import CellResult, CellStatus, Sandbox
from comind.splits.generated_split import ScriptCheckError, plan_by_program
from comind.splits.split_plan import SplitPlan, plain_rule

REPAIRS = 5
"""Most repairs of each program, prompted with the check that failed."""

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
) -> SplitPlan:
    """Generate the split of a competition without a metric, with two checked programs.

    Resumable: recorded calls and trials in the log are replayed. The log ends when the programs pass or
    the repairs are used up; after a failed service or an exceeded budget it stays open to be resumed.
    `model` builds the model, given a callback that records failed requests.

    Raises:
        NoSubmissionError: no program passed the checks, or the budget is exceeded.
        ServiceError: the model's endpoint or the sandbox is unavailable.
    """
    data = CompetitionData.read_without_metric(competition)
    with EventLog(folder.log, WORK_EVENTS) as log:
        # These requests show rows of train.csv before any are held out.
        recorder = Recorder(log, messages=False)
        metered = model(recorder.note)
        recorded = RecordedModel(_ROLE, lambda _role: metered, recorder)
        trials = EvaluatorTrials(recorder, recorded, data, sandbox, folder.workspace)
        try:
            plan = _write_programs(trials)
        except (ReplyError, WorkStopped) as error:
            if isinstance(error, ReplyError):
                _record_end(log, recorder, Failure(cause=FailureCause.REPLY, message=str(error)))
            raise NoSubmissionError(
                f"{competition.folder}: no evaluator could be written for it: {error}",
                hint=f"name its metric in competition.yaml, or take another model; see {folder.log}",
            ) from None
        _record_end(log, recorder, None)
        return plan


def _record_end(log: EventLog[WorkEvent], recorder: Recorder, failure: Failure | None) -> None:
    """Record the outcome, unless it has been recorded."""
    if not any(isinstance(record.event, WorkEnded) for record in log.records):
        spend = recorder.state.spend.model_copy(update={"seconds": round(log.elapsed, 3)})
        log.append(WorkEnded(outcome=ThinkOutcome(failure=failure, spend=spend)))


def _write_programs(trials: EvaluatorTrials) -> SplitPlan:
    split = _write(trials, SPLIT, SplitScript, lambda script: trials.try_split(script.code))
    evaluate = _write(
        trials,
        EVALUATE,
        EvaluateScript,
        lambda script: trials.try_evaluate(script.code, maximize=script.maximize),
    )
    name = "-".join(re.findall(r"[a-z0-9]+", evaluate.metric.lower())) or "metric"
    metric = MetricInfo(
        name=name, maximize=evaluate.maximize, answer_kind=trials.data.metric.answer_kind
    )
    programs = {SPLIT: split.code, EVALUATE: evaluate.code}
    return plan_by_program(trials.data, metric, trials.held_out, programs)


def _write(
    trials: EvaluatorTrials, name: str, reply_type: type[T], attempt: Callable[[T], CellResult]
) -> T:
    """Prompt for a program until it passes its trial, with at most `REPAIRS` repairs."""
    messages = [Message(role="system", content=_TEMPLATES.render("system"))]
    messages.append(Message(role="user", content=_task_prompt(trials, name)))
    error, last_text = "", ""
    for _ in range(REPAIRS + 1):
        prompt = ModelRequest(role=_ROLE, messages=tuple(messages), max_tokens=_MAX_TOKENS)
        answer = trials.ask(prompt, reply_type)
        result = attempt(answer.value)
        if result.status is CellStatus.OK:
            return answer.value
        error = result.error
        repeated, last_text = answer.text == last_text, answer.text
        shown = error[-_ERROR_LENGTH:]
        repair = _TEMPLATES.render("repair", program=name, error=shown, repeated=repeated)
        # Only the last program and its error: earlier ones mislead.
        messages[2:] = [
            Message(role="assistant", content=answer.text),
            Message(role="user", content=repair),
        ]
    last = error.strip().splitlines()[-1] if error.strip() else "no reason was given"
    raise ScriptCheckError(f"{name} failed {REPAIRS + 1} times, last: {last}")


def _task_prompt(trials: EvaluatorTrials, name: str) -> str:
    from comind.profile.profile import profile_data  # imports DuckDB

    competition = trials.data.competition
    described = competition.public / "description.md"
    text = described.read_text(errors="replace") if described.is_file() else ""
    rule, reason = plain_rule(trials.data)
    return _TEMPLATES.render(
        Path(name).stem,
        title=competition.title,
        description=text[:_DESCRIPTION_LENGTH],
        preview=profile_data(competition.public, count_tokens=count_tokens, tokens=_FACTS_TOKENS),
        ids=trials.data.ids,
        train_ids=trials.data.train_ids,
        labels=trials.data.labels,
        targets=trials.data.targets,
        inputs=tuple(trials.data.test.columns),
        one_hot=trials.data.one_hot,
        rule=rule,
        reason=reason,
    )

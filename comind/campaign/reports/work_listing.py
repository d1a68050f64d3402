"""List what a campaign's models were asked, what they replied, and what ran: values for text and JSON.

All of it is read from the logs and the kept messages, which hold no validation label and no key.
"""

from collections.abc import Sequence
from typing import Any

from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.messages import read_messages
from comind.campaign.log.outcome import CodeOutcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_items import WorkRecord
from comind.campaign.log.work_state import WORK_LOG, AttemptState, Call, CellRun
from comind.campaign.reports.campaign_view import read_view
from comind.errors import CampaignError
from comind.llm.model_ports import Message

_NOT_KEPT = "not kept, as in older campaigns"


def list_campaign(folder: CampaignFolder) -> dict[str, Any]:
    """Return a campaign with one entry for each piece of work, in the order of planning.

    Raises:
        LogError: a log was changed.
    """
    view = read_view(folder)
    spec, best, spend = view.state.spec, view.best, view.spend
    return {
        "campaign": folder.name,
        "competition": spec.competition,
        "agent": spec.agent,
        "model": spec.model,
        "seed": spec.seed,
        "ended": view.end or None,
        "picked": best.work_id if best else None,
        "choice": view.choice,
        "result": str(best.score) if best else None,
        "seconds": round(spend.seconds, 1),
        "tokens": spend.tokens,
        "usd": round(spend.usd, 6),
        "work": [_summary(record, view.works[record.id]) for record in view.state.works],
    }


def list_work(folder: CampaignFolder, work_id: str) -> dict[str, Any]:
    """Return one piece of work with its calls and cells, in the order of time.

    Raises:
        CampaignError: there is no such work.
        LogError: a log was changed.
    """
    record = _find(folder, work_id)
    work, state = record.work, _read(folder.work(work_id))
    entry = _summary(record, state)
    if isinstance(work, Code):
        draft = work.draft
        entry |= {"method": draft.method, "parents": work.parents, "sources": draft.sources}
    if isinstance(record.outcome, CodeOutcome):
        entry["report"] = record.outcome.report
    if record.outcome and record.outcome.failure and record.outcome.failure.traceback:
        entry["traceback"] = record.outcome.failure.traceback
    entry["events"] = [
        _call_line(each) if isinstance(each, Call) else _cell_line(each) for each in _ordered(state)
    ]
    return entry


def list_step(folder: CampaignFolder, work_id: str, step: int) -> dict[str, Any]:
    """Return one step of an attempt, or one call of a thought, in full.

    A step has the calls since the cell before it, the monitor's calls on its cells, and its cells: more
    than one if it ran again after a kill. Each message says whether the work had sent it before.

    Raises:
        CampaignError: there is no such work or step.
        LogError: a log was changed.
    """
    record, files = _find(folder, work_id), folder.work(work_id)
    state = _read(files)
    if isinstance(record.work, Think):
        calls, cells = [each for each in state.calls if each.number == step], []
    else:
        cells = [each for each in state.cells if each.step == step]
        calls = _calls_for(state, cells)
    if not calls and not cells:
        known = [each.number for each in state.calls] if isinstance(record.work, Think) else []
        known = known or sorted({each.step for each in state.cells})
        named = f"{known[0]} to {known[-1]}" if known else "none"
        raise CampaignError(f"{folder.name}: {work_id} has no step {step}", hint=f"its steps: {named}")
    messages = read_messages(files.messages)
    return {
        "campaign": folder.name,
        "work": work_id,
        "step": step,
        "calls": [_full_call(each, state, messages) for each in calls],
        "cells": [_full_cell(each) for each in cells],
    }


def _find(folder: CampaignFolder, work_id: str) -> WorkRecord:
    state = CAMPAIGN_LOG.read(folder.log)
    found = next((record for record in state.works if record.id == work_id), None)
    if found is None:
        raise CampaignError(
            f"{folder.name}: there is no work {work_id!r}", hint=f"comind show {folder.name} lists it"
        )
    return found


def _read(files: WorkFolder) -> AttemptState:
    return WORK_LOG.read(files.log) if files.log.is_file() else AttemptState()


def _summary(record: WorkRecord, state: AttemptState) -> dict[str, Any]:
    work = record.work
    failure = record.outcome.failure if record.outcome else None
    return {
        "work": record.id,
        "kind": work.operator.value if isinstance(work, Code) else work.purpose,
        "title": work.draft.title if isinstance(work, Code) else "",
        "result": _result(record, state),
        "failure": failure.cause.value if failure else None,
        "calls": len(state.calls),
        "steps": state.steps,
        "seconds": round(state.spend.seconds, 1),
        "tokens": state.spend.tokens,
        "usd": round(state.spend.usd, 6),
    }


def _result(record: WorkRecord, state: AttemptState) -> str:
    outcome, more = record.outcome, f", rejected by {record.rejected}" if record.rejected else ""
    if outcome is None:
        best = f", best so far {state.best_score}" if state.best_score else ""
        return f"in progress{best}" if state.begun else "planned"
    if outcome.failure is not None:
        return outcome.failure.message
    if isinstance(outcome, ThinkOutcome):
        return outcome.counts() or "done"
    return f"{outcome.score}{more}" if outcome.score else "done"


def _ordered(state: AttemptState) -> list[Call | CellRun]:
    """Return the calls and cells of work in the order in which they began."""
    calls: list[tuple[Any, Call | CellRun]] = [(each.sent, each) for each in state.calls]
    cells: list[tuple[Any, Call | CellRun]] = [(each.started, each) for each in state.cells]
    return [each for _, each in sorted(calls + cells, key=lambda pair: pair[0])]


def _calls_for(state: AttemptState, cells: Sequence[CellRun]) -> list[Call]:
    """Return the calls between the cell before and the last of `cells`, and those while these ran."""
    if not cells:
        return []
    numbers = {each.number for each in cells}
    before = [each for each in state.cells if each.number < min(numbers)]
    since = before[-1].ordinal if before else -1
    until = cells[-1].ordinal
    return [
        each
        for each in state.calls
        if (each.ordinal is not None and since < each.ordinal < until) or each.cell in numbers
    ]


def _call_line(call: Call) -> dict[str, Any]:
    return {
        "event": "call",
        "number": call.number,
        "role": call.role,
        "model": call.model,
        "messages": len(call.messages),
        "tokens": call.spend.tokens,
        "usd": round(call.spend.usd, 6),
        "seconds": round(call.spend.model_seconds, 1),
        "retries": call.spend.retries,
        "failure": call.failure or None,
    }


def _cell_line(cell: CellRun) -> dict[str, Any]:
    result, report = cell.result, cell.sample.report if cell.sample else cell.report
    score = str(report.score) if report and report.score else None
    return {
        "event": "cell",
        "step": cell.step,
        "goal": cell.goal,
        "status": result.status.value if result else "running",
        "seconds": round(result.seconds, 1) if result else None,
        "error": result.error.strip().rpartition("\n")[2] if result and result.error else None,
        "score": None if cell.sample else score,
        "sample_score": score if cell.sample else None,
        "uses_sample": cell.uses_sample,
        "rejected": f"by {cell.rejected}" if cell.rejected else None,
        "refused": (report.message if report and not report.valid else cell.refused) or None,
    }


def _full_call(call: Call, state: AttemptState, messages: dict[str, Message]) -> dict[str, Any]:
    sent = {name for each in state.calls if each.number < call.number for name in each.messages}
    return _call_line(call) | {
        "messages": [_message(name, messages, known=name in sent) for name in call.messages],
        "reply": call.reply.text if call.reply else None,
        "finish": call.reply.finish if call.reply else None,
        "verdict": call.verdict.model_dump() if call.verdict else None,
    }


def _message(name: str, messages: dict[str, Message], *, known: bool) -> dict[str, Any]:
    found = messages.get(name)
    content = found.content if found else _NOT_KEPT
    return {"role": found.role if found else "", "content": content, "sent_before": known}


def _full_cell(cell: CellRun) -> dict[str, Any]:
    result = cell.result
    outputs = {"output": result.output, "error": result.error} if result else {}
    return _cell_line(cell) | {"code": cell.code} | outputs

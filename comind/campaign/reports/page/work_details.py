"""Collect what one piece of work did: its model calls, its cells, and the script that it submitted."""

import difflib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.messages import read_messages
from comind.campaign.log.work_items import Attempt, WorkItems
from comind.campaign.log.work_state import AttemptState, Call, CellRun
from comind.campaign.reports.page.long_texts import LongText, LongTexts
from comind.campaign.reports.page.score_chart import duration
from comind.domain.value import one_line
from comind.llm.model_ports import Message, ModelReply
from comind.session.session_ports import CellStatus

_LINE, _NAME = 240, 80
_MOST_REQUESTS = 5  # of the failed ones of a call
_MOST_LINES = 2_000  # of a script that is compared
_MOST_BYTES = 1_000_000  # of a script that is read


@dataclass(frozen=True, slots=True)
class MessageShown:
    """A message of a request, or the reply; its text is in the page once."""

    role: str
    anchor: str
    text: LongText
    first: str = ""
    """Id of the work that has the text, if it is not here."""


@dataclass(frozen=True, slots=True)
class CallShown:
    """A model call, with the messages that no earlier call of its work has."""

    role: str
    facts: tuple[str, ...]
    """Model, tokens, dollars and duration."""
    repeated: int
    """Number of messages that an earlier call of the same work sent or received."""
    messages: tuple[MessageShown, ...]
    reply: MessageShown | None
    failures: tuple[str, ...]
    is_call: bool = True


@dataclass(frozen=True, slots=True)
class CellShown:
    """A cell, with its output and score."""

    step: int
    goal: str
    status: str
    facts: tuple[str, ...]
    score: str
    notes: tuple[str, ...]
    """Why its submission was rejected, and that nothing depends on it."""
    code: LongText
    output: LongText | None
    error: LongText | None
    is_call: bool = False

    @property
    def failed(self) -> bool:
        """Return whether it failed, or was stopped or interrupted."""
        return self.status != CellStatus.OK


@dataclass(frozen=True, slots=True)
class _Place:
    """The only place where a message is shown."""

    work_id: str
    anchor: str
    text: LongText


class Conversations:
    """Collects calls and cells of works; each distinct message is shown where it occurs first."""

    def __init__(self, texts: LongTexts) -> None:
        """Add the texts to `texts`, which truncates them."""
        self._texts = texts
        self._places: dict[str, _Place] = {}

    def of(self, work_id: str, folder: WorkFolder, ran: AttemptState) -> list[CallShown | CellShown]:
        """Return the calls and cells of one piece of work in the order of their starts."""
        kept, seen = read_messages(folder.messages), set[str]()
        steps: list[tuple[datetime, CallShown | CellShown]] = [
            *((call.sent, self._call(work_id, call, kept, seen)) for call in ran.calls),
            *((cell.started, self._cell(cell)) for cell in ran.cells),
        ]
        return [shown for _, shown in sorted(steps, key=lambda step: step[0])]

    def _call(self, work_id: str, call: Call, kept: Mapping[str, Message], seen: set[str]) -> CallShown:
        sent = [kept[each] for each in call.messages if each in kept]
        new = [each for each in sent if each.content not in seen]
        shown = [self._message(work_id, each.role, each.content, each.content) for each in new]
        seen |= {each.content for each in new}
        reply = None
        if call.reply is not None:
            reply = self._message(work_id, "reply", call.reply.text, _readable(call.reply))
            seen.add(call.reply.text)
        failures = [each.message for each in call.failed_requests][-_MOST_REQUESTS:]
        return CallShown(
            role=one_line(call.role, _NAME),
            facts=tuple(_call_facts(call)),
            repeated=len(sent) - len(new),
            messages=tuple(shown),
            reply=reply,
            failures=tuple(one_line(each, _LINE) for each in (*failures, call.failure) if each),
        )

    def _message(self, work_id: str, role: str, content: str, readable: str) -> MessageShown:
        place = self._places.get(content)
        if place is not None:
            return MessageShown(role, place.anchor, place.text, place.work_id)
        shown = MessageShown(role, f"message-{len(self._places)}", self._texts.add(readable))
        self._places[content] = _Place(work_id, shown.anchor, shown.text)
        return shown

    def _cell(self, cell: CellRun) -> CellShown:
        result, report = cell.result, cell.sample.report if cell.sample else cell.report
        score = str(report.score) if report is not None and report.score is not None else ""
        notes = [cell.refused, report.message if report is not None else ""]
        mixed = score and cell.uses_sample and not cell.sample
        notes += ["depends on rows of the sample"] if mixed else []
        notes += ["nothing later depends on it"] if cell.scratch else []
        return CellShown(
            step=cell.step,
            goal=one_line(cell.goal, _LINE),
            status=result.status.value if result is not None else "interrupted",
            facts=(duration(result.seconds),) if result is not None else (),
            score=f"sample {score}" if score and cell.sample else score,
            notes=tuple(one_line(each, _LINE) for each in notes if each),
            code=self._texts.add(cell.code),
            output=self._texts.add(result.output) if result is not None and result.output else None,
            error=self._texts.add(result.error) if result is not None and result.error else None,
        )


@dataclass(frozen=True, slots=True)
class ScriptShown:
    """A submitted script, with the difference to its parent's."""

    text: LongText | None
    """None if it is the parent's own."""
    lines: int
    parent: str = ""
    """The first parent that has a script."""
    diff: LongText | None = None
    added: int = 0
    removed: int = 0
    whole: bool = True
    """Whether all lines were compared."""


class Scripts:
    """Reads the scripts that attempts submitted: the derived file, else the cells in the log."""

    def __init__(self, folder: CampaignFolder, works: WorkItems, texts: LongTexts) -> None:
        """Add the texts to `texts`, which truncates them."""
        self._folder = folder
        self._works = works
        self._texts = texts
        self._known: dict[str, str] = {}

    def of(self, attempt: Attempt) -> ScriptShown | None:
        """Return the script of an attempt; None if it submitted nothing."""
        text = self._text(attempt.id)
        if not text:
            return None
        lines = text.count("\n") + 1
        parents = [each for each in attempt.work.parents if self._text(each)]
        if not parents:
            return ScriptShown(self._texts.add(text), lines)
        before = self._text(parents[0])
        if before == text:
            return ScriptShown(None, lines, parents[0])
        diff = _diff(before, text)
        marks = [line[:1] for line in diff]
        return ScriptShown(
            text=self._texts.add(text),
            lines=lines,
            parent=parents[0],
            diff=self._texts.add("\n".join(diff)),
            added=marks.count("+"),
            removed=marks.count("-"),
            whole=max(lines, before.count("\n") + 1) <= _MOST_LINES,
        )

    def _text(self, work_id: str) -> str:
        if work_id not in self._known:
            self._known[work_id] = self._read(work_id)
        return self._known[work_id]

    def _read(self, work_id: str) -> str:
        known = {each.id for each in self._works.codes()}
        outcome = self._works.attempt(work_id).outcome if work_id in known else None
        if outcome is None or outcome.submitted is None:
            return ""
        folder = self._folder.work(work_id)
        found = (_start_of(folder.script(name)) for name in ("script.py", "script.ipy"))
        return next((text for text in found if text), outcome.code).rstrip()


def diff_blocks(text: str) -> list[tuple[str, str]]:
    """Return consecutive lines of a unified diff by what they are: `add`, `del`, `at` or empty."""
    kinds = {"+": "add", "-": "del", "@": "at"}
    grouped = groupby(text.split("\n"), key=lambda line: kinds.get(line[:1], ""))
    return [(kind, "\n".join(lines) + "\n") for kind, lines in grouped]


def _diff(before: str, after: str) -> list[str]:
    """Return the hunks of the unified diff of two scripts, without the rest of very long ones."""
    one, other = before.split("\n")[:_MOST_LINES], after.split("\n")[:_MOST_LINES]
    return list(difflib.unified_diff(one, other, lineterm=""))[2:]


def _start_of(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""


def _call_facts(call: Call) -> list[str]:
    spend = call.spend
    model = one_line(call.model, _NAME)
    facts = [model]
    facts += [f"{spend.prompt_tokens:,} prompt tokens, {spend.completion_tokens:,} reply tokens"]
    facts += [f"${spend.usd:.4f}"] if spend.usd else []
    facts += [duration(call.reply.seconds)] if call.reply is not None and call.reply.seconds else []
    return facts if call.ended is not None else [model, "no reply yet"]


def _readable(reply: ModelReply) -> str:
    """Return a reply; the long texts of a JSON object with their line breaks."""
    if reply.form != "json":
        return reply.text
    try:
        values = json.loads(reply.text)
        lines = [_named(*each) for each in values.items()] if isinstance(values, dict) else [reply.text]
    except (ValueError, RecursionError):
        return reply.text
    return "\n".join(lines)


def _named(name: str, value: object) -> str:
    if not isinstance(value, str):
        return f"{name}: {json.dumps(value, ensure_ascii=False, indent=1)}"
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"

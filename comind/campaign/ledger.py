"""The ledger: what every model call took, by call, role, attempt and campaign; a reading of the logs.

A call that was answered with a count that can be true is booked at that count. All others, broken off,
answered without a count that can be true, or under way when their process was killed, are booked at
their bound: a token for each byte that was sent, the longest reply allowed, at the full price.
"""

import csv
import io
from collections.abc import Callable, Iterable

from comind.campaign.attempt import (
    CallAnswered,
    CallFailed,
    CallSent,
    MonitorAsked,
    MonitorHeard,
    TryFailed,
    WorkEvent,
)
from comind.campaign.monitor import MONITOR_ROLE
from comind.domain.spend import Spend
from comind.domain.value import Value
from comind.eventlog.log import Record
from comind.llm.base import Usage

__all__ = ["Entry", "Ledger", "as_csv", "totals"]


class Entry(Value):
    """One call."""

    work: str
    number: int
    """Within its work, from 0."""
    role: str
    model: str
    spend: Spend
    """Failed tries included; `seconds` are not used."""


class Ledger:
    """Reads the records of one piece of work, in order, into entries."""

    def __init__(self, work_id: str) -> None:
        self._work_id = work_id
        self.entries: list[Entry] = []
        """Calls that have come to their end, or whose process has."""
        self._open: tuple[str, str, Usage] | None = None
        self._failed = Spend()

    def read(self, record: Record[WorkEvent]) -> Entry | None:
        """Take in one record; return the entry that it completes, if it does."""
        match record.event:
            case CallSent(role=role, model=model, bound=bound):
                lost = self._lose()
                self._open = (role, model, bound)
                return lost
            case MonitorAsked(model=model, bound=bound):
                lost = self._lose()
                self._open = (MONITOR_ROLE, model, bound)
                return lost
            case TryFailed(booked=booked):
                self._failed += _spend(booked, exact=False).model_copy(update={"calls": 0, "retries": 1})
            case CallAnswered(reply=reply):
                took = _spend(reply.usage, exact=reply.exact)
                return self._close(took.model_copy(update={"model_seconds": reply.seconds}))
            case MonitorHeard(lost=True):
                return self._lose()
            case MonitorHeard(reply=reply):
                if reply is None:
                    return self._close(Spend())
                took = _spend(reply.usage, exact=reply.exact)
                return self._close(took.model_copy(update={"model_seconds": reply.seconds}))
            case CallFailed():
                return self._close(Spend())
            case _:
                pass
        return None

    @property
    def under_way(self) -> Entry | None:
        """The call that has no end yet, at its bound."""
        if self._open is None:
            return None
        _, _, bound = self._open
        lost = _spend(bound, exact=False).model_copy(update={"lost_calls": 1})
        return self._entry(self._failed + lost)

    def _lose(self) -> Entry | None:
        """Close a call that nobody will hear of any more."""
        entry = self.under_way
        if entry is not None:
            self._open, self._failed = None, Spend()
            self.entries.append(entry)
        return entry

    def _close(self, took: Spend) -> Entry | None:
        if self._open is None:
            return None
        entry = self._entry(self._failed + took)
        self._open, self._failed = None, Spend()
        self.entries.append(entry)
        return entry

    def _entry(self, spend: Spend) -> Entry:
        assert self._open is not None
        role, model, _ = self._open
        number = len(self.entries)
        return Entry(work=self._work_id, number=number, role=role, model=model, spend=spend)


def totals(entries: Iterable[Entry], key: Callable[[Entry], str]) -> dict[str, Spend]:
    """Return what was spent by role, work, model, or whatever `key` says; in order of appearance."""
    found: dict[str, Spend] = {}
    for entry in entries:
        name = key(entry)
        found[name] = found.get(name, Spend()) + entry.spend
    return found


_COLUMNS = (
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "usd",
    "model_seconds",
    "retries",
    "lost_calls",
    "bound_tokens",
    "bound_usd",
)


def as_csv(entries: Iterable[Entry]) -> str:
    """Return the ledger as a table, a line a call."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["work", "call", "role", "model", *_COLUMNS])
    for entry in entries:
        spend = entry.spend.model_dump()
        row = [round(spend[name], 9) for name in _COLUMNS]
        table.writerow([entry.work, entry.number, entry.role, entry.model, *row])
    return text.getvalue()


def _spend(usage: Usage, *, exact: bool) -> Spend:
    """Return one call's tokens and dollars; those that nobody counted are marked as such."""
    return Spend(
        **usage.model_dump(),
        calls=1,
        bound_tokens=0 if exact else usage.tokens,
        bound_usd=0.0 if exact else usage.usd,
    )

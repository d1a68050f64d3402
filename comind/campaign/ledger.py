"""The ledger: what every model call took, by call, role, attempt and campaign; a reading of the logs.

A call that was answered with a count that can be true is booked at that count. All others, broken off,
answered without a count that can be true, or under way when their process was killed, are booked at
their bound: a token for each byte that was sent, the longest reply allowed, at the full price.
"""

import csv
import io
from collections.abc import Iterable, Mapping

from comind.campaign.history import Call
from comind.domain.spend import Spend

__all__ = ["as_csv", "by_role"]


def by_role(calls: Iterable[Call]) -> dict[str, Spend]:
    """Return what each role spent on calls that have ended; in order of appearance."""
    found: dict[str, Spend] = {}
    for call in calls:
        if call.ended is not None:
            found[call.role] = found.get(call.role, Spend()) + call.spend
    return found


_COLUMNS = [name for name in Spend.model_fields if name not in ("seconds", "calls")]


def as_csv(calls: Mapping[str, Iterable[Call]]) -> str:
    """Return the ledger of work, by its id, as a table: a line for each call that has ended."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["work", "call", "role", "model", *_COLUMNS])
    for work_id, mine in calls.items():
        for call in mine:
            if call.ended is not None:
                spend = call.spend.model_dump()
                row = [round(spend[name], 9) for name in _COLUMNS]
                table.writerow([work_id, call.number, call.role, call.model, *row])
    return text.getvalue()

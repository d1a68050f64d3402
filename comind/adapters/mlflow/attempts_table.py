"""The attempts of a campaign as a CSV table."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.code_metrics import measure
from comind.domain.code_metrics import CodeMetrics

_WITHOUT_PROGRAM = dict.fromkeys(CodeMetrics.model_fields)

Row = dict[str, Any]
"""One attempt by the columns of attempts.csv; `finished` is its place in the order of ending."""


def rows_of(state: CampaignState, ended: Sequence[str]) -> list[Row]:
    """Return rows of the attempts and blends that have ended, best score first, without score last."""
    places = {work_id: place for place, work_id in enumerate(ended, start=1)}
    rows = [_row(each, places[each.id]) for each in state.works.rankable() if each.id in places]
    sign = -1 if _maximizes(state) else 1
    return sorted(rows, key=lambda r: (r["score"] is None, sign * (r["score"] or 0.0), r["finished"]))


def attempts_csv(rows: Sequence[Row]) -> str:
    """Format rows as CSV, empty without any; what a spreadsheet would run as a formula is quoted."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([[*rows[0]]] if rows else [])
    writer.writerows([_inert(value) for value in row.values()] for row in rows)
    return file.getvalue()


def _row(attempt: Attempt, place: int) -> Row:
    outcome = attempt.outcome
    assert outcome is not None
    score, failure = outcome.score, outcome.failure
    return {
        "finished": place,
        "attempt": attempt.id,
        "title": attempt.title,
        "operator": attempt.work.operator.value,
        "parents": " ".join(attempt.work.parents),
        "score": score.value.value if score else None,
        "low": score.interval.low if score else None,
        "high": score.interval.high if score else None,
        "steps": outcome.steps,
        "seconds": round(outcome.spend.seconds, 1),
        "tokens": outcome.spend.tokens,
        "usd": outcome.spend.usd,
        **(measure(outcome.code).model_dump() if outcome.code else _WITHOUT_PROGRAM),
        "failure": failure.cause.value if failure else "rejected" * bool(attempt.rejected),
        "message": failure.message if failure else attempt.rejected,
    }


def _maximizes(state: CampaignState) -> bool:
    return state.split is None or state.split.maximize


def _inert(value: object) -> object:
    hostile = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if hostile else value

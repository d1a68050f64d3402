"""The attempts of a campaign as a CSV table."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.code_metrics import measure


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt; the fields are the columns of attempts.csv."""

    finished: int
    """Position in the order of ending, from 1."""
    attempt: str
    title: str
    operator: str
    parents: str
    score: float | None
    low: float | None
    high: float | None
    steps: int
    seconds: float
    tokens: int
    usd: float
    code_length: int | None = None
    source_lines: int | None = None
    cyclomatic_complexity: float | None = None
    total_complexity: int | None = None
    comment_lines: int | None = None
    halstead_volume: float | None = None
    halstead_difficulty: float | None = None
    halstead_effort: float | None = None
    failure: str = ""
    message: str = ""


def rows_of(state: CampaignState, ended: Sequence[str]) -> list[Row]:
    """Return rows of the attempts and blends that have ended, best score first, without score last."""
    places = {work_id: place for place, work_id in enumerate(ended, start=1)}
    rows = [_row(each, places[each.id]) for each in state.works.rankable() if each.id in places]
    best_first = -1 if _maximizes(state) else 1
    return sorted(rows, key=lambda r: (r.score is None, best_first * (r.score or 0.0), r.finished))


def attempts_csv(rows: Sequence[Row]) -> str:
    """Format rows as CSV; text that a spreadsheet would run as a formula is quoted."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    for row in rows:
        writer.writerow([_inert(value) for value in asdict(row).values()])
    return file.getvalue()


def _row(attempt: Attempt, place: int) -> Row:
    outcome = attempt.outcome
    assert outcome is not None
    score, failure = outcome.score, outcome.failure
    measured = measure(outcome.code).model_dump() if outcome.code else {}
    return Row(
        finished=place,
        attempt=attempt.id,
        title=attempt.title,
        operator=attempt.work.operator.value,
        parents=" ".join(attempt.work.parents),
        score=score.value.value if score else None,
        low=score.interval.low if score else None,
        high=score.interval.high if score else None,
        steps=outcome.steps,
        seconds=round(outcome.spend.seconds, 1),
        tokens=outcome.spend.tokens,
        usd=outcome.spend.usd,
        **measured,
        failure=failure.cause.value if failure else "rejected" * bool(attempt.rejected),
        message=failure.message if failure else attempt.rejected,
    )


def _maximizes(state: CampaignState) -> bool:
    return state.split is None or state.split.maximize


def _inert(value: object) -> object:
    hostile = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if hostile else value

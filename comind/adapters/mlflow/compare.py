"""Compare the attempts of a campaign: a CSV table and an HTML page with a chart."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache

from jinja2 import Template

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.code_metrics import measure
from comind.system.html_pages import html_templates

_WIDTH, _HEIGHT, _LEFT, _MARGIN = 900, 260, 70, 24


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt of the comparison; the fields are the columns of attempts.csv."""

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
    failure: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True, slots=True)
class _Chart:
    """Scores with their intervals in the order of ending, and the best so far as a step line."""

    dots: tuple[_Dot, ...]
    stair: str
    ticks: tuple[tuple[float, str], ...]
    failed: tuple[tuple[float, str], ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT


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


def compare_page(state: CampaignState, rows: Sequence[Row]) -> str:
    """Render a self-contained HTML page: no scripts, no external resources, all text escaped."""
    return _template().render(
        spec=state.spec,
        split=state.split,
        rows=rows,
        chart=_chart(rows, maximize=_maximizes(state)),
        picked=state.picked,
    )


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


@cache
def _template() -> Template:
    return html_templates("comind.adapters.mlflow").get_template("compare.html.j2")


def _chart(rows: Sequence[Row], *, maximize: bool) -> _Chart | None:
    """Compute the chart's coordinates in pixels; None without any score."""
    ordered = sorted(rows, key=lambda row: row.finished)
    scored = [(r, r.score, r.low, r.high) for r in ordered]
    known = [
        bound for _, score, low, high in scored for bound in (score, low, high) if bound is not None
    ]
    if not known:
        return None
    bottom, top = min(known), max(known)
    if math.isclose(bottom, top):
        bottom, top = bottom - 1, top + 1
    last = max(row.finished for row in ordered)

    def across(place: int) -> float:
        return round(_LEFT + (place - 0.5) * (_WIDTH - _LEFT - _MARGIN) / last, 1)

    def up(value: float) -> float:
        return round(_HEIGHT - _MARGIN - (value - bottom) * (_HEIGHT - 2 * _MARGIN) / (top - bottom), 1)

    dots: list[_Dot] = []
    stair: list[tuple[float, float]] = []
    best: float | None = None
    for row, score, low, high in scored:
        if score is None or low is None or high is None:
            continue
        x = across(row.finished)
        dots.append(_Dot(x, up(score), up(low), up(high), f"{row.attempt}: {score:.5g}"))
        if row.failure == "rejected":
            continue
        if best is None or (score > best if maximize else score < best):
            stair += [(x, up(best))] if best is not None else []
            best = score
            stair.append((x, up(best)))
    stair += [(_WIDTH - _MARGIN, up(best))] if best is not None else []
    middle = (bottom + top) / 2
    return _Chart(
        dots=tuple(dots),
        stair=" ".join(f"{x},{y}" for x, y in stair),
        ticks=tuple((up(value), f"{value:.4g}") for value in (bottom, middle, top)),
        failed=tuple(
            (across(r.finished), f"{r.attempt}: {r.failure}") for r in ordered if r.score is None
        ),
    )

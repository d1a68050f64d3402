"""Assemble a campaign's page and render it with a strict content security policy."""

from collections.abc import Sequence
from functools import cache
from importlib import resources

from jinja2 import Template
from markupsafe import Markup

from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, CampaignEvent
from comind.campaign.log.campaign_folders import EVALUATOR, CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.campaign_view import CampaignView
from comind.campaign.reports.page.long_texts import LongTexts, visible
from comind.campaign.reports.page.page_header import header_facts
from comind.campaign.reports.page.page_tables import failure_rows, role_rows
from comind.campaign.reports.page.provenance_rows import Provenance
from comind.campaign.reports.page.score_chart import (
    ChartPoint,
    ScoreChart,
    digits,
    duration,
    score_chart,
)
from comind.campaign.reports.page.work_details import diff_blocks
from comind.campaign.reports.page.work_rows import WorkRows
from comind.community.provenance import Graph
from comind.domain.value import one_line
from comind.errors import LogError
from comind.eventlog.log import Record, read_log
from comind.system.html_pages import html_templates, policy_hash

_PACKAGE = "comind.campaign.reports.page"
_PAGE_BYTES = 9_500_000
_TEXT_SHARE = 0.65  # of the page, for long texts at first; the rest is markup
_SIZES = ((960, 320), (360, 280))  # of the chart, on wide and on narrow screens
_LINE = 500


def campaign_page(
    folder: CampaignFolder,
    graph: Graph,
    notes: Sequence[str] = (),
    *,
    live: bool = False,
    page_bytes: int = _PAGE_BYTES,
) -> str:
    """Return a campaign's page as HTML.

    Args:
        folder: the campaign's; it may be running.
        graph: provenance of its attempts (`Agent.graph`).
        notes: a line for each thing that could not be read.
        live: whether a server serves it, from which it fetches itself again when the logs have changed.
        page_bytes: limit of the page; prompts, replies, code and outputs are truncated to fit into it.

    Raises:
        LogError: the campaign's log was changed.
    """
    records = read_log(folder.log, CAMPAIGN_EVENTS)
    texts = LongTexts()
    values = _values(folder, records, graph, notes, texts)
    style, script = _asset("campaign_page.css"), _asset("campaign_page.js")
    script = script + _asset("campaign_live.js") if live else script
    values |= {"style": style, "script": script, "policy": _policy(style, script, live=live)}
    room = int(_TEXT_SHARE * page_bytes)
    while True:
        texts.settle(room)
        page = _template().render(values)
        excess = len(page.encode()) - page_bytes
        if excess <= 0 or not room:
            return page
        room = max(0, room - excess)


def _values(
    folder: CampaignFolder,
    records: Sequence[Record[CampaignEvent]],
    graph: Graph,
    notes: Sequence[str],
    texts: LongTexts,
) -> dict[str, object]:
    """Return the values that the template prints; long texts are added to `texts`."""
    state = CAMPAIGN_LOG.fold(records)
    works, unread = _works(state, folder)
    view = CampaignView(state, works)
    provenance = Provenance(state, graph)
    rows = WorkRows(state, folder, works, provenance, texts)
    used, unused = provenance.items()
    tuning = view.tuning
    warnings = state.split.warnings if state.split else ()
    return {
        "spec": state.spec,
        "begun": records[0].at,
        "state": state,
        "end": one_line(state.ended.detail or state.ended.reason, _LINE) if state.ended else "",
        "reason": one_line(state.picked.reason, _LINE) if state.picked else "",
        "evidence": one_line(state.picked.evidence, _LINE) if state.picked else "",
        "facts": header_facts(view),
        "best": view.best,
        "choice": one_line(view.choice, _LINE),
        "title": one_line(state.works.attempt(view.best.work_id).title, _LINE) if view.best else "",
        "refit": state.refit(),
        "tuning": str(tuning) if tuning.gradings else "",
        "notes": [one_line(line, _LINE) for line in (*warnings, *tuning.warnings, *notes, *unread)],
        "charts": _charts(view),
        "tree": rows.tree(),
        "closing": rows.closing(),
        "ideas": provenance.ideas(),
        "items": used,
        "unused": unused,
        "thoughts": rows.thoughts(),
        "failures": failure_rows(state, works),
        "roles": role_rows(view),
    }


def _works(state: CampaignState, folder: CampaignFolder) -> tuple[dict[str, AttemptState], list[str]]:
    """Return the states of all work that has a readable log, and a line for each other log."""
    works, unread = {}, []
    for work_id in (EVALUATOR, *(record.id for record in state.works)):
        log = folder.work(work_id).log
        try:
            if log.is_file():
                works[work_id] = WORK_LOG.read(log)
        except LogError as error:
            unread.append(f"{work_id}: its log cannot be read: {one_line(str(error), _LINE)}")
    return works, unread


def _charts(view: CampaignView) -> list[ScoreChart]:
    """Return the chart of scores in each size; none without a score."""
    ended = {each.id: each.finished_at or 0.0 for each in view.state.works}
    picked = view.state.picked.work_id if view.state.picked is not None else ""
    points = [
        ChartPoint(
            attempt.id,
            one_line(attempt.title, _LINE),
            ended[attempt.id],
            score,
            picked=attempt.id == picked,
            rejected=bool(attempt.rejected),
        )
        for _, attempt, score, _ in sorted(view.curve, key=lambda point: ended[point.attempt.id])
    ]
    return [score_chart(points, view.spend.seconds, *size) for size in _SIZES] if points else []


def _policy(style: str, script: str, *, live: bool) -> str:
    """Return the content security policy: this style, this script and, if `live`, its own server."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {policy_hash(style)}",
            f"script-src {policy_hash(script)}",
            "img-src data:",
            *(["connect-src 'self'"] if live else []),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _asset(name: str) -> Markup:
    """Return the text of a file of this package, as it is between its tags."""
    text = (resources.files(_PACKAGE) / name).read_text(encoding="utf-8")
    return Markup("\n" + text)  # noqa: S704 - a file of ours


@cache
def _template() -> Template:
    environment = html_templates(_PACKAGE).overlay(finalize=_printed)
    environment.filters.update(diff_blocks=diff_blocks, digits=digits, duration=duration)
    return environment.get_template("campaign_page.html.j2")


def _printed(value: object) -> object:
    """Return a value as the template prints it; all text but our own markup is made visible."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

"""The comparison has all attempts, and no active content."""

import csv
import io
from datetime import UTC, datetime
from html.parser import HTMLParser

from comind.adapters.mlflow.compare import attempts_csv, compare_page, rows_of
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.eventlog.log import Record
from tests.unit.campaign.samples import code, failed, opened, scored

_HOSTILE = ('<script>alert("1")</script>', "=HYPERLINK(1)", "</svg><img src=x onerror=y>", 'a,"b";c')


class _Tags(HTMLParser):
    """Collects tags and text of a page, as a browser parses it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def _state(*outcomes: CodeOutcome) -> CampaignState:
    events: list[CampaignEvent] = [opened()]
    for number, outcome in enumerate(outcomes):
        work_id = f"attempt-{number:03d}"
        events.append(WorkPlanned(id=work_id, work=code(_HOSTILE[number])))
        events.append(WorkFinished(id=work_id, outcome=outcome))
    return CAMPAIGN_LOG.fold(
        Record(seq, datetime.now(UTC), float(seq), event) for seq, event in enumerate(events)
    )


def _ids(state: CampaignState) -> list[str]:
    return [attempt.id for attempt in state.works.attempts()]


def test_the_best_comes_first_and_failures_last() -> None:
    """Rows are ordered by score; among equals by the order of ending."""
    state = _state(failed(), scored(0.7), scored(0.9), scored(0.9))
    rows = rows_of(state, ["attempt-003", "attempt-000", "attempt-002", "attempt-001"])
    assert [row.attempt for row in rows] == ["attempt-003", "attempt-002", "attempt-001", "attempt-000"]
    assert rows[-1].failure == "code"


def test_hostile_titles_are_inert_on_the_page() -> None:
    """Titles and messages are text: no tag, attribute or address of theirs is in the page."""
    state = _state(scored(0.5), scored(0.6), failed(), scored(0.7))
    page = _Tags()
    page.feed(compare_page(state, rows_of(state, _ids(state))))
    assert not page.tags & {"script", "img", "iframe", "a", "link"}
    assert all(title in page.text for title in _HOSTILE)
    assert "KeyError: 'x'" in page.text


def test_hostile_titles_are_inert_in_the_table() -> None:
    """Each title stays in its cell, and none is a formula."""
    state = _state(*[scored(0.5)] * 4)
    rows = list(csv.DictReader(io.StringIO(attempts_csv(rows_of(state, _ids(state))))))
    assert [row["title"] for row in rows] == [_HOSTILE[0], "'=HYPERLINK(1)", *_HOSTILE[2:]]


def test_a_page_without_scores_has_no_chart() -> None:
    """Without any score, the page has only the table."""
    state = _state(failed())
    assert "<svg" not in compare_page(state, rows_of(state, _ids(state)))


def test_the_chart_holds_extreme_scores() -> None:
    """Equal scores, and scores that are far apart, have finite coordinates."""
    wide = ValidationScore(
        metric="rmse",
        value=MetricValue(value=1e300, maximize=False),
        interval=Interval(low=-1e300, high=1e300),
        rows=3,
    )
    for state in (
        _state(scored(0.5)),
        _state(scored(0.0), scored(0.0)),
        _state(CodeOutcome(score=wide)),
    ):
        page = compare_page(state, rows_of(state, _ids(state)))
        assert "<svg" in page
        assert "nan" not in page
        assert "inf" not in page

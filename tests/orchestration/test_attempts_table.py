"""The table of attempts has all of them, best first."""

import csv
import io
from datetime import UTC, datetime

from comind.adapters.mlflow.attempts_table import attempts_csv, rows_of
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.eventlog.log import Record
from tests.unit.campaign.samples import code, failed, opened, scored

_HOSTILE = ('<script>alert("1")</script>', "=HYPERLINK(1)", "</svg><img src=x onerror=y>", 'a,"b";c')


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
    assert [row["attempt"] for row in rows] == [
        "attempt-003",
        "attempt-002",
        "attempt-001",
        "attempt-000",
    ]
    assert rows[-1]["failure"] == "code"


def test_hostile_titles_are_inert_in_the_table() -> None:
    """Each title stays in its cell, and none is a formula."""
    state = _state(*[scored(0.5)] * 4)
    rows = list(csv.DictReader(io.StringIO(attempts_csv(rows_of(state, _ids(state))))))
    assert [row["title"] for row in rows] == [_HOSTILE[0], "'=HYPERLINK(1)", *_HOSTILE[2:]]

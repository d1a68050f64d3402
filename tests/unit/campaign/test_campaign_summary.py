"""A campaign in the form that DVC reads: parameters, metrics, and scores by attempt."""

import json
from collections.abc import Iterable

import yaml

from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.reports.campaign_summary import experiment_files, scores_csv
from comind.campaign.reports.campaign_view import CampaignView
from comind.eventlog.log import Record
from tests.unit.campaign.samples import code, failed, opened, records, scored, split_made


def test_scores_rise_with_the_best_attempt() -> None:
    """Attempts without a score have no row; `best` never becomes worse."""
    view = _view(
        records(
            opened(),
            split_made(),
            *(WorkPlanned(id=f"attempt-{number:03}", work=code()) for number in range(4)),
            WorkFinished(id="attempt-000", outcome=scored(0.5)),
            WorkFinished(id="attempt-001", outcome=failed()),
            WorkFinished(id="attempt-002", outcome=scored(0.75)),
            WorkFinished(id="attempt-003", outcome=scored(0.625)),
        )
    )
    assert scores_csv(view).splitlines() == [
        "attempt,score,best",
        "0,0.5,0.5",
        "2,0.75,0.75",
        "3,0.625,0.75",
    ]
    files = experiment_files(view)
    metrics = json.loads(files["runs/campaign/metrics.json"])
    assert (metrics["validation_score"], metrics["attempts"], metrics["valid_attempts"]) == (0.75, 4, 3)
    assert yaml.safe_load(files["runs/campaign/params.yaml"])["agent"] == view.state.spec.agent
    assert yaml.safe_load(files["runs/campaign/dvc.yaml"])["metrics"] == ["metrics.json"]


def test_a_campaign_without_work_has_a_summary() -> None:
    """Values that are not known yet are null."""
    view = _view(records(opened()))
    assert json.loads(experiment_files(view)["runs/campaign/metrics.json"])["validation_score"] is None
    assert scores_csv(view) == "attempt,score,best\n"


def _view(events: Iterable[Record[CampaignEvent]]) -> CampaignView:
    """Return the view of a campaign's events, without the logs of its work."""
    return CampaignView(CAMPAIGN_LOG.fold(events), {})

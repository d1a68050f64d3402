"""A step that fails once as something is busy is repeated by Prefect; permanent errors are not."""

import contextlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName

from comind.app.open_days import day_opened, open_day_of
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_settings import CampaignSettings
from comind.errors import CampaignError, KaggleBusyError
from comind.servers.prefect_client import open_client
from tests.doubles.once import FailsOnce
from tests.e2e.command import begin_tracking

# The tasks run outside of a flow here.
pytestmark = pytest.mark.filterwarnings("ignore:Logger 'prefect.task_runs' attempted to send logs")


@pytest.fixture(autouse=True)
def _server(shared_server: str) -> None:
    """Prefect runs tasks with a server."""


def test_a_retried_flow_run_resumes_its_campaign(tmp_path: Path) -> None:
    """Retry on Prefect's page starts the same run again, which opens no second campaign."""
    from prefect.flow_engine import run_flow
    from prefect.states import AwaitingRetry

    from flows.solve import solve

    begin_tracking(tmp_path)
    settings = CampaignSettings(model="offline", iterations=0, prove=False, refit=False)
    given: dict[str, Any] = {"competition": "demo-tumours", "settings": settings, "project": tmp_path}
    campaign = solve(**given)
    with open_client() as client:
        [child] = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(name=FlowRunFilterName(any_=[campaign]))
        )
        parent = client.read_task_run(child.parent_task_run_id).flow_run_id
        client.set_flow_run_state(parent, AwaitingRetry(), force=True)
        again = client.read_flow_run(parent)
    assert run_flow(solve, flow_run=again, parameters=given) == campaign
    assert ProjectFolder(tmp_path).campaigns() == [campaign]


@pytest.mark.parametrize(("repeatable", "calls"), [(True, 2), (False, 1)])
def test_a_step_of_a_day_is_retried_where_nothing_is_sent(
    tmp_path: Path, *, repeatable: bool, calls: int
) -> None:
    """Kaggle may be busy; a file is handed in once, whatever the answer."""
    from tasks import following

    fails = FailsOnce(KaggleBusyError("busy"))
    busy: Any = SimpleNamespace(perform=lambda _step: fails())
    opened: Any = SimpleNamespace(day=busy)
    task = following.repeatable_step if repeatable else following.single_step
    fault = contextlib.nullcontext() if repeatable else pytest.raises(KaggleBusyError)
    with day_opened(tmp_path, "titanic", opened), fault:
        _at_once(task)(tmp_path, "titanic", "score")
    assert fails.calls == calls


def test_a_day_that_is_open_elsewhere_is_one_line(tmp_path: Path) -> None:
    """The log of a followed competition has one writer, so another process runs none of its steps."""
    with pytest.raises(CampaignError, match="in the process of its flow"):
        open_day_of(tmp_path, "titanic")


def test_a_tracker_that_failed_is_retried_from_the_first_event(tmp_path: Path) -> None:
    """An event on which MLflow's database was busy is not skipped: the next call reads all events."""
    from comind.app.projections import Projections

    made = []

    def tracker(*_: object) -> Any:
        fails = FailsOnce(OSError("database is locked")) if not made else None
        made.append(SimpleNamespace(sync=fails or (lambda: None)))
        return made[-1]

    projections = Projections(tmp_path, "c1", lambda _state: None, tracker)
    assert len(made) == 1
    with pytest.raises(OSError, match="locked"):
        projections.track()
    assert len(made) == 2, "a new one reads the log from its first event"


def test_results_are_not_shown_where_no_server_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead server costs neither an error nor the retries of Prefect's client."""
    from tasks.artifacts import show_results

    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    started = time.monotonic()
    show_results.fn(tmp_path, "c1")
    assert time.monotonic() - started < 5


def _at_once(task: Any) -> Any:
    """Return the task without its delay before a retry."""
    return task.with_options(retry_delay_seconds=0)

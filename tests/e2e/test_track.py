"""A live competition is followed: by a schedule, on top of all that was known, within its limits."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from mlflow.tracking import MlflowClient

from comind.adapters.mlflow.database import tracking_uri
from comind.app.campaign_slices import DaySteps, FollowingParams, ProjectSlices
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.following.state import following_log_path, read_following
from comind.live.hosted import HostedCompetition
from comind.live.router import REQUEST_TYPES
from comind.live.server import LiveServer
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget, MLELive
from comind.system.timing import Clock
from tests.e2e.command import QUIET, Ran, comind, processes_of
from tests.e2e.prefect_graph import filtered, wait_for_steps

if TYPE_CHECKING:
    from comind.kaggle.port import Kaggle

_SLUG = "demo-tumours"
_START = datetime(2023, 3, 9, 12, tzinfo=UTC)
_SAME = """
import pandas as pd
for part, name in (('validation', 'validation_submission.csv'), ('test', 'submission.csv')):
    rows = pd.read_csv(f'input/demo-tumours/{part}.csv')
    rows[['sample_id']].assign(benign=1).to_csv(name, index=False)
"""
_BORDER = """
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
train, validation, test = (
    pd.read_csv(f'input/demo-tumours/{part}.csv') for part in ('train', 'validation', 'test'))
features = [column for column in test if column != 'sample_id']
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
model.fit(train[features], train['benign'])
for rows, name in ((validation, 'validation_submission.csv'), (test, 'submission.csv')):
    rows[['sample_id']].assign(benign=model.predict(rows[features])).to_csv(name, index=False)
"""


def _rules() -> list[dict[str, Any]]:
    """First everybody is called benign; once a notebook of the second day is read, a border is drawn."""
    ratings = QUIET[0]["say"]
    border = {"title": "draw a border", "kind": "novel", "method": "Draw a border."}
    same = {"title": "all the same", "kind": "baseline", "method": "Predict the same for all."}
    step = {"same": {"goal": "Hand in.", "code": _SAME}, "border": {"goal": "Fit.", "code": _BORDER}}
    return [
        {"reply": "Analysis", "say": ratings},
        {"reply": "Brainstorm", "say": {"paths": []}},
        {"reply": "Selection", "say": {"ideas": []}},
        {"reply": "Preparation", "say": {"code": ""}},
        {"reply": "Drafts", "contains": "Which measurements matter", "say": {"drafts": [border]}},
        {"reply": "Drafts", "say": {"drafts": [same]}},
        {"reply": "CodingStep", "contains": "# Your draft: draw a border", "say": step["border"]},
        {"reply": "CodingStep", "contains": "# Your draft: all the same", "say": step["same"]},
        {"reply": "CodingStep", "say": {"goal": "over", "code": ""}},
        {"reply": "AttemptReport", "say": {"summary": "It was handed in."}},
        {"reply": "CritiqueReply", "say": {"findings": []}},
    ]


class Place:
    """A competition that goes on, its server, and a project that follows it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.folder = make_demo(_SLUG, root / "data")
        self.clock = SimulatedClock(_START)
        self._describe()
        budget = LiveBudget(submissions_per_day=1)
        world = MLELive(
            load_competition(self.folder),
            self.clock,
            budget,
            scores="public",
            store=SubmissionStore(root / "state"),
        )
        self.log = root / "requests.jsonl"
        self.server = LiveServer([HostedCompetition(world, root / "archives")], log=self.log)
        script = self.project / "script.yaml"
        script.write_text(json.dumps(_rules()))
        solve = {"iterations": 1, "baseline": False, "prove": False, "refit": False, "coders": 1}
        given = {"model": f"scripted:{script}", "steps": 3, "sandbox": "process", "minutes": 10}
        rate_limit = {"pause_seconds": 0, "back_off_seconds": 0.1}
        params = {
            "solve": solve | given,
            "kaggle": {"endpoint": self.server.url, "rate_limit": rate_limit},
        }
        (self.project / "params.yaml").write_text(yaml.safe_dump(params))

    def _describe(self) -> None:
        described = self.folder / "competition.yaml"
        described.write_text(described.read_text() + 'deadline: "2023-06-01T00:00:00Z"\n')
        board = self.folder / "leaderboard"
        board.mkdir()
        rows = [f"{n},team {n},2023-03-{n + 1:02d} 10:00:00,0.{50 + 5 * n}" for n in range(1, 10)]
        (board / "history.csv").write_text(
            "\n".join(["TeamId,TeamName,SubmissionDate,Score", *rows]) + "\n"
        )

    def track(self, *arguments: str) -> Ran:
        """Run `comind track` to its end."""
        given = ("track", _SLUG, "--out", self.project, "--json", *arguments)
        return comind(*given, **self.credentials)

    @property
    def credentials(self) -> dict[str, str]:
        """Variables that the client looks at, and no others of whoever runs the tests."""
        home = {"HOME": str(self.folder.parent), "KAGGLE_CONFIG_DIR": str(self.folder.parent)}
        return {**home, "KAGGLE_USERNAME": "ann", "KAGGLE_KEY": "secret-key"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A competition that is served."""
    place = Place(tmp_path)
    with place.server:
        yield place


@pytest.mark.torture  # tests/orchestration/test_following.py, and test_live.py with Kaggle's own client
def test_a_day_builds_on_the_day_before(place: Place, shared_server: str) -> None:
    """What was published meanwhile is read by the same campaign, and what is better is handed in."""
    first = place.track("--once", "--submit", "auto")
    assert first.exit_code == 0, first.stderr
    assert (first.json["submissions"], first.json["decision"]) == (1, "submit")
    place.clock.set(_START + timedelta(days=3))
    second = place.track("--once", "--submit", "ask")
    assert second.exit_code == 0, second.stderr
    assert second.json["campaign"] == first.json["campaign"]
    assert second.json["validation_score"] > first.json["validation_score"]
    assert second.json["decision"] == "ask"
    wrong = place.track("--once", "--allow", "0" * 12)
    assert (wrong.exit_code, wrong.json["error"]["kind"]) == (2, "usage")
    third = place.track("--once", "--allow", second.json["waiting"][:12])
    assert third.exit_code == 0, third.stderr
    assert third.json["submissions"] == 2
    assert third.json["rank"] < first.json["rank"]
    state = read_state(ProjectFolder(place.project).campaign(first.json["campaign"]))
    assert len(state.communities) == 2
    one, other = (each.candidate for each in read_following(place.project, _SLUG).submissions)
    kaggle, steps = cast("Kaggle", None), cast("DaySteps", None)
    slices = ProjectSlices(place.project, _SLUG, FollowingParams(), kaggle, Clock(), steps)
    [found] = slices.correlations(other, [one])
    assert [found] == slices.correlations(one, [other])
    assert found is not None
    assert "secret-key" not in _everything_written(place.project)
    wait_for_steps(
        shared_server, f"following {_SLUG}", _STEPS, lambda run: str(run["name"]).split("-")[0]
    )


_STEPS = {
    *("observe", "fetch_from_kaggle", "import_community", "reconcile", "plan slice"),
    *("decide", "submit", "score", "select", "standing"),
}
"""Of a followed day on which a file is handed in; the slice is a flow run of its own."""


def _everything_written(project: Path) -> str:
    """Return all text that was written below a project, databases with it."""
    files = (path for path in project.rglob("*") if path.is_file() and not path.is_symlink())
    return "".join(path.read_text(encoding="utf-8", errors="ignore") for path in files)


def _follow(place: Place, days: int, interval: float, on_day: dict[int, Any]) -> subprocess.Popen[str]:
    """Follow on a schedule, one day of the world an interval; `on_day` is done when a day has ended."""
    place.clock.set_speed(86_400 / interval)
    command = [sys.executable, "-m", "comind.cli", "track", _SLUG, "--out", place.project, "--json"]
    schedule = ["--every", str(interval / 3600), "--runs", str(days), "--submit", "auto"]
    env = {**os.environ, **place.credentials}
    process = subprocess.Popen(
        [*command, *schedule], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert process.stderr is not None
    ended = 0
    for line in process.stderr:
        if line.startswith(str(datetime.now(UTC).year)):  # a run has ended; news have the simulated date
            ended += 1
            on_day.get(ended, lambda: None)()
    return process


@pytest.mark.timeout(900)
@pytest.mark.torture  # test_pool.py runs a worker; days are followed one after another above
@pytest.mark.parametrize("days", [1, 2, 5])
def test_a_schedule_follows_for_days(place: Place, days: int) -> None:
    """Server, worker and interval: each day is a run; bursts of errors are waited out."""
    faults = place.server.faults
    on_day = {
        1: lambda: faults.rate_limit(3, retry_after=0.2),
        2: lambda: faults.fail(3),
        3: faults.expire,
        4: lambda: faults.expire(expired=False),
    }
    process = _follow(place, days, 60.0 if days > 2 else 35.0, on_day)
    answer, _ = process.communicate(timeout=60)
    told = json.loads(answer)
    state = read_following(place.project, _SLUG)
    assert process.returncode == 0
    good = days if days < 4 else days - 1
    assert told["submissions"] <= good  # one a day, and only what is better
    assert told["submissions"] >= 1
    assert told["rank"] is not None
    subjects = [each.subject for each in state.notices]
    assert subjects == ([] if days < 4 else ["kaggle"])
    asked = [json.loads(line) for line in place.log.read_text().splitlines()]
    assert all(each["route"] in {*REQUEST_TYPES, "files", "upload"} for each in asked)
    assert {each["status"] for each in asked} <= {200, 302, 308, 401, 429, 500}
    client = MlflowClient(tracking_uri=tracking_uri(place.project))
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    run = next(each for each in runs if "comind.following" in each.data.tags)
    assert len(client.get_metric_history(run.info.run_id, "percentile")) == good
    if days > 2:
        assert told["submissions"] == 2
        assert told["validation_score"] > 0.9


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_schedule_goes_on_after_a_kill(place: Place) -> None:
    """Killed in the middle of a day, the next runs go on; only runs of their own are counted."""
    log = following_log_path(place.project, _SLUG)
    command = [sys.executable, "-m", "comind.cli", "track", _SLUG, "--out", place.project]
    process = subprocess.Popen(command, env={**os.environ, **place.credentials})
    while not (log.is_file() and "slice-begun" in log.read_text()):
        assert process.poll() is None
        time.sleep(0.2)
    process.kill()
    process.wait()
    while processes_of(place.project):
        time.sleep(0.2)
    for looks in (2, 3):
        ran = place.track("--every", "1", "--runs", "1", "--submit", "auto")
        assert ran.exit_code == 0, ran.stderr
        assert log.read_text().count('"looked"') == looks
    assert ran.json["submissions"] == 1
    missing = comind("track", _SLUG, "--out", place.project, "--json", HOME=str(place.folder))
    assert (missing.exit_code, missing.json["error"]["kind"]) == (4, "kaggle")


@pytest.mark.torture  # a campaign that is stopped: test_kill.py
@pytest.mark.timeout(600)
def test_a_schedule_that_is_stopped_cancels_its_runs(place: Place, shared_server: str) -> None:
    """After Ctrl-C the day and its campaign are Cancelled in Prefect, KILLED in MLflow, and ended."""
    log = following_log_path(place.project, _SLUG)
    command = [sys.executable, "-m", "comind.cli", "track", _SLUG, "--out", place.project]
    process = subprocess.Popen(command, env={**os.environ, **place.credentials})
    while not (log.is_file() and "slice-begun" in log.read_text()):
        assert process.poll() is None
        time.sleep(0.2)
    campaign = read_following(place.project, _SLUG).last_slice
    assert campaign is not None
    folder = ProjectFolder(place.project).campaign(campaign.campaign)
    while not folder.log.is_file() or read_state(folder).split is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 128 + signal.SIGINT
    names = [f"following {_SLUG}", campaign.campaign]
    runs = filtered(shared_server, "flow_runs", {"flow_runs": {"name": {"any_": names}}})
    assert {run["name"]: run["state_type"] for run in runs} == dict.fromkeys(names, "CANCELLED")
    assert not processes_of(place.project)
    client = MlflowClient(tracking_uri=tracking_uri(place.project))
    found = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert {each.info.status for each in found if "comind.campaign" in each.data.tags} == {"KILLED"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("No such!",), "is no name of a competition"),
        ((_SLUG, "--every", "1e13"), "are no interval"),
        ((_SLUG, "--runs", "0"), "is not 1 or more"),
        ((_SLUG, "--once", "--runs", "2"), "mean nothing"),
        ((_SLUG, "--allow", "rules"), "nothing was seen yet"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Before any server is started."""
    ran = comind("track", *arguments, "--out", tmp_path, "--json")
    assert ran.exit_code == 2
    assert said in ran.json["error"]["message"]
    assert len(ran.error_lines) == 1

"""Two competitions are followed to their end: what happens is in status, report and alerts, once."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from comind.adapters.mlflow.database import tracking_uri
from comind.app.following_report import following_page, following_report
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.errors import KaggleAccountError, KaggleBusyError
from comind.following.events import SubmissionApproved
from comind.following.state import Following, FollowingLog, read_following
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget, MLELive
from tests.doubles.webhook import Webhook, webhook
from tests.orchestration.followed_days import follow, make_project

_TUMOURS, _DIABETES = _SLUGS = ("demo-tumours", "demo-diabetes")
_START = datetime(2023, 4, 25, 12, tzinfo=UTC)
_DAYS = 40
_LIMIT = 2  # submissions a day, of each competition by the server and of both by params.yaml


class Simulation:
    """A server of two competitions with one clock, and a project that follows both."""

    def __init__(self, root: Path, hook: Webhook, days: int) -> None:
        self.hook = hook
        self.clock = SimulatedClock(_START)
        self.data = root / "data"
        self.worlds = {slug: self._world(root, slug, days) for slug in _SLUGS}
        self.server = LiveServer(
            [HostedCompetition(world, root / "archives") for world in self.worlds.values()]
        )
        self.project = root / "project"
        make_project(self.project, self.server.url, hook.url)
        self.failures: list[BaseException] = []
        self.ends: list[tuple[int, str, str]] = []
        """Names of the final states, by day and competition."""

    def _world(self, root: Path, slug: str, days: int) -> MLELive:
        folder = make_demo(slug, self.data)
        described = folder / "competition.yaml"
        deadline = _START + timedelta(days=days - 0.5)
        described.write_text(described.read_text() + f'deadline: "{deadline:%Y-%m-%dT%H:%M:%SZ}"\n')
        (folder / "leaderboard").mkdir()
        worst, best = (0.5, 0.99) if slug == _TUMOURS else (200.0, 20.0)
        scores = [worst + (best - worst) * place / 50 for place in range(50)]
        rows = [f"{n},team {n},2023-02-01,{score:.4f}" for n, score in enumerate(scores)]
        for name, date_column in (("history", "SubmissionDate"), ("private", "LastSubmissionDate")):
            text = "\n".join([f"TeamId,TeamName,{date_column},Score", *rows]) + "\n"
            (folder / "leaderboard" / f"{name}.csv").write_text(text)
        return MLELive(
            load_competition(folder),
            self.clock,
            LiveBudget(submissions_per_day=_LIMIT),
            scores="public",
            store=SubmissionStore(root / "state" / slug),
        )

    def day(self, number: int, events: dict[int, Callable[["Simulation"], None]]) -> None:
        """Set the clock to a day, let its event happen, and follow both competitions."""
        self.clock.set(_START + timedelta(days=number))
        events.get(number, lambda _: None)(self)
        for slug in _SLUGS:
            try:
                self.ends.append((number, slug, follow(self.project, slug)))
            except (KaggleAccountError, KaggleBusyError) as error:
                self.failures.append(error)

    def state(self, slug: str) -> Following:
        """Return how a competition stands."""
        return read_following(self.project, slug)


@pytest.fixture
def simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Simulation]:
    """A simulation of as many days as the test's parameter."""
    for name, value in {"KAGGLE_USERNAME": "ann", "KAGGLE_KEY": "secret-key"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("SIMULATED_COMPETITIONS", str(tmp_path / "data"))
    with webhook() as hook:
        made = Simulation(tmp_path, hook, request.param)
        with made.server:
            yield made


def _per_day(state: Following) -> Counter[date]:
    return Counter(each.at.date() for each in state.submissions)


def _assert_limits_hold(simulation: Simulation) -> None:
    """No day has more submissions than the server or the shared limit allows, and none is sent twice."""
    states = {slug: simulation.state(slug) for slug in _SLUGS}
    assert max(sum(map(_per_day, states.values()), Counter()).values()) <= _LIMIT
    for slug, state in states.items():
        served = simulation.worlds[slug].submissions("ann")
        assert len(served) == len(state.submissions)
        assert len({each.candidate.sha256 for each in state.submissions}) == len(state.submissions)
        assert {each.reference for each in state.submissions} == {str(each.ref) for each in served}


@pytest.mark.parametrize("simulation", [30], indirect=True)
def test_two_days_of_two_competitions(simulation: Simulation) -> None:
    """Each day has its line in the report; the limits that both share hold."""
    for number in (0, 1):
        simulation.day(number, {1: lambda here: here.server.faults.rate_limit(3, retry_after=0.01)})
    _assert_limits_hold(simulation)
    assert simulation.ends == [
        *((0, slug, "Submitted") for slug in _SLUGS),
        *((1, slug, "Kept") for slug in _SLUGS),
    ]
    for slug in _SLUGS:
        _, second, first = following_report(simulation.project, slug).split("\n## ")
        assert "- decided: submit: attempt-0" in first
        assert ("- new notebook " in first) == (slug == _TUMOURS)
        assert "- decided: keep: attempt-0" in second
        assert simulation.state(slug).standing is not None
    assert simulation.hook.got == []


def _rules_change(here: Simulation) -> None:
    for world in here.worlds.values():
        world.budget = LiveBudget(submissions_per_day=_LIMIT, submissions=200)
        world.competition.__dict__["licence"] = "changed"


def _agree(here: Simulation) -> None:
    for slug in _SLUGS:
        with FollowingLog(here.project, slug) as log:
            seen = log.state.observation
            assert seen is not None
            log.record(SubmissionApproved(at=here.clock.now(), rules_sha256=seen.rules_sha256))


def _data_are_replaced(here: Simulation) -> None:
    for slug in _SLUGS:
        train = here.data / slug / "public" / "train.csv"
        lines = train.read_text().splitlines(keepends=True)
        train.write_text("".join(lines[:-1]))


def _killed_while_sending(here: Simulation) -> None:
    command = [sys.executable, "-m", "tests.orchestration.followed_days"]
    env = {**os.environ, "COMIND_KILL_AT": "submission-taken"}
    killed = subprocess.run([*command, here.project, _TUMOURS], env=env, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert here.state(_TUMOURS).uncertain is not None


_EVENTS: dict[int, Callable[[Simulation], None]] = {
    5: lambda here: here.server.faults.rate_limit(4, retry_after=0.01),
    7: lambda here: here.server.faults.fail(4),
    8: lambda here: here.server.faults.fail(12),  # six tries of each competition
    9: lambda here: here.server.faults.expire(),
    10: lambda here: here.server.faults.expire(expired=False),
    12: _rules_change,
    16: _agree,
    20: _data_are_replaced,
    24: _killed_while_sending,
}


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("simulation", [_DAYS], indirect=True)
def test_forty_days_of_two_competitions(simulation: Simulation) -> None:
    """Faults, changed rules, replaced data, a kill and the end are all found where a person looks."""
    for number in range(_DAYS + 2):
        simulation.day(number, _EVENTS)
    _assert_limits_hold(simulation)
    assert len(simulation.failures) == 4  # two days without Kaggle, for each of two competitions
    for slug in _SLUGS:
        _assert_the_end_is_known(simulation, slug)
        assert {name for _, each, name in simulation.ends if each == slug} == {
            *("Submitted", "Kept", "Waiting", "Over")
        }


def _assert_the_end_is_known(simulation: Simulation, slug: str) -> None:
    state, report = simulation.state(slug), following_report(simulation.project, slug)
    alerts = Counter(each["event"] for each in simulation.hook.got if each["competition"] == slug)
    assert state.standing is not None
    assert state.standing.final
    assert not state.without_private
    for line in (
        "- kaggle: ",
        "- rules: the rules have changed",
        "- decided: ask: ",
        "- approved: the rules",
        "- data: the data have been replaced",
        "- new notebook ",
        "- deadline: the deadline is near",
        "- deadline: the deadline has passed",
        "- final, private ",
    ):
        assert line in report, line
    assert report.count("the deadline is near") == 2
    days = [each.partition("\n")[0] for each in report.split("\n## ")[1:]]
    assert days[0] == "2023-06-05", "an outage has the date of the server's error responses"
    assert alerts == {"failed": 2, "changed": 2, "deadline": 3, "waiting": 1, "ended": 1}
    assert "final, private" in following_page(simulation.project, slug)
    client = MlflowClient(tracking_uri=tracking_uri(simulation.project))
    experiment = client.get_experiment_by_name("following")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], f"tags.`comind.following` = '{slug}'")
    assert [(run.info.status, run.data.metrics["final_rank"]) for run in runs] == [
        ("FINISHED", state.standing.rank)
    ]

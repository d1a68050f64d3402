"""Kills at random moments, of us and of everything that we start: the same leaderboard in the end."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, CallSent
from comind.campaign.loop import read_state
from comind.eventlog.log import read_log
from comind.system.failpoints import KILL_POINTS
from tests.e2e.command import comind, processes_of
from tests.engine import Engine, folder_of_the_run

SCRIPT = Path(__file__).parent / "chaos.yaml"
SOLVE = (
    "solve",
    "demo-tumours",
    "--model",
    f"scripted:{SCRIPT}",
    "--baseline",
    "none",
    "--iterations",
    "1",
    "--coders",
    "2",
)
VICTIMS = {
    "prefect server": "comind.servers.prefect_app",
    "grader": "grader_server",
    "kernel": "/kernel.py -f",
    "sandbox": "/driver.py",  # the first process inside
}


def outcome_of(project: Path, campaign: str) -> dict[str, Any]:
    """Return all that must not depend on kills: leaderboard, submission, runs, published data."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    folder = ProjectFolder(project).campaign(campaign)
    state = read_state(folder)
    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiment = client.get_experiment_by_name("demo-tumours").experiment_id
    return {
        "leaderboard": [(each.work_id, str(each.score)) for each in state.picked.leaderboard],
        "submission": folder.submission.read_bytes(),
        "proofs": {name: proved.proof for name, proved in state.proofs.items()},
        "tracked": sorted(
            (
                run.data.tags.get("comind.attempt", "campaign"),
                run.info.status,
                run.data.metrics.get("score"),
            )
            for run in client.search_runs([experiment])
        ),
        "published": sorted(
            path.relative_to(project).as_posix().replace(campaign, "CAMPAIGN")
            for path in (project / "data" / "solutions").rglob("*.dvc")
        ),
        "ended": state.ended,
    }


def calls_of(project: Path, campaign: str) -> Counter[str]:
    """Count, over all work, calls that were sent, answered, and answered more than once."""
    counts: Counter[str] = Counter()
    for log in (ProjectFolder(project).runs / campaign).glob("*/log.jsonl"):
        events = [record.event for record in read_log(log, WORK_EVENTS)]
        sent = Counter(each.ordinal for each in events if isinstance(each, CallSent))
        answered = Counter(each.ordinal for each in events if isinstance(each, CallAnswered))
        counts["asked again although recorded"] += sum(n - 1 for n in answered.values())
        counts["re-sent"] += sum(n - 1 for n in sent.values())
        counts["answered"] += sum(answered.values())
    return counts


class Run:
    """One process of `comind solve`, to be killed."""

    def __init__(self, *arguments: str | Path, **env: str) -> None:
        command = [sys.executable, "-m", "comind.cli", *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )
        self.said = ""

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None while it still runs after so many seconds."""
        try:
            _, self.said = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.process.returncode

    def child(self, victim: str) -> psutil.Process | None:
        """Return a child by its name, without its keeper; None where there is none at this moment."""
        try:
            for child in psutil.Process(self.process.pid).children(recursive=True):
                command = " ".join(child.cmdline())
                if VICTIMS[victim] in command and "supervisor.py" not in command:
                    return child
        except psutil.Error:  # it has ended meanwhile
            return None
        return None

    def kill(self, victim: str) -> bool:
        """Kill ourselves or a child by its name; False where there is no such child at this moment."""
        if victim == "orchestrator":
            self.process.kill()
            return True
        child = self.child(victim)
        if child is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
                return True
        return False


def left_behind(project: Path) -> list[str]:
    """Return what is left of a project's processes, once they have had time to end."""
    for _ in range(150):
        left = processes_of(project)
        if not left:
            return []
        time.sleep(0.1)
    return left


@pytest.mark.torture  # test_recorded_campaign.py raises a budget
def test_budget_raised_later_goes_on(tmp_path: Path, shared_server: str) -> None:
    """A campaign whose time was over before its first attempt goes on when it is given more."""
    ran = comind(*SOLVE, "--minutes", "0.0001", "--out", tmp_path, "--json")
    assert ran.exit_code == 3, ran.stderr
    campaign = ran.json["campaign"]
    raised = comind("solve", "--resume", campaign, "--minutes", "20", "--out", tmp_path, "--json")
    assert raised.exit_code == 0, raised.stderr
    assert raised.json["valid_attempts"] == 2
    ended = read_state(ProjectFolder(tmp_path).campaign(campaign)).ended
    assert ended is not None
    assert ended.reason == "done"


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_killed_server_is_survived(tmp_path: Path) -> None:
    """With its Prefect server killed, a campaign comes to its end, says so in a line, and is gone."""
    run = Run(*SOLVE, "--no-prove", "--out", tmp_path, PREFECT_API_URL="")
    log = _until(tmp_path, b"work-planned", run)
    assert run.kill("prefect server")
    _until(tmp_path, b"campaign-ended", run)
    assert run.wait(60) == 0, run.said
    assert "Prefect's server ended meanwhile" in run.said
    assert "EventsWorker" not in run.said
    assert left_behind(tmp_path) == []
    state = read_state(ProjectFolder(tmp_path).campaign(log.parent.name))
    assert len(state.picked.leaderboard) == 2
    assert calls_of(tmp_path, log.parent.name)["re-sent"] == 0


@pytest.fixture
def own_engine(engine: str) -> Iterator[Engine]:
    """A container engine that a test may kill."""
    own = Engine(folder_of_the_run().with_name(f"comind-c-{os.getpid()}"))
    yield own
    own.stop()
    shutil.rmtree(own.folder)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_killed_engine_is_named_and_gone_on_from(
    tmp_path: Path, shared_server: str, own_engine: Engine
) -> None:
    """Without its container engine a campaign halts and says so; with it, nothing is asked again."""
    where = ("--sandbox", "docker", "--out", tmp_path)
    run = Run(*SOLVE, "--no-prove", *where, DOCKER_HOST=own_engine.address)
    _until(tmp_path, b"cell-started", run, "runs/*/attempt-*/log.jsonl")
    own_engine.kill()
    assert run.wait(120) == 4, run.said
    [told] = [line for line in run.said.splitlines() if line.startswith("comind: ")]
    assert "container engine" in told
    own_engine.stop()  # what it left
    own_engine.start()
    campaign = next((tmp_path / "runs").iterdir()).name
    ran = comind(
        "solve", "--resume", campaign, "--out", tmp_path, "--json", DOCKER_HOST=own_engine.address
    )
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["valid_attempts"] == 2
    assert calls_of(tmp_path, campaign)["asked again although recorded"] == 0
    assert own_engine.containers() == []


def _until(project: Path, words: bytes, run: Run, logs: str = "runs/*/log.jsonl") -> Path:
    """Wait until a log holds `words`, or the campaign's process has ended; returns the log."""
    for _ in range(2400):
        log = next(iter(sorted(project.glob(logs))), None)
        if log is not None and (words in log.read_bytes() or run.process.poll() is not None):
            return log
        time.sleep(0.1)
    run.process.kill()
    pytest.fail(f"the log never said {words.decode()}")


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_thirty_kills_change_nothing(tmp_path: Path) -> None:
    """Thirty kills over all phases: same leaderboard, nothing asked again, lost or left behind."""
    draw = random.Random(20261121)
    calm = tmp_path / "calm"
    ran = comind(*SOLVE, "--out", calm, "--json", prove=True, PREFECT_API_URL="")
    assert ran.exit_code == 0, ran.stderr
    expected, lines = outcome_of(calm, ran.json["campaign"]), _written(calm)
    kills: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    number = 0
    while kills.total() < _KILLS:
        number += 1
        project, before = tmp_path / f"chaos-{number}", kills.total()
        campaign = _tortured(project, draw, kills, phases, lines)
        assert outcome_of(project, campaign) == expected
        counts = calls_of(project, campaign)
        totals += counts
        assert counts["asked again although recorded"] == 0
        assert counts["re-sent"] <= 2 * (kills.total() - before)  # one for each of two live attempts
        assert len(list((project / "runs").iterdir())) == 1
        shutil.rmtree(project)
    told = f"kills: {dict(kills)}; after: {dict(phases)}; calls: {dict(totals)}"
    sys.stderr.write(f"\n{kills.total()} kills over {number} campaigns; {told}\n")


_KILLS = 30
_WAIT_SECONDS = 600.0


def _written(project: Path) -> int:
    """Return how many lines the logs of the project's campaign have: how far it is, on any machine."""
    return sum(log.read_bytes().count(b"\n") for log in (project / "runs").rglob("log.jsonl"))


def _phase(project: Path) -> str:
    """Return the last event of the log that was written last."""
    logs = sorted((project / "runs").rglob("log.jsonl"), key=lambda log: log.stat().st_mtime_ns)
    said = [line for log in logs[-1:] for line in log.read_bytes().splitlines()]
    found = re.search(rb'"type":"([a-z-]+)"', said[-1]) if said else None
    return found.group(1).decode() if found else "nothing yet"


def _tortured(
    project: Path, draw: random.Random, kills: Counter[str], phases: Counter[str], lines: int
) -> str:
    """Run one campaign to its end, killing whatever comes up, and return its name."""
    arguments: tuple[str | Path, ...] = (*SOLVE, "--out", project)
    for _ in range(40):
        at = draw.choice(KILL_POINTS) if draw.random() < 0.4 else ""
        run = Run(*arguments, PREFECT_API_URL="", **({"COMIND_KILL_AT": at} if at else {}))
        if not at:
            victim = draw.choice(["orchestrator", "orchestrator", *VICTIMS])
            begun, until = _written(project), draw.randint(0, lines)
            if _reached(project, until, run, victim):
                time.sleep(draw.uniform(0.0, 0.5 if until > begun else 8.0))  # or while all starts
                phase = _phase(project)
                if run.process.poll() is None and run.kill(victim):
                    kills[victim] += 1
                    phases[phase] += 1
        code = run.wait(_WAIT_SECONDS)
        if at and code == -signal.SIGKILL:
            kills[f"at {at}"] += 1
            phases[_phase(project)] += 1
        assert left_behind(project) == []
        known = list((project / "runs").glob("*/log.jsonl"))
        if code == 0:
            return known[0].parent.name
        assert code in (4, -signal.SIGKILL), (code, run.said)
        if known:
            arguments = ("solve", "--resume", known[0].parent.name, "--out", project)
    pytest.fail("40 processes and no end")


def _reached(project: Path, lines: int, run: Run, victim: str) -> bool:
    """Wait until so many lines are written and the victim is there; False where the process is over."""
    end = time.monotonic() + _WAIT_SECONDS
    while run.process.poll() is None and time.monotonic() < end:
        if _written(project) >= lines and (victim == "orchestrator" or run.child(victim) is not None):
            return True
        time.sleep(0.1)
    return False
